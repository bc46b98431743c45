// Prints what nvcc made of the library's kernels:
//   compiled_kernels           issue slots of the tuned attention kernels (slots.h), as Markdown
//   compiled_kernels --ptx     how often each PTX instruction occurs, exact and fast kernels apart
//   compiled_kernels --loops   the innermost loops of all kernels, with their operations
//   compiled_kernels --roofline  what an H200 is expected to reach (expectations.h), as Markdown

#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "tests/cuda/compiled/allowances.h"
#include "tests/cuda/compiled/expectations.h"
#include "tests/cuda/compiled/kept_files.h"
#include "tests/cuda/compiled/loops.h"
#include "tests/cuda/compiled/ptx_lint.h"
#include "tests/cuda/compiled/slots.h"

namespace octavo::compiled {
namespace {

void print_cell(const std::optional<Slots>& slots) {
  if (slots) {
    std::printf(" %.1f%s |", slots->count, slots->is_loop ? "" : "*");
  } else {
    std::printf(" - |");
  }
}

void print_slots(const KeptKernels& kept) {
  std::printf("Issue slots a (token, KV head), nvcc %s; *: no loop, all between two barriers.\n\n",
              kept.compiler.c_str());
  std::printf(
      "| kernel | format | sm | head_dim | rows | registers | keys | values | softmax, a row | "
      "without "
      "cap | rest |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const SlotCount& count : count_slots(kept.kernels)) {
    std::printf("| %s | %s | %d | %d | %d | %zu |", count.kernel.c_str(), count.format.c_str(),
                count.architecture, count.head_dim, count.rows, count.registers);
    print_cell(count.keys);
    print_cell(count.values);
    print_cell(count.softmax_of_row);
    print_cell(count.plain_softmax_of_row);
    print_cell(count.rest);
    std::printf("\n");
  }
}

bool is_fast(const std::string& source) {
  for (const Allowance& allowance : kAllowances) {
    if (allowance.source == source) {
      return true;
    }
  }
  return false;
}

void print_ptx(const KeptKernels& kept) {
  for (const bool fast : {false, true}) {
    OpcodeCounts counts;
    std::size_t files = 0;
    std::size_t all = 0;
    for (const KeptPtx& ptx : kept.ptx) {
      if (is_fast(ptx.source) == fast) {
        ++files;
        count_opcodes(ptx.module, counts);
      }
    }
    for (const auto& [opcode, count] : counts) {
      all += count;
    }
    std::printf("%s kernels: %zu instructions in %zu PTX files; those on floats:\n",
                fast ? "Fast" : "Exact", all, files);
    for (const auto& [opcode, count] : counts) {
      if (is_float(opcode)) {
        const auto objection = objection_to(opcode);
        std::printf("%9zu  %s%s%s\n", count, opcode.c_str(), objection ? "  allowed: " : "",
                    objection ? objection->c_str() : "");
      }
    }
  }
}

void print_loops(const KeptKernels& kept) {
  for (const CompiledKernel& kernel : kept.kernels) {
    std::printf("sm_%d %s: %zu registers, %zu instructions\n", kernel.architecture,
                kernel.name.c_str(), kernel.registers, kernel.instructions);
    for (const Loop& loop : find_loops(kernel.code)) {
      if (!loop.is_innermost) {
        continue;
      }
      std::printf("  loop at %zu, %zu instructions:", 16 * loop.header, loop.body.size());
      for (const auto& [operation, count] : loop.operations) {
        std::printf(" %s %zu", operation_name(operation).c_str(), count);
      }
      std::printf("\n");
    }
  }
}

std::string in_unit(ExpectedUnit unit, double value) {
  char text[32];
  switch (unit) {
    case ExpectedUnit::FractionOfCopy:
      std::snprintf(text, sizeof text, "%.0f %%", 100.0 * value);
      break;
    case ExpectedUnit::Microseconds:
      std::snprintf(text, sizeof text, "%.1f us", value);
      break;
    case ExpectedUnit::Teraflops:
      std::snprintf(text, sizeof text, "%.0f TFLOP/s", value);
      break;
  }
  return text;
}

void print_roofline(const KeptKernels& kept) {
  std::printf("%s, nvcc %s.\n\n", std::string(kH200.name).c_str(), kept.compiler.c_str());
  std::printf(
      "| case | MB | blocks an SM | limit | issue slots | us | other launches, us | expected | "
      "goal "
      "|\n|---|---|---|---|---|---|---|---|---|\n");
  for (const Expectation& item : expectations(kH200, kept.kernels)) {
    const std::string goal = item.goal > 0.0 ? in_unit(item.unit, item.goal) : "-";
    std::printf("| %s | %.0f | %zu | %s | %.0f %% | %.1f | %.1f | %s | %s%s |\n", item.name.c_str(),
                item.bytes * 1e-6, item.main.resident, std::string(item.main.limit).c_str(),
                100.0 * item.main.issue_share, item.main.us, item.other_us,
                in_unit(item.unit, item.value).c_str(), goal.c_str(),
                item.meets_goal() ? "" : ", not reached");
  }
}

}  // namespace
}  // namespace octavo::compiled

int main(int argc, char** argv) {
  using namespace octavo::compiled;
  try {
    const bool ptx = argc == 2 && std::strcmp(argv[1], "--ptx") == 0;
    const bool loops = argc == 2 && std::strcmp(argv[1], "--loops") == 0;
    const bool roofline = argc == 2 && std::strcmp(argv[1], "--roofline") == 0;
    if (argc != 1 && !ptx && !loops && !roofline) {
      std::fprintf(stderr, "usage: compiled_kernels [--ptx | --loops | --roofline]\n");
      return 2;
    }
    const KeptKernels kept = read_kept_kernels();
    (ptx ? print_ptx : loops ? print_loops : roofline ? print_roofline : print_slots)(kept);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "compiled_kernels: %s\n", error.what());
    return 1;
  }
}
