#include "tests/cuda/simulated_gpu/device/machine_runner.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>

namespace octavo::simulated_gpu {
namespace {

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw std::runtime_error("MachineRunner: cannot read " + path);
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

/// "append.compute_80.ptx" is of an architecture; "conv.ptx" is all that there is of its source.
bool suits(std::string_view file, int capability) {
  const std::size_t at = file.find(".compute_");
  return file.ends_with(".ptx") &&
         (at == std::string_view::npos ||
          file.substr(at) == ".compute_" + std::to_string(capability) + ".ptx");
}

/// A driver takes PTX of its GPU's architecture and of those before.
bool is_for(std::string_view text, int capability) {
  constexpr std::string_view kTarget = ".target sm_";
  const std::size_t at = text.find(kTarget);
  return at != std::string_view::npos &&
         text.substr(at + kTarget.size(), 2) <= std::to_string(capability);
}

/// Calls `take` with the name of every kernel of a PTX text.
template <class Take>
void for_each_kernel(std::string_view text, const Take& take) {
  constexpr std::string_view kEntry = ".entry ";
  for (std::size_t at = text.find(kEntry); at != std::string_view::npos;
       at = text.find(kEntry, at + 1)) {
    const std::size_t begin = at + kEntry.size();
    take(std::string(text.substr(begin, text.find('(', begin) - begin)));
  }
}

}  // namespace

MachineRunner::MachineRunner(const std::string& folder, int capability) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (!suits(entry.path().filename().string(), capability)) {
      continue;
    }
    if (const std::string text = read(path); is_for(text, capability)) {
      for_each_kernel(text, [&](const std::string& name) { files_[name] = path; });
    }
  }
  if (files_.empty()) {
    throw std::runtime_error("MachineRunner: no kernel in the PTX files of " + folder);
  }
}

const Kernel* MachineRunner::load(const std::string& name) {
  const auto found = files_.find(name);
  if (found == files_.end()) {
    return nullptr;
  }
  if (const std::string path = found->second; !path.empty()) {
    machine_.load(read(path), path);
    for (auto& [kernel, file] : files_) {
      if (file == path) {
        file.clear();
      }
    }
  }
  return machine_.find(name);
}

std::vector<std::string> MachineRunner::names() const {
  std::vector<std::string> names;
  for (const auto& [name, file] : files_) {
    names.push_back(name);
  }
  return names;
}

const KernelInterface* MachineRunner::find(const std::string& name) {
  const Kernel* const kernel = load(name);
  return kernel == nullptr ? nullptr : &Machine::interface_of(*kernel);
}

void MachineRunner::run(const std::string& name,
                        const LaunchShape& shape,
                        std::span<const std::byte> parameters,
                        const GpuMemory& memory,
                        std::uint64_t seed) {
  machine_.run(*load(name), shape, parameters, memory, seed);
}

std::shared_ptr<MachineRunner> built_kernels(int capability) {
  static std::map<int, std::shared_ptr<MachineRunner>> made;
  std::shared_ptr<MachineRunner>& runner = made[capability];
  if (runner == nullptr) {
    runner = std::make_shared<MachineRunner>(OCTAVO_KEPT_DIR, capability);
  }
  return runner;
}

}  // namespace octavo::simulated_gpu
