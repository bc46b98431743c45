#include "octavo/sim/serve/serving.h"

#include "octavo/error.h"

namespace octavo::sim {

ServingResult simulate(TraceReader& trace,
                       const ServingConfig& config,
                       const StepCost& cost,
                       ServingObserver* observer) {
  check(config);
  (void)trace;
  (void)cost;
  (void)observer;
  throw Error(ErrorCode::Unimplemented, "simulate: the engine is being written");
}

}  // namespace octavo::sim
