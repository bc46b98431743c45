#include "tests/cuda/compiled/slots.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <tuple>

#include "tests/cuda/compiled/loops.h"

namespace octavo::compiled {
namespace {

constexpr unsigned kIntegerProduct = 0x037;
constexpr unsigned kFloatProduct = 0x03C;
constexpr unsigned kSpecialFunction = 0x108;
constexpr unsigned kBarrier = 0x11D;
constexpr unsigned kShuffle = 0x189;
constexpr unsigned kCopy = 0x1AE;
constexpr unsigned kCopyGroup = 0x1AF;

// As the kernels are written: a chunk, the warps of a block, and the positions or elements that a
// tensor core product takes.
constexpr int kChunk = 256;
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

Slots slots(const Loop& loop, double tokens) {
  return {static_cast<double>(loop.body.size()) * kWarps / tokens};
}

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

void count_softmax(const std::vector<Loop>& loops, SlotCount& count) {
  const Loop* const softmax = shortest(loops, [](const Loop& loop) {
    return loop.is_innermost && loop.count(kSpecialFunction) > 0 && loop.count(kShuffle) > 0 &&
           loop.count(kCopy) == 0;
  });
  if (softmax != nullptr) {
    count.softmax_of_row = static_cast<double>(softmax->body.size()) / kChunk;
  }
}

// Both loops start copies, a group a token and stream; dots are reduced by shuffles.
void count_float_loops(const std::vector<Loop>& loops, SlotCount& count) {
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
          slots(*loop, static_cast<double>(loop->count(kCopyGroup)) * streams);
    }
  }
}

// What stands between two barriers and has products that belong to none of `loops`.
std::vector<std::size_t> phases_without_loop(const SassCode& code,
                                             const std::vector<const Loop*>& loops,
                                             unsigned product) {
  std::set<std::size_t> in_loops;
  for (const Loop* loop : loops) {
    in_loops.insert(loop->body.begin(), loop->body.end());
  }
  std::vector<std::size_t> sizes;
  std::size_t size = 0;
  bool has_products = false;
  for (std::size_t i = 0; i < code.size(); ++i, ++size) {
    has_products = has_products || (code[i].operation() == product && !in_loops.contains(i));
    if (code[i].operation() == kBarrier) {
      if (has_products) {
        sizes.push_back(size);
      }
      size = 0;
      has_products = false;
    }
  }
  return sizes;
}

// Keys: products_of_step of them make a step of eight keys a warp. Values: an iteration does a
// slice of 64 elements of a whole chunk, with products_of_slice a warp.
void count_products(const SassCode& code,
                    unsigned product,
                    int products_of_step,
                    int products_of_slice,
                    SlotCount& count) {
  const std::vector<Loop> loops = find_loops(code);
  std::vector<const Loop*> with_products;  // By address: keys come first.
  for (const Loop& loop : loops) {
    if (loop.count(product) > 0) {
      with_products.push_back(&loop);
    }
  }
  const auto phases = phases_without_loop(code, with_products, product);
  const auto slots_of_phase = [](std::size_t size) {
    return Slots{static_cast<double>(size) * kWarps / kChunk, false};
  };
  const int slices = round_up(count.head_dim, kSlice) / kSlice;
  const auto iteration = static_cast<std::size_t>(products_of_slice);
  // With one slice there is no loop over slices.
  if (slices > 1 && !with_products.empty() && with_products.back()->count(product) == iteration) {
    count.values = Slots{slots(*with_products.back(), kChunk).count * slices};
    with_products.pop_back();
  } else if (slices == 1 && !phases.empty()) {
    count.values = slots_of_phase(phases.back());
  }
  if (with_products.size() == 1) {
    const double steps = static_cast<double>(with_products[0]->count(product)) / products_of_step;
    count.keys = slots(*with_products[0], steps * kKeysOfStep * kWarps);
  } else if (phases.size() == (slices == 1 ? 2 : 1)) {
    count.keys = slots_of_phase(phases.front());
  }
}

std::optional<SlotCount> count_kernel(const CompiledKernel& kernel) {
  SlotCount count;
  count.architecture = kernel.architecture;
  count.registers = kernel.registers;
  count.kernel = kernel.name.substr(0, kernel.name.find('<'));
  const std::vector<std::string> arguments = arguments_of(kernel.name);
  if (count.kernel == "attend_float" && arguments.size() == 3) {
    count.format = format_of(arguments[0]);
    count.head_dim = number_of(arguments[1]);
    count.rows = number_of(arguments[2]);
    count_float_loops(find_loops(kernel.code), count);
  } else if (count.kernel == "attend_int_kernel" && arguments.size() == 3) {
    const bool int4_keys = arguments[0] == "true";
    const bool int4_values = arguments[1] == "true";
    count.format = int4_keys == int4_values ? (int4_keys ? "Int4" : "Int8")
                                            : (int4_keys ? "Int4/Int8" : "Int8/Int4");
    count.head_dim = number_of(arguments[2]);
    count.rows = 8;
    const int dim = round_up(count.head_dim, int4_keys && count.head_dim >= 96 ? 128 : 64);
    count_products(kernel.code, kIntegerProduct, dim / 32, 16, count);
  } else if (count.kernel == "attend_fast_kernel" && arguments.size() == 2) {
    count.format = format_of(arguments[0]);
    count.head_dim = number_of(arguments[1]);
    count.rows = 16;
    const int dim = round_up(count.head_dim, count.format.starts_with('E') ? 64 : 32);
    count_products(kernel.code, kFloatProduct, dim / 16, 32, count);
  } else {
    return std::nullopt;
  }
  count_softmax(find_loops(kernel.code), count);
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
