#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

#include "octavo/error.h"
#include "octavo/sim/deploy/deployment.h"

namespace octavo::sim {
namespace {

constexpr std::int64_t kReplicasMax = 1024;

[[noreturn]] void refuse(const std::string& text) {
  throw Error(ErrorCode::InvalidArgument, text);
}

void check(const DeploymentQuestion& question) {
  if (question.gpus.empty() || question.tps.empty() || question.kv_dtypes.empty() ||
      question.block_sizes.empty()) {
    refuse("find_deployment: no candidates: a GPU, a tp, a KV dtype and a block size are needed");
  }
  if (question.replicas_max < 1 || question.replicas_max > kReplicasMax) {
    refuse("find_deployment: replicas_max " + std::to_string(question.replicas_max) +
           " is outside [1, " + std::to_string(kReplicasMax) + "]");
  }
  const double percentile = question.objective.percentile;
  if (!(percentile > 0) || percentile > 100) {
    refuse("find_deployment: percentile " + std::to_string(percentile) + " is outside (0, 100]");
  }
  if (!(question.speed > 0)) {
    refuse("find_deployment: speed " + std::to_string(question.speed) + " is not above 0");
  }
  if (question.plan.pp != 1 || question.plan.dcp != 1) {
    refuse(
        "find_deployment: pipeline and context parallelism are not simulated; pp and dcp must "
        "be 1");
  }
}

std::string name_of(const PlanRequest& request) {
  return request.gpu.name + ", tp " + std::to_string(request.tp) + ", KV in " +
         request.format.name + ", blocks of " + std::to_string(request.block_size);
}

/// The plans of one replica that fit; why the others do not.
std::vector<CapacityPlan> candidates(const DeploymentQuestion& question,
                                     std::vector<std::string>& left_out) {
  std::vector<CapacityPlan> plans;
  for (const Gpu& gpu : question.gpus) {
    for (const std::int64_t tp : question.tps) {
      for (const std::string& format : question.kv_dtypes) {
        for (const std::int64_t block_size : question.block_sizes) {
          PlanRequest request = question.plan;
          request.gpu = gpu;
          request.tp = tp;
          request.dp = 1;
          request.format = parse_kv_format(format);
          request.block_size = block_size;
          try {
            CapacityPlan plan = plan_capacity(request);
            if (plan.fits) {
              plans.push_back(std::move(plan));
            } else {
              left_out.push_back(name_of(request) + ": " + does_not_fit_text(plan));
            }
          } catch (const Error& error) {
            left_out.push_back(name_of(request) + ": " + error.what());
          }
        }
      }
    }
  }
  return plans;
}

/// The fewest replicas that meet the objective.
class Search {
 public:
  Search(const TraceSource& trace,
         const DeploymentQuestion& question,
         const DeploymentProgress& progress)
      : trace_(trace), question_(question), progress_(progress) {}

  Deployment fewest(const CapacityPlan& plan) {
    std::int64_t missing = 0;  // the most that were too few
    std::int64_t replicas = 1;
    Deployment found = run(plan, replicas);
    while (!found.meets && replicas < question_.replicas_max) {
      missing = replicas;
      replicas = std::min(2 * replicas, question_.replicas_max);
      found = run(plan, replicas);
    }
    while (found.meets && replicas - missing > 1) {
      const std::int64_t middle = missing + (replicas - missing) / 2;
      Deployment tried = run(plan, middle);
      if (tried.meets) {
        replicas = middle;
        found = std::move(tried);
      } else {
        missing = middle;
      }
    }
    return found;
  }

 private:
  Deployment run(const CapacityPlan& plan, std::int64_t replicas) {
    Deployment result = simulate_deployment(trace_, plan, replicas, question_);
    const std::lock_guard<std::mutex> lock(mutex_);
    ++done_;
    if (progress_) {
      progress_(done_);
    }
    return result;
  }

  const TraceSource& trace_;
  const DeploymentQuestion& question_;
  const DeploymentProgress& progress_;
  std::mutex mutex_;
  std::int64_t done_ = 0;
};

/// Calls work(i) for every i in [0, count) on `threads` threads; the first failure is raised.
template <typename Work>
void parallel_for(std::size_t count, int threads, const Work& work) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex mutex;
  const auto run = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(mutex);
        if (failure == nullptr) {
          failure = std::current_exception();
        }
        next = count;
      }
    }
  };
  const std::size_t wanted = threads > 0
                                 ? static_cast<std::size_t>(threads)
                                 : std::max<std::size_t>(std::thread::hardware_concurrency(), 1);
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < std::min(wanted, count); ++i) {
    others.emplace_back(run);
  }
  run();
  for (std::thread& other : others) {
    other.join();
  }
  if (failure != nullptr) {
    std::rethrow_exception(failure);
  }
}

/// What a deployment costs: dollars, or GPUs where no price is known.
double cost_of(const Deployment& deployment) {
  return deployment.usd_per_million_tokens.value_or(static_cast<double>(deployment.gpus()));
}

bool better(const Deployment& a, const Deployment& b) {
  if (cost_of(a) != cost_of(b)) {
    return cost_of(a) < cost_of(b);
  }
  return a.gpus() < b.gpus();
}

bool dominates(const Deployment& a, const Deployment& b) {
  const bool as_good =
      cost_of(a) <= cost_of(b) && a.ttft.p99_ms <= b.ttft.p99_ms && a.tpot.p99_ms <= b.tpot.p99_ms;
  return as_good && (cost_of(a) < cost_of(b) || a.ttft.p99_ms < b.ttft.p99_ms ||
                     a.tpot.p99_ms < b.tpot.p99_ms);
}

}  // namespace

void mark_pareto_front(std::vector<Deployment>& deployments) {
  for (Deployment& one : deployments) {
    one.on_pareto_front =
        std::none_of(deployments.begin(), deployments.end(),
                     [&](const Deployment& other) { return dominates(other, one); });
  }
}

DeploymentAnswer find_deployment(const TraceSource& trace,
                                 const DeploymentQuestion& question,
                                 const DeploymentProgress& progress) {
  check(question);
  DeploymentAnswer answer;
  const std::vector<CapacityPlan> plans = candidates(question, answer.left_out);
  answer.tried.resize(plans.size());
  Search search(trace, question, progress);
  parallel_for(plans.size(), question.threads,
               [&](std::size_t i) { answer.tried[i] = search.fewest(plans[i]); });
  mark_pareto_front(answer.tried);
  for (std::size_t i = 0; i < answer.tried.size(); ++i) {
    const bool leads = !answer.best || better(answer.tried[i], answer.tried[*answer.best]);
    if (answer.tried[i].meets && leads) {
      answer.best = i;
    }
  }
  return answer;
}

}  // namespace octavo::sim
