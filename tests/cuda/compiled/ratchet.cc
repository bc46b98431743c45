#include "tests/cuda/compiled/ratchet.h"

#include <algorithm>
#include <iomanip>
#include <map>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace octavo::compiled {
namespace {

using Key = std::pair<int, std::string>;
using Table = std::map<Key, KernelFigures>;

constexpr std::string_view kCompilerLine = "compiler ";

Table table_of(std::span<const KernelFigures> kernels) {
  Table table;
  for (const KernelFigures& figures : kernels) {
    table.emplace(Key{figures.architecture, figures.name}, figures);
  }
  return table;
}

std::string title_of(const KernelFigures& figures) {
  return "sm_" + std::to_string(figures.architecture) + " " + figures.name;
}

// "name: 90 registers, 80 allowed"; says nothing where the figures are equal.
void compare_figure(const KernelFigures& kernel,
                    std::string_view what,
                    std::size_t allowed,
                    std::size_t found,
                    RatchetFindings& findings) {
  if (found != allowed) {
    (found > allowed ? findings.failures : findings.improvements)
        .push_back(title_of(kernel) + ": " + std::to_string(found) + " " + std::string(what) +
                   ", " + std::to_string(allowed) + " allowed");
  }
}

KernelFigures read_line(const std::string& line, int number) {
  std::istringstream in(line);
  KernelFigures figures;
  std::string architecture;
  in >> architecture >> figures.registers >> figures.local_accesses >> figures.shared_bytes >>
      figures.instructions >> std::ws;
  std::getline(in, figures.name);
  const bool is_number = architecture.size() > 3 && architecture.size() < 8 &&
                         architecture.starts_with("sm_") &&
                         architecture.find_first_not_of("0123456789", 3) == std::string::npos;
  if (in.fail() || !is_number || figures.name.empty()) {
    throw std::runtime_error("line " + std::to_string(number) +
                             ": not 'sm_<number> <registers> <local> <shared> <instructions> "
                             "<kernel>': " +
                             line);
  }
  figures.architecture = std::stoi(architecture.substr(3));
  return figures;
}

}  // namespace

std::vector<KernelFigures> figures_of(std::span<const CompiledKernel> kernels) {
  Table table;
  for (const CompiledKernel& kernel : kernels) {
    KernelFigures& figures = table[{kernel.architecture, kernel.name}];
    figures.architecture = kernel.architecture;
    figures.name = kernel.name;
    figures.registers = std::max(figures.registers, kernel.registers);
    figures.local_accesses = std::max(figures.local_accesses, kernel.local_accesses);
    figures.shared_bytes = std::max(figures.shared_bytes, kernel.shared_bytes);
    figures.instructions = std::max(figures.instructions, kernel.instructions);
  }
  std::vector<KernelFigures> result;
  for (const auto& [key, figures] : table) {
    result.push_back(figures);
  }
  return result;
}

Ratchet read_ratchet(std::string_view text) {
  Ratchet ratchet;
  std::istringstream in{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.empty() || line.front() == '#') {
      continue;
    }
    if (line.starts_with(kCompilerLine)) {
      ratchet.compiler = line.substr(kCompilerLine.size());
      continue;
    }
    KernelFigures figures = read_line(line, number);
    const auto same = [&figures](const KernelFigures& other) {
      return other.architecture == figures.architecture && other.name == figures.name;
    };
    if (std::any_of(ratchet.kernels.begin(), ratchet.kernels.end(), same)) {
      throw std::runtime_error("line " + std::to_string(number) + ": a second line of " +
                               title_of(figures));
    }
    ratchet.kernels.push_back(std::move(figures));
  }
  if (ratchet.compiler.empty()) {
    throw std::runtime_error("no line says which compiler the figures are of");
  }
  return ratchet;
}

std::string write_ratchet(const Ratchet& ratchet) {
  std::ostringstream out;
  out << "# What the kernels need as nvcc compiles them, a line a kernel and architecture: "
         "registers "
         "of a\n"
         "# thread, instructions that read or write local memory (spills), bytes of static shared "
         "memory,\n"
         "# instructions. tests/README.md says how to write it anew; the first three may only "
         "fall.\n";
  out << kCompilerLine << ratchet.compiler << '\n';
  for (const KernelFigures& figures : ratchet.kernels) {
    out << "sm_" << figures.architecture << std::setw(5) << figures.registers << std::setw(4)
        << figures.local_accesses << std::setw(7) << figures.shared_bytes << std::setw(7)
        << figures.instructions << "  " << figures.name << '\n';
  }
  return out.str();
}

RatchetFindings compare(std::span<const KernelFigures> allowed,
                        std::span<const KernelFigures> found) {
  RatchetFindings findings;
  const Table lines = table_of(allowed);
  const Table kernels = table_of(found);
  for (const auto& [key, kernel] : kernels) {
    const auto line = lines.find(key);
    if (line == lines.end()) {
      findings.failures.push_back(title_of(kernel) + ": a kernel without a line");
      continue;
    }
    compare_figure(kernel, "registers", line->second.registers, kernel.registers, findings);
    compare_figure(kernel, "accesses of local memory", line->second.local_accesses,
                   kernel.local_accesses, findings);
    compare_figure(kernel, "bytes of shared memory", line->second.shared_bytes, kernel.shared_bytes,
                   findings);
  }
  for (const auto& [key, line] : lines) {
    if (!kernels.contains(key)) {
      findings.failures.push_back(title_of(line) + ": a line without a kernel");
    }
  }
  return findings;
}

}  // namespace octavo::compiled
