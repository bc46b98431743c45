#include "safetensors_file.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "file_reader.h"
#include "json_fields.h"
#include "octavo/sim/input_error.h"

namespace octavo::sim {
namespace {

constexpr std::int64_t kHeaderBytesMax = 100'000'000;
constexpr std::int64_t kIndexBytesMax = 100'000'000;
constexpr std::int64_t kOffsetMax = std::int64_t{1} << 50;

/// Bits of an element; 0 for a type that is not known.
std::int64_t type_bits(std::string_view type) {
  struct Known {
    std::string_view type;
    std::int64_t bits;
  };
  static constexpr Known kTypes[] = {
      {"BOOL", 8},    {"U8", 8},   {"I8", 8},      {"F8_E4M3", 8}, {"F8_E5M2", 8},
      {"F8_E8M0", 8}, {"I16", 16}, {"U16", 16},    {"F16", 16},    {"BF16", 16},
      {"I32", 32},    {"U32", 32}, {"F32", 32},    {"I64", 64},    {"U64", 64},
      {"F64", 64},    {"F4", 4},   {"F6_E2M3", 6}, {"F6_E3M2", 6},
  };
  for (const Known& known : kTypes) {
    if (known.type == type) {
      return known.bits;
    }
  }
  return 0;
}

struct Placed {
  Tensor tensor;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

std::int64_t elements_of(const JsonFields& entry) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : entry.integers("shape", 0, kOffsetMax)) {
    if (__builtin_mul_overflow(elements, extent, &elements) || elements > kOffsetMax) {
      entry.fail("shape", "has more elements than any file");
    }
  }
  return elements;
}

Placed read_entry(const JsonFields& entry, const std::string& name) {
  Placed placed;
  placed.tensor.name = name;
  placed.tensor.type = entry.string("dtype");
  const std::int64_t bits = type_bits(placed.tensor.type);
  if (bits == 0) {
    entry.fail("dtype", "is " + placed.tensor.type + ", which is not known");
  }
  placed.tensor.elements = elements_of(entry);
  const auto offsets = entry.integers("data_offsets", 0, kOffsetMax);
  if (offsets.size() != 2 || offsets[0] > offsets[1]) {
    entry.fail("data_offsets", "is no pair of a begin and an end behind it");
  }
  placed.begin = offsets[0];
  placed.end = offsets[1];
  placed.tensor.bytes = placed.end - placed.begin;
  if (placed.tensor.elements * bits / 8 != placed.tensor.bytes) {
    entry.fail("data_offsets",
               "span " + std::to_string(placed.tensor.bytes) + " bytes, expected those of " +
                   std::to_string(placed.tensor.elements) + " elements of " + placed.tensor.type);
  }
  return placed;
}

void check_places(const std::vector<Placed>& all, std::int64_t data_bytes, const FileReader& file) {
  std::int64_t end = 0;
  for (const Placed& placed : all) {
    if (placed.begin != end) {
      file.fail(placed.tensor.name, "begins at byte " + std::to_string(placed.begin) +
                                        " of the data, expected " + std::to_string(end) +
                                        ": tensors follow each other");
    }
    end = placed.end;
  }
  if (end != data_bytes) {
    file.fail("", "holds " + std::to_string(data_bytes) + " bytes of data, expected " +
                      std::to_string(end) + " as its header says");
  }
}

}  // namespace

std::vector<Tensor> read_safetensors(const std::string& path) {
  FileReader file(path);
  const std::int64_t length = file.count(8, kHeaderBytesMax, "the length of the header");
  const nlohmann::json document = parse_json_object(file.text(length, "the header"), path);
  const JsonFields header(document, path);
  std::vector<Placed> all;
  for (const std::string& name : header.names()) {
    if (name != "__metadata__") {
      all.push_back(read_entry(header.object(name), name));
    }
  }
  std::sort(all.begin(), all.end(), [](const Placed& a, const Placed& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  check_places(all, file.remaining(), file);
  std::vector<Tensor> tensors;
  for (Placed& placed : all) {
    tensors.push_back(std::move(placed.tensor));
  }
  return tensors;
}

std::vector<Tensor> read_safetensors_index(const std::string& path) {
  const nlohmann::json document = parse_json_object(read_text_file(path, kIndexBytesMax), path);
  const JsonFields outer(document, path);
  const JsonFields map = outer.object("weight_map");
  std::map<std::string, std::set<std::string>> files;
  for (const std::string& tensor : map.names()) {
    const std::string file = map.string(tensor);
    if (file.empty() || file.find('/') != std::string::npos) {
      map.fail(tensor, "is in \"" + file + "\", expected a file beside the index");
    }
    files[file].insert(tensor);
  }
  std::vector<Tensor> all;
  for (auto& [file, names] : files) {
    const auto whole = std::filesystem::path(path).parent_path() / file;
    for (Tensor& tensor : read_safetensors(whole.string())) {
      if (names.erase(tensor.name) > 0) {
        all.push_back(std::move(tensor));
      }
    }
    if (!names.empty()) {
      throw InputError(whole.string(), 0, *names.begin(), "is missing, but the index names it");
    }
  }
  return all;
}

}  // namespace octavo::sim
