#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "rules.h"

namespace octavo::tidy {
namespace {

// Product: all but tests. Decisions: core and sim, whose results must be the same everywhere.
// Stopwatch: sim, but for the files that measure how long the block manager takes.
enum class Where { Everywhere, Product, Decisions, Core, Stopwatch };

constexpr std::array<std::string_view, 1> kStopwatches{"sim/cache/pool_replay.cc"};

struct Ban {
  std::string_view name;  // as a whole word; a trailing '(' is part of what is looked for
  Where where;
  std::string_view instead;
};

constexpr std::string_view kOwnRandom =
    "its results differ between standard libraries; use the project's own generator and ranges";
constexpr std::string_view kNoClock =
    "nothing in sim depends on a clock; time is simulated, or measured where the call is made";
constexpr std::string_view kSeeded = "every random number comes from a seed that can be repeated";

constexpr std::array<Ban, 38> kBans{{
    {"uniform_int_distribution", Where::Everywhere, kOwnRandom},
    {"uniform_real_distribution", Where::Everywhere, kOwnRandom},
    {"bernoulli_distribution", Where::Everywhere, kOwnRandom},
    {"binomial_distribution", Where::Everywhere, kOwnRandom},
    {"geometric_distribution", Where::Everywhere, kOwnRandom},
    {"poisson_distribution", Where::Everywhere, kOwnRandom},
    {"exponential_distribution", Where::Everywhere, kOwnRandom},
    {"gamma_distribution", Where::Everywhere, kOwnRandom},
    {"normal_distribution", Where::Everywhere, kOwnRandom},
    {"lognormal_distribution", Where::Everywhere, kOwnRandom},
    {"discrete_distribution", Where::Everywhere, kOwnRandom},
    {"std::shuffle", Where::Everywhere, kOwnRandom},
    {"std::sample", Where::Everywhere, kOwnRandom},
    {"random_device", Where::Everywhere, kSeeded},
    {"default_random_engine", Where::Everywhere, kOwnRandom},
    {"mt19937", Where::Decisions, kOwnRandom},
    {"mt19937_64", Where::Decisions, kOwnRandom},
    {"minstd_rand", Where::Decisions, kOwnRandom},
    {"<random>", Where::Decisions, kOwnRandom},
    {"std::hash", Where::Decisions, "its values differ between standard libraries; mix by hand"},
    {"time(", Where::Decisions, kNoClock},
    {"clock(", Where::Decisions, kNoClock},
    {"gettimeofday(", Where::Decisions, kNoClock},
    {"clock_gettime(", Where::Stopwatch, kNoClock},
    {"utc_clock", Where::Decisions, kNoClock},
    {"high_resolution_clock", Where::Decisions, kNoClock},
    {"steady_clock", Where::Stopwatch, kNoClock},
    {"drand48(", Where::Everywhere, kSeeded},
    {"rand(", Where::Everywhere, kSeeded},
    {"srand(", Where::Everywhere, kSeeded},
    {"assert(", Where::Everywhere,
     "it is off in an optimised build; use OCTAVO_CHECK or throw an Error"},
    {"strtok(", Where::Everywhere, "it keeps hidden state; split by hand"},
    {"atoi(", Where::Product, "it cannot report an error; use std::from_chars"},
    {"std::regex", Where::Product, "it recurses on its input and is slow; scan by hand"},
    {"system_clock", Where::Decisions,
     "nothing depends on the time of day; take the time from the trace or the caller"},
    {"std::cout", Where::Decisions, "a library does not print; return it, or take a stream"},
    {"steady_clock", Where::Core, "core has no clock; measure where the call is made"},
    {"clock_gettime(", Where::Core, "core has no clock; measure where the call is made"},
}};

bool applies(Where where, const Source& source) {
  const std::string_view top = source.top();
  switch (where) {
    case Where::Everywhere:
      return true;
    case Where::Product:
      return top != "tests";
    case Where::Decisions:
      return top == "core" || top == "sim";
    case Where::Core:
      return top == "core";
    case Where::Stopwatch:
      return top == "sim" &&
             std::find(kStopwatches.begin(), kStopwatches.end(), source.path) == kStopwatches.end();
  }
  return true;
}

bool holds_word(std::string_view line, std::string_view word) {
  for (std::size_t at = line.find(word); at != std::string_view::npos;
       at = line.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || !is_word(word.front()) || !is_word(line[at - 1]);
    const bool ends = !is_word(word.back()) || end == line.size() || !is_word(line[end]);
    if (begins && ends) {
      return true;
    }
  }
  return false;
}

bool is_unordered(std::string_view code) {
  return code.find("unordered_map<") != std::string_view::npos ||
         code.find("unordered_set<") != std::string_view::npos ||
         code.find("unordered_multimap<") != std::string_view::npos ||
         code.find("unordered_multiset<") != std::string_view::npos;
}

// On the line itself or on one of the three above it.
bool is_justified(const Source& source, std::size_t index) {
  for (std::size_t i = index < 3 ? 0 : index - 3; i <= index; ++i) {
    const std::string& line = source.lines[i];
    if (line.find("ever iterated") != std::string::npos ||
        line.find("ever walked") != std::string::npos) {
      return true;
    }
  }
  return false;
}

}  // namespace

Findings check_banned_names(const Tree& tree) {
  Findings findings;
  for (const Source& source : tree) {
    const bool is_decision = applies(Where::Decisions, source);
    for (std::size_t i = 0; i < source.code.size(); ++i) {
      const std::string& code = source.code[i];
      for (const Ban& ban : kBans) {
        if (applies(ban.where, source) && holds_word(code, ban.name)) {
          findings.push_back({source.path, i + 1,
                              std::string(ban.name) + " is banned: " + std::string(ban.instead)});
        }
      }
      if (is_decision && is_unordered(code) && !is_justified(source, i)) {
        findings.push_back(
            {source.path, i + 1,
             "an unordered container's order differs between standard libraries; use a vector or a "
             "std::map, or say above it that it is never iterated, and why it is needed"});
      }
    }
  }
  return findings;
}

}  // namespace octavo::tidy
