#include "tests/cuda/compiled/kept_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace octavo::compiled {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; in >> word;) {
    words.push_back(word);
  }
  return words;
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in) {
    throw std::runtime_error(path.string() + " cannot be read");
  }
  return text;
}

// nvcc writes <source>.compute_90a.ptx and the like.
std::vector<std::filesystem::path> files_of(const std::string& source,
                                            const std::string& extension) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(OCTAVO_KEPT_DIR)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(source + ".") && name.ends_with(extension)) {
      paths.push_back(entry.path());
    }
  }
  if (paths.empty()) {
    throw std::runtime_error("no " + source + ".*" + extension +
                             " in " OCTAVO_KEPT_DIR "; build octavo_cuda anew");
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// What `read` makes of the file's text; errors name the file.
template <typename Read>
auto read_file(const std::filesystem::path& path, Read read) {
  try {
    return read(read_text(path));
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(path.string() + ": " + error.what());
  }
}

void read_source(const std::string& source, KeptKernels& kept) {
  for (const auto& path : files_of(source, ".ptx")) {
    kept.ptx.push_back({source, read_file(path, read_ptx)});
    const std::string& compiler = kept.ptx.back().module.compiler;
    if (!kept.compiler.empty() && kept.compiler != compiler) {
      throw std::runtime_error(path.string() + " is of another compiler than others");
    }
    kept.compiler = compiler;
  }
  for (const auto& path : files_of(source, ".cubin")) {
    auto kernels = read_file(
        path, [](const std::string& text) { return read_cubin(std::as_bytes(std::span(text))); });
    std::move(kernels.begin(), kernels.end(), std::back_inserter(kept.kernels));
  }
}

}  // namespace

KeptKernels read_kept_kernels() {
  KeptKernels kept;
  for (const std::string& source : split(OCTAVO_KEPT_SOURCES)) {
    read_source(source, kept);
  }
  return kept;
}

}  // namespace octavo::compiled
