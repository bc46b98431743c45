#include "gguf_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "file_reader.h"
#include "octavo/sim/input_error.h"

namespace octavo::sim {
namespace {

constexpr std::int64_t kKeyBytesMax = 65535;
constexpr std::int64_t kTextBytesMax = std::int64_t{1} << 20;
constexpr std::int64_t kKeptNumbersMax = 4096;  // a layer each
constexpr std::int64_t kElementsMax = std::int64_t{1} << 50;
constexpr std::int64_t kEntryBytesMin = 12;   // a key's length and a type
constexpr std::int64_t kTensorBytesMin = 24;  // a name's length, dimensions, type and offset

enum ValueType : std::int64_t {
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kText,
  kArray,
  kU64,
  kI64,
  kF64,
  kValueTypes
};

int scalar_bytes(std::int64_t type) {
  constexpr int kBytes[kValueTypes] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return kBytes[type];
}

struct BlockType {
  std::string_view name;
  std::int64_t elements;
  std::int64_t bytes;
};

/// By the number of the type; a type that went out of use has 0 elements.
constexpr BlockType kBlockTypes[] = {
    {"F32", 1, 4},        {"F16", 1, 2},       {"Q4_0", 32, 18},     {"Q4_1", 32, 20},
    {"", 0, 0},           {"", 0, 0},          {"Q5_0", 32, 22},     {"Q5_1", 32, 24},
    {"Q8_0", 32, 34},     {"Q8_1", 32, 36},    {"Q2_K", 256, 84},    {"Q3_K", 256, 110},
    {"Q4_K", 256, 144},   {"Q5_K", 256, 176},  {"Q6_K", 256, 210},   {"Q8_K", 256, 292},
    {"IQ2_XXS", 256, 66}, {"IQ2_XS", 256, 74}, {"IQ3_XXS", 256, 98}, {"IQ1_S", 256, 50},
    {"IQ4_NL", 32, 18},   {"IQ3_S", 256, 110}, {"IQ2_S", 256, 82},   {"IQ4_XS", 256, 136},
    {"I8", 1, 1},         {"I16", 1, 2},       {"I32", 1, 4},        {"I64", 1, 8},
    {"F64", 1, 8},        {"IQ1_M", 256, 56},  {"BF16", 1, 2},       {"", 0, 0},
    {"", 0, 0},           {"", 0, 0},          {"TQ1_0", 256, 54},   {"TQ2_0", 256, 66},
    {"", 0, 0},           {"", 0, 0},          {"", 0, 0},           {"MXFP4", 32, 17},
};

/// A scalar as a whole number; fractions are cut off, since no size is one.
std::int64_t scalar(FileReader& file, std::int64_t type, const std::string& key) {
  const int bytes = scalar_bytes(type);
  const std::uint64_t raw = file.number(bytes, key);
  switch (type) {
    case kI8:
      return static_cast<std::int8_t>(raw);
    case kI16:
      return static_cast<std::int16_t>(raw);
    case kI32:
      return static_cast<std::int32_t>(raw);
    case kF32:
    case kF64: {
      double value = 0;
      if (type == kF32) {
        const auto low = static_cast<std::uint32_t>(raw);
        float single = 0;
        std::memcpy(&single, &low, sizeof single);
        value = static_cast<double>(single);
      } else {
        std::memcpy(&value, &raw, sizeof value);
      }
      constexpr double kWhole = 1e15;
      return std::isfinite(value) && std::abs(value) < kWhole ? static_cast<std::int64_t>(value)
                                                              : 0;
    }
    default:
      return static_cast<std::int64_t>(raw);
  }
}

GgufValue read_array(FileReader& file, const std::string& key) {
  const std::int64_t type = file.count(4, kValueTypes - 1, key + " (type of the elements)");
  if (type == kArray) {
    file.fail(key, "is an array of arrays, which is not supported");
  }
  const std::int64_t smallest = type == kText ? 8 : scalar_bytes(type);
  GgufValue value;
  value.number = file.count(8, std::max<std::int64_t>(file.remaining(), 8) / smallest,
                            key + " (number of elements)");
  if (type == kText) {
    for (std::int64_t i = 0; i < value.number; ++i) {
      file.skip(file.count(8, file.remaining(), key), key);
    }
    return value;
  }
  if (value.number > kKeptNumbersMax) {
    file.skip(value.number * smallest, key);
    return value;
  }
  value.kind = GgufValue::Kind::Numbers;
  for (std::int64_t i = 0; i < value.number; ++i) {
    value.numbers.push_back(scalar(file, type, key));
  }
  return value;
}

GgufValue read_value(FileReader& file, const std::string& key) {
  const std::int64_t type = file.count(4, kValueTypes - 1, key + " (type)");
  if (type == kArray) {
    return read_array(file, key);
  }
  GgufValue value;
  if (type != kText) {
    value.kind = GgufValue::Kind::Number;
    value.number = scalar(file, type, key);
    return value;
  }
  const std::int64_t bytes = file.count(8, file.remaining(), key + " (length)");
  if (bytes > kTextBytesMax) {  // a chat template is shorter; nothing here needs more
    file.skip(bytes, key);
    return value;
  }
  value.kind = GgufValue::Kind::Text;
  value.text = file.text(bytes, key);
  return value;
}

/// A key or name as messages may show it.
std::string name_of(FileReader& file, std::string_view what) {
  std::string name = file.text(file.count(8, kKeyBytesMax, what), what);
  const bool plain =
      std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (name.empty() || !plain) {
    file.fail(what, "is no name in plain characters");
  }
  return name;
}

struct PlacedTensor {
  Tensor tensor;
  std::int64_t offset = 0;
};

PlacedTensor read_tensor(FileReader& file) {
  PlacedTensor placed;
  placed.tensor.name = name_of(file, "a tensor's name");
  const std::string& name = placed.tensor.name;
  constexpr std::int64_t kDimensionsMax = 4;
  const std::int64_t dimensions = file.count(4, kDimensionsMax, name + " (dimensions)");
  std::int64_t elements = 1;
  std::int64_t row = 1;
  for (std::int64_t i = 0; i < dimensions; ++i) {
    const std::int64_t extent = file.count(8, kElementsMax, name + " (extent)");
    row = i == 0 ? extent : row;
    if (__builtin_mul_overflow(elements, extent, &elements) || elements > kElementsMax) {
      file.fail(name, "has more elements than any file");
    }
  }
  const auto types = static_cast<std::int64_t>(std::size(kBlockTypes));
  const std::int64_t number = file.count(4, types - 1, name + " (type)");
  const BlockType& type = kBlockTypes[number];
  if (type.elements == 0) {
    file.fail(name, "is of type " + std::to_string(number) + ", which is not known");
  }
  if (row % type.elements != 0) {
    file.fail(name, "has rows of " + std::to_string(row) + " elements, expected a multiple of " +
                        std::to_string(type.elements) + " (" + std::string(type.name) + ")");
  }
  placed.tensor.type = type.name;
  placed.tensor.elements = elements;
  placed.tensor.bytes = elements / type.elements * type.bytes;
  placed.offset = file.count(8, file.size(), name + " (offset)");
  return placed;
}

void check_places(std::vector<PlacedTensor>& all, std::int64_t alignment, const FileReader& file) {
  const std::int64_t start = (file.position() + alignment - 1) / alignment * alignment;
  std::vector<const PlacedTensor*> order;
  for (const PlacedTensor& placed : all) {
    order.push_back(&placed);
  }
  std::stable_sort(order.begin(), order.end(), [](const PlacedTensor* a, const PlacedTensor* b) {
    return a->offset < b->offset;
  });
  std::int64_t end = 0;
  for (const PlacedTensor* placed : order) {
    const std::string& name = placed->tensor.name;
    if (placed->offset % alignment != 0 || placed->offset < end) {
      file.fail(name, "lies at byte " + std::to_string(placed->offset) +
                          " of the data, expected a multiple of " + std::to_string(alignment) +
                          " from " + std::to_string(end) + " on");
    }
    end = placed->offset + placed->tensor.bytes;
    if (end > file.size() - start) {
      file.fail(name, "ends at byte " + std::to_string(end) + " of the data, of which there are " +
                          std::to_string(std::max<std::int64_t>(file.size() - start, 0)));
    }
  }
}

}  // namespace

GgufFile::GgufFile(const std::string& path) : path_(path) {
  FileReader file(path);
  if (file.text(4, "the mark at the begin") != "GGUF") {
    file.fail("", "is no GGUF file");
  }
  const std::uint64_t version = file.number(4, "the version");
  if (version != 2 && version != 3) {
    file.fail("the version",
              "is " + std::to_string(version) + ", expected 2 or 3 (and little-endian numbers)");
  }
  const std::int64_t tensors =
      file.count(8, file.size() / kTensorBytesMin, "the number of tensors");
  const std::int64_t entries =
      file.count(8, file.size() / kEntryBytesMin, "the number of metadata entries");
  for (std::int64_t i = 0; i < entries; ++i) {
    const std::string key = name_of(file, "a metadata key");
    GgufValue value = read_value(file, key);
    if (!values_.emplace(key, std::move(value)).second) {
      file.fail(key, "is there twice");
    }
  }
  std::vector<PlacedTensor> all;
  for (std::int64_t i = 0; i < tensors; ++i) {
    all.push_back(read_tensor(file));
  }
  constexpr std::int64_t kAlignment = 32;
  const std::int64_t alignment = number("general.alignment").value_or(kAlignment);
  constexpr std::int64_t kAlignmentMax = std::int64_t{1} << 20;
  if (alignment < 1 || alignment > kAlignmentMax) {
    file.fail("general.alignment", "is " + std::to_string(alignment) + ", expected 1 to " +
                                       std::to_string(kAlignmentMax));
  }
  check_places(all, alignment, file);
  for (PlacedTensor& placed : all) {
    tensors_.push_back(std::move(placed.tensor));
  }
}

const GgufValue* GgufFile::find(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

std::optional<std::string> GgufFile::text(const std::string& key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (value->kind != GgufValue::Kind::Text) {
    fail(key, "is no text, expected one");
  }
  return value->text;
}

std::optional<std::int64_t> GgufFile::number(const std::string& key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) {
    return std::nullopt;
  }
  std::int64_t number = value->number;
  if (value->kind == GgufValue::Kind::Numbers && !value->numbers.empty()) {
    const auto& all = value->numbers;
    if (std::count(all.begin(), all.end(), all[0]) != static_cast<std::ptrdiff_t>(all.size())) {
      fail(key, "differs from layer to layer, which is not supported for this architecture");
    }
    number = all[0];
  } else if (value->kind != GgufValue::Kind::Number) {
    fail(key, "is no number, expected one");
  }
  if (number < 0) {
    fail(key, "is " + std::to_string(number) + ", expected a number that is not negative");
  }
  return number;
}

std::vector<std::int64_t> GgufFile::numbers(const std::string& key, std::int64_t layers) const {
  const GgufValue* value = find(key);
  if (value == nullptr) {
    return {};
  }
  if (value->kind == GgufValue::Kind::Number) {
    return std::vector<std::int64_t>(static_cast<std::size_t>(layers), number(key).value());
  }
  if (value->kind != GgufValue::Kind::Numbers ||
      static_cast<std::int64_t>(value->numbers.size()) != layers) {
    fail(key, "has " + std::to_string(value->number) + " entries, expected one of " +
                  std::to_string(layers) + " layers");
  }
  for (const std::int64_t one : value->numbers) {
    if (one < 0) {
      fail(key, "has the entry " + std::to_string(one) + ", expected none below 0");
    }
  }
  return value->numbers;
}

std::optional<std::int64_t> GgufFile::length(const std::string& key) const {
  const GgufValue* value = find(key);
  if (value == nullptr || value->kind == GgufValue::Kind::Number ||
      value->kind == GgufValue::Kind::Text) {
    return std::nullopt;
  }
  return value->number;
}

void GgufFile::fail(const std::string& key, const std::string& what) const {
  throw InputError(path_, 0, key, what);
}

}  // namespace octavo::sim
