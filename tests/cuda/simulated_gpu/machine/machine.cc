#include "tests/cuda/simulated_gpu/machine/machine.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "cuda/emulation/random.h"
#include "tests/cuda/simulated_gpu/machine/assembler.h"
#include "tests/cuda/simulated_gpu/machine/block_run.h"
#include "tests/cuda/simulated_gpu/machine/program.h"

namespace octavo::simulated_gpu {
namespace {

constexpr std::string_view kEntry = ".visible .entry ";
constexpr std::string_view kSharedByAll = ".extern .shared ";

bool is_at_line_begin(std::string_view text, std::size_t at) {
  return at == 0 || text[at - 1] == '\n';
}

// The lines that begin with `word`.
std::string lines_with(std::string_view text, std::string_view word) {
  std::string lines;
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    if (is_at_line_begin(text, at)) {
      lines += text.substr(at, text.find('\n', at) + 1 - at);
    }
  }
  return lines;
}

int line_number(std::string_view text, std::size_t at) {
  return 1 + static_cast<int>(
                 std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

}  // namespace

/// Read when it is first asked for: a file has many kernels, and a test uses few.
class Kernel {
 public:
  std::string text;
  std::string file;
  int first_line = 1;
  std::optional<Program> program;
  mutable std::vector<RegisterFile> spare;  ///< Of earlier launches.
};

struct Machine::Kernels {
  std::map<std::string, Kernel> by_name;
};

Machine::Machine() : kernels_(std::make_unique<Kernels>()) {}
Machine::~Machine() = default;

void Machine::load(std::string_view text, const std::string& file) {
  std::string shared = lines_with(text, kSharedByAll);
  std::replace(shared.begin(), shared.end(), '\n', ' ');  // Lines count as they do in the file.
  std::size_t begin = text.find(kEntry);
  while (begin != std::string_view::npos) {
    const std::size_t next = text.find(kEntry, begin + kEntry.size());
    // Up to the end of its body, which is the last brace of a line of its own.
    std::string_view kernel = text.substr(begin, next - begin);
    kernel = kernel.substr(0, kernel.rfind("\n}") + 2);
    const std::size_t name_begin = kEntry.size();
    const std::size_t name_end = kernel.find('(');
    Kernel made;
    made.text = shared + std::string(kernel);
    made.file = file;
    made.first_line = line_number(text, begin);
    kernels_->by_name[std::string(kernel.substr(name_begin, name_end - name_begin))] =
        std::move(made);
    begin = next;
  }
}

const Kernel* Machine::find(const std::string& name) const {
  const auto found = kernels_->by_name.find(name);
  if (found == kernels_->by_name.end()) {
    return nullptr;
  }
  Kernel& kernel = found->second;
  if (!kernel.program) {
    kernel.program = assemble(kernel.text, kernel.file, kernel.first_line);
  }
  return &kernel;
}

std::vector<std::string> Machine::names() const {
  std::vector<std::string> names;
  for (const auto& [name, kernel] : kernels_->by_name) {
    names.push_back(name);
  }
  return names;
}

const KernelInterface& Machine::interface_of(const Kernel& kernel) {
  return kernel.program->interface;
}

void Machine::run(const Kernel& kernel,
                  const LaunchShape& shape,
                  std::span<const std::byte> parameters,
                  const GpuMemory& memory,
                  std::uint64_t seed) const {
  BlockRun blocks(*kernel.program, shape, parameters, memory, seed, kernel.spare);
  const std::uint64_t count = std::uint64_t{shape.grid.x} * shape.grid.y * shape.grid.z;
  // By an odd step around a power of two that is no less than their number: each comes once.
  std::uint64_t around = 1;
  while (around < count) {
    around *= 2;
  }
  emulation::Random random(seed);
  const std::uint64_t step = seed == 0 ? 1 : random.next() | 1u;
  std::uint64_t at = seed == 0 ? 0 : random.next();
  for (std::uint64_t i = 0; i < around; ++i, at += step) {
    const std::uint64_t block = at & (around - 1);
    if (block < count) {
      blocks.run({static_cast<std::uint32_t>(block % shape.grid.x),
                  static_cast<std::uint32_t>(block / shape.grid.x % shape.grid.y),
                  static_cast<std::uint32_t>(block / shape.grid.x / shape.grid.y)});
    }
  }
}

}  // namespace octavo::simulated_gpu
