#include "tests/cuda/compiled/cubin.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string_view>

#include <cxxabi.h>

namespace octavo::compiled {
namespace {

constexpr std::uint16_t kCudaMachine = 190;
constexpr std::uint8_t kFunction = 2;
constexpr std::uint8_t kKernelFlag = 0x10;     // Of a symbol's st_other.
constexpr std::size_t kReservedShared = 1024;  // A block's, since Hopper; CUDA's own.

// What the sections .nv.info say is a list of attributes: a byte for the format, one for the kind,
// and two of value, or of the size of what follows.
constexpr std::uint8_t kSizedFormat = 4;
constexpr std::uint8_t kFrameSize = 0x11;        // {symbol, bytes}
constexpr std::uint8_t kRegisterCount = 0x2F;    // {symbol, registers}
constexpr std::uint8_t kIndirectTargets = 0x34;  // {branch, 0, count, target ...} ..., in bytes

using Attribute = std::function<void(std::uint8_t kind, Bytes payload)>;

void for_each_attribute(Bytes info, const Attribute& visit) {
  for (std::uint64_t at = 0; at < info.size();) {
    const auto format = read_integer<std::uint8_t>(info, at);
    const auto kind = read_integer<std::uint8_t>(info, at + 1);
    const auto size = read_integer<std::uint16_t>(info, at + 2);
    at += 4;
    if (format == kSizedFormat) {
      if (size > info.size() - at) {
        throw std::runtime_error("cubin: an attribute lies beyond the end of its section");
      }
      visit(kind, info.subspan(at, size));
      at += size;
    } else if (format == 0 || format > kSizedFormat) {
      throw std::runtime_error("cubin: an attribute of unknown format");
    }
  }
}

const ElfSection* find_section(const ElfFile& file, const std::string& name) {
  const auto found = std::find_if(file.sections.begin(), file.sections.end(),
                                  [&](const ElfSection& section) { return section.name == name; });
  return found == file.sections.end() ? nullptr : &*found;
}

// Sizes of frames and numbers of registers are listed together, by symbol.
void read_common_attributes(const ElfFile& file, std::size_t symbol, CompiledKernel& kernel) {
  const ElfSection* const info = find_section(file, ".nv.info");
  bool found = false;
  if (info != nullptr) {
    for_each_attribute(info->data, [&](std::uint8_t kind, Bytes payload) {
      if ((kind != kRegisterCount && kind != kFrameSize) ||
          read_integer<std::uint32_t>(payload, 0) != symbol) {
        return;
      }
      const auto value = read_integer<std::uint32_t>(payload, 4);
      found = found || kind == kRegisterCount;
      (kind == kRegisterCount ? kernel.registers : kernel.frame_bytes) = value;
    });
  }
  if (!found) {
    throw std::runtime_error("cubin: no number of registers of " + kernel.mangled);
  }
}

// The subroutines that ptxas adds to a kernel's code: divisions and the like.
std::set<std::size_t> find_subroutines(const ElfFile& file, std::uint16_t section) {
  std::set<std::size_t> subroutines;
  for (const ElfSymbol& symbol : file.symbols) {
    if (symbol.type == kFunction && symbol.section == section &&
        (symbol.other & kKernelFlag) == 0) {
      subroutines.insert(symbol.value / 16);
    }
  }
  return subroutines;
}

std::map<std::size_t, std::vector<std::size_t>> read_indirect_targets(const ElfFile& file,
                                                                      const std::string& mangled) {
  std::map<std::size_t, std::vector<std::size_t>> targets;
  const ElfSection* const info = find_section(file, ".nv.info." + mangled);
  if (info == nullptr) {
    return targets;
  }
  for_each_attribute(info->data, [&](std::uint8_t kind, Bytes payload) {
    if (kind != kIndirectTargets) {
      return;
    }
    for (std::uint64_t at = 0; at < payload.size();) {
      const auto branch = read_integer<std::uint32_t>(payload, at);
      const auto count = read_integer<std::uint32_t>(payload, at + 8);
      at += 12;
      for (std::uint32_t i = 0; i < count; ++i, at += 4) {
        targets[branch / 16].push_back(read_integer<std::uint32_t>(payload, at) / 16);
      }
    }
  });
  return targets;
}

int architecture_of(const ElfFile& file) {
  // CUDA 13 moved the number of the architecture by a byte, and counted the ABI up.
  return static_cast<int>((file.abi_version >= 8 ? file.flags >> 8 : file.flags) & 0xFFu);
}

std::size_t without_padding(const SassCode& code) {
  constexpr unsigned kNop = 0x118;
  std::size_t count = code.size();
  while (count > 0 && code[count - 1].operation() == kNop) {
    --count;
  }
  return count;
}

CompiledKernel read_kernel(const ElfFile& file, std::size_t symbol_index) {
  const ElfSymbol& symbol = file.symbols[symbol_index];
  if (symbol.section >= file.sections.size()) {
    throw std::runtime_error("cubin: no code of " + symbol.name);
  }
  CompiledKernel kernel;
  kernel.mangled = symbol.name;
  kernel.name = short_name(symbol.name);
  kernel.architecture = architecture_of(file);
  read_common_attributes(file, symbol_index, kernel);
  if (const ElfSection* const shared = find_section(file, ".nv.shared." + symbol.name)) {
    const std::size_t reserved = kernel.architecture >= 90 ? kReservedShared : 0;
    kernel.shared_bytes = shared->size - std::min<std::size_t>(shared->size, reserved);
  }
  kernel.code = decode_sass(file.sections[symbol.section].data, kernel.architecture,
                            {.indirect_targets = read_indirect_targets(file, symbol.name),
                             .subroutines = find_subroutines(file, symbol.section)});
  kernel.instructions = without_padding(kernel.code);
  kernel.local_accesses = static_cast<std::size_t>(
      std::count_if(kernel.code.begin(), kernel.code.end(), is_local_memory));
  return kernel;
}

}  // namespace

std::vector<CompiledKernel> read_cubin(Bytes bytes) {
  const ElfFile file = read_elf(bytes);
  if (file.machine != kCudaMachine) {
    throw std::runtime_error("cubin: an ELF file of another machine");
  }
  std::vector<CompiledKernel> kernels;
  for (std::size_t i = 0; i < file.symbols.size(); ++i) {
    const ElfSymbol& symbol = file.symbols[i];
    if (symbol.type == kFunction && (symbol.other & kKernelFlag) != 0) {
      kernels.push_back(read_kernel(file, i));
    }
  }
  return kernels;
}

std::string short_name(const std::string& mangled) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> demangled(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0) {
    return mangled;
  }
  std::string name = demangled.get();
  // The parameters begin at the last '(' that stands within neither <> nor (): not at that of a
  // cast, as in (Format)2.
  int depth = 0;
  std::size_t end = name.size();
  for (std::size_t i = 0; i < name.size() && end == name.size(); ++i) {
    const bool opens = name[i] == '<' || name[i] == '(';
    const bool is_anonymous = name.compare(i, 11, "(anonymous ") == 0;
    if (name[i] == '(' && depth == 0 && !is_anonymous) {
      end = i;
    }
    depth += opens ? 1 : name[i] == '>' || name[i] == ')' ? -1 : 0;
  }
  name.erase(end);
  if (name.starts_with("void ")) {
    name.erase(0, 5);
  }
  for (const std::string_view scope :
       {"octavo::cuda::gpu::", "octavo::cuda::", "octavo::", "(anonymous namespace)::"}) {
    for (std::size_t at = name.find(scope); at != std::string::npos; at = name.find(scope)) {
      name.erase(at, scope.size());
    }
  }
  return name;
}

}  // namespace octavo::compiled
