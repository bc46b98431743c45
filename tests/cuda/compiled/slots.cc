#include "tests/cuda/compiled/slots.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <tuple>

#include "tests/cuda/compiled/loops.h"
#include "tests/cuda/compiled/ways.h"

namespace octavo::compiled {
namespace {

constexpr unsigned kMultiplyAdd = 0x023;
constexpr unsigned kLoad = 0x181;
constexpr unsigned kIntegerProduct = 0x037;
constexpr unsigned kFloatProduct = 0x03C;
constexpr unsigned kSpecialFunction = 0x108;
constexpr unsigned kDivisionCheck = 0x102;
constexpr unsigned kBarrier = 0x11D;
constexpr unsigned kShuffle = 0x189;
constexpr unsigned kCopy = 0x1AE;
constexpr unsigned kCopyGroup = 0x1AF;

// As the kernels are written: a chunk, the warps of a block, and the positions or elements that a
// tensor core product takes.
constexpr int kChunkPositions = 256;
constexpr int kWarps = 4;
constexpr int kKeysOfStep = 8;
constexpr int kSlice = 64;

// The arguments of the innermost template: "(RowFormat)2, 128, 4" -> {"2", "128", "4"}.
std::vector<std::string> arguments_of(const std::string& name) {
  const std::size_t begin = name.rfind('<');
  std::vector<std::string> arguments(1);
  for (std::size_t i = begin + 1; i < name.size() && name[i] != '>'; ++i) {
    if (name[i] == ',') {
      arguments.emplace_back();
    } else if (name[i] == ')') {  // Of a cast.
      arguments.back().clear();
    } else if (name[i] != ' ') {
      arguments.back() += name[i];
    }
  }
  return arguments;
}

int number_of(const std::string& argument) {
  const bool is_number = !argument.empty() && argument.size() < 6 &&
                         argument.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? std::stoi(argument) : 0;
}

// RowFormat and DType begin alike.
std::string format_of(const std::string& argument) {
  constexpr auto kFormats = std::to_array<std::string_view>({"F32", "F16", "BF16", "E4M3", "E5M2"});
  const auto format = static_cast<std::size_t>(number_of(argument));
  return format < kFormats.size() ? std::string(kFormats[format]) : "format " + argument;
}

int round_up(int x, int unit) {
  return (x + unit - 1) / unit * unit;
}

using Instructions = std::vector<std::size_t>;

// Of instructions that kWarps warps run for so many tokens.
Slots slots(const SassCode& code, const Instructions& run, double tokens, bool is_loop = true) {
  Slots result = {static_cast<double>(run.size()) * kWarps / tokens, is_loop, {}};
  for (const std::size_t i : run) {
    result.clocks += pipe_clocks(code[i]);
  }
  result.clocks = result.clocks * (kWarps / tokens);
  return result;
}

// Where the parts of a kernel are that are counted for themselves.
struct Parts {
  Instructions keys;
  Instructions values;
  Instructions softmax;   // Of all variants of the kernel.
  Instructions combined;  // The loop over chunks.
};

// The shortest loop that `is_it` says is the one: the kernels have a second one for chunks that
// some row sees only a part of, with more conditions.
template <typename Predicate>
const Loop* shortest(const std::vector<Loop>& loops, Predicate is_it) {
  const Loop* found = nullptr;
  for (const Loop& loop : loops) {
    if (is_it(loop) && (found == nullptr || loop.body.size() < found->body.size())) {
      found = &loop;
    }
  }
  return found;
}

// The loop over rows. The tanh of the cap is in it, or in a loop in it. It reads shared memory
// alone.
bool is_softmax(const Loop& loop) {
  return loop.count(kSpecialFunction) > 0 && loop.count(kShuffle) > 0 && loop.count(kCopy) == 0 &&
         loop.count(kLoad) == 0;
}

// The loop over the chunks of a row that is combined, and those around it. In it is the search for
// the largest score, which the first iteration does.
bool is_combination(const Loop& loop) {
  return loop.count(kMultiplyAdd) > 0 && loop.count(kShuffle) > 0 && loop.count(kLoad) > 0;
}

void count_softmax(const SassCode& code,
                   const std::vector<Loop>& loops,
                   SlotCount& count,
                   Parts& parts) {
  for (const Loop& loop : loops) {
    if (is_softmax(loop)) {
      parts.softmax.insert(parts.softmax.end(), loop.body.begin(), loop.body.end());
    }
  }
  if (const Loop* const softmax = shortest(loops, is_softmax); softmax != nullptr) {
    constexpr double kTokens = kChunkPositions * kWarps;  // One warp does a row.
    count.softmax_of_row = slots(code, softmax->body, kTokens);
    // Nothing but the tanh of the cap divides.
    const Instructions plain = iteration_without(code, *softmax, kDivisionCheck);
    if (!plain.empty()) {
      count.plain_softmax_of_row = slots(code, plain, kTokens);
    }
  }
}

// What is left of the way past both loops.
void count_rest(const SassCode& code, const Parts& parts, SlotCount& count) {
  if (parts.keys.empty() || parts.values.empty()) {
    return;
  }
  WayRules rules = {.passes = {parts.keys, parts.values}, .avoids = {}, .free = parts.softmax};
  for (const Instructions* const part : {&parts.keys, &parts.values, &parts.combined}) {
    rules.free.insert(rules.free.end(), part->begin(), part->end());
  }
  const auto way = shortest_way(code, rules);
  if (!way) {
    return;
  }
  count.rest = slots(code, *way, kChunkPositions);
  rules.passes.push_back(parts.combined);
  if (const auto last = shortest_way(code, rules); last && !parts.combined.empty()) {
    count.combined_row = slots(code, *last, kWarps);
    count.combined_row->count -= static_cast<double>(way->size());
    count.combined_row->clocks += slots(code, *way, kWarps).clocks * -1.0;
  }
}

void find_combination(const SassCode& code,
                      const std::vector<Loop>& loops,
                      SlotCount& count,
                      Parts& parts) {
  if (const Loop* const loop = shortest(loops, is_combination); loop != nullptr) {
    constexpr unsigned kQuadBytes = 16;
    count.chunks_at_once = static_cast<int>(
        std::count_if(loop->body.begin(), loop->body.end(), [&code](std::size_t i) {
          return code[i].operation() == kLoad && access_bytes(code[i]) == kQuadBytes;
        }));
    count.combined_chunks = slots(code, loop->body, kWarps);
    parts.combined = loop->body;
  }
}

// Both loops start copies, a group a token and stream; dots are reduced by shuffles.
void count_float_loops(const SassCode& code,
                       const std::vector<Loop>& loops,
                       SlotCount& count,
                       Parts& parts) {
  const int units = count.head_dim / 8;
  const int lanes = units <= 8 ? 8 : units <= 16 ? 16 : 32;
  const int streams = kWarps * 32 / lanes;
  for (const bool has_shuffles : {true, false}) {
    const Loop* const loop = shortest(loops, [has_shuffles](const Loop& candidate) {
      return candidate.is_innermost && candidate.count(kCopyGroup) > 0 &&
             (candidate.count(kShuffle) > 0) == has_shuffles;
    });
    if (loop != nullptr) {
      (has_shuffles ? count.keys : count.values) =
          slots(code, loop->body, static_cast<double>(loop->count(kCopyGroup)) * streams);
      (has_shuffles ? parts.keys : parts.values) = loop->body;
    }
  }
}

// What stands between two barriers and has products that belong to none of `loops`.
std::vector<Instructions> phases_without_loop(const SassCode& code,
                                              const std::vector<const Loop*>& loops,
                                              unsigned product) {
  std::set<std::size_t> in_loops;
  for (const Loop* loop : loops) {
    in_loops.insert(loop->body.begin(), loop->body.end());
  }
  std::vector<Instructions> phases;
  Instructions phase;
  bool has_products = false;
  for (std::size_t i = 0; i < code.size(); ++i) {
    has_products = has_products || (code[i].operation() == product && !in_loops.contains(i));
    if (code[i].operation() == kBarrier) {
      if (has_products) {
        phases.push_back(phase);
      }
      phase.clear();
      has_products = false;
    }
    phase.push_back(i);
  }
  return phases;
}

// Keys: products_of_step of them make a step of eight keys a warp. Values: an iteration does a
// slice of 64 elements of a whole chunk, with products_of_slice a warp.
void count_products(const SassCode& code,
                    unsigned product,
                    int products_of_step,
                    int products_of_slice,
                    const std::vector<Loop>& loops,
                    SlotCount& count,
                    Parts& parts) {
  std::vector<const Loop*> with_products;  // By address: keys come first.
  for (const Loop& loop : loops) {
    if (loop.count(product) > 0) {
      with_products.push_back(&loop);
    }
  }
  const auto phases = phases_without_loop(code, with_products, product);
  const int slices = round_up(count.head_dim, kSlice) / kSlice;
  const auto iteration = static_cast<std::size_t>(products_of_slice);
  // With one slice there is no loop over slices.
  if (slices > 1 && !with_products.empty() && with_products.back()->count(product) == iteration) {
    parts.values = with_products.back()->body;
    count.values = slots(code, parts.values, static_cast<double>(kChunkPositions) / slices);
    with_products.pop_back();
  } else if (slices == 1 && !phases.empty()) {
    parts.values = phases.back();
    count.values = slots(code, parts.values, kChunkPositions, false);
  }
  if (with_products.size() == 1) {
    const double steps = static_cast<double>(with_products[0]->count(product)) / products_of_step;
    parts.keys = with_products[0]->body;
    count.keys = slots(code, parts.keys, steps * kKeysOfStep * kWarps);
  } else if (phases.size() == (slices == 1 ? 2 : 1)) {
    parts.keys = phases.front();
    count.keys = slots(code, parts.keys, kChunkPositions, false);
  }
}

std::optional<SlotCount> count_kernel(const CompiledKernel& kernel) {
  SlotCount count;
  count.architecture = kernel.architecture;
  count.registers = kernel.registers;
  count.shared_bytes = kernel.shared_bytes;
  count.kernel = kernel.name.substr(0, kernel.name.find('<'));
  const std::vector<std::string> arguments = arguments_of(kernel.name);
  const std::vector<Loop> loops = find_loops(kernel.code);
  Parts parts;
  if (count.kernel == "attend_float" && arguments.size() == 3) {
    count.format = format_of(arguments[0]);
    count.head_dim = number_of(arguments[1]);
    count.rows = number_of(arguments[2]);
    count_float_loops(kernel.code, loops, count, parts);
  } else if (count.kernel == "attend_int_kernel" && arguments.size() == 3) {
    const bool int4_keys = arguments[0] == "true";
    const bool int4_values = arguments[1] == "true";
    count.format = int4_keys == int4_values ? (int4_keys ? "Int4" : "Int8")
                                            : (int4_keys ? "Int4/Int8" : "Int8/Int4");
    count.head_dim = number_of(arguments[2]);
    count.rows = 8;
    const int dim = round_up(count.head_dim, int4_keys && count.head_dim >= 96 ? 128 : 64);
    count_products(kernel.code, kIntegerProduct, dim / 32, 16, loops, count, parts);
  } else if (count.kernel == "attend_fast_kernel" && arguments.size() == 2) {
    count.format = format_of(arguments[0]);
    count.head_dim = number_of(arguments[1]);
    count.rows = 16;
    const int dim = round_up(count.head_dim, count.format.starts_with('E') ? 64 : 32);
    count_products(kernel.code, kFloatProduct, dim / 16, 32, loops, count, parts);
  } else {
    return std::nullopt;
  }
  count_softmax(kernel.code, loops, count, parts);
  find_combination(kernel.code, loops, count, parts);
  count_rest(kernel.code, parts, count);
  return count;
}

}  // namespace

std::vector<SlotCount> count_slots(std::span<const CompiledKernel> kernels) {
  std::vector<SlotCount> counts;
  for (const CompiledKernel& kernel : kernels) {
    if (auto count = count_kernel(kernel)) {
      counts.push_back(std::move(*count));
    }
  }
  const auto key = [](const SlotCount& c) {
    return std::tie(c.kernel, c.format, c.architecture, c.head_dim, c.rows);
  };
  std::sort(counts.begin(), counts.end(),
            [&key](const SlotCount& a, const SlotCount& b) { return key(a) < key(b); });
  return counts;
}

}  // namespace octavo::compiled
