#include "octavo/sim/serve/serving.h"

#include "simulation.h"

namespace octavo::sim {

ServingResult simulate(TraceReader& trace,
                       const ServingConfig& config,
                       const StepCost& cost,
                       ServingObserver* observer) {
  check(config);
  return Simulation(trace, config, cost, observer).run();
}

}  // namespace octavo::sim
