#include "octavo/dtype.h"

#include <array>
#include <cctype>
#include <string>
#include <utility>

#include "octavo/error.h"

namespace octavo {
namespace {

struct Spelling {
  std::string_view name;
  DType dtype;
};

// Canonical names first; what the field writes for the same formats after them.
constexpr std::array<Spelling, 25> kSpellings = {{
    {"f32", DType::F32},         {"f16", DType::F16},       {"bf16", DType::BF16},
    {"e4m3", DType::E4M3},       {"e5m2", DType::E5M2},     {"int32", DType::Int32},
    {"int8", DType::Int8},       {"int4", DType::Int4},     {"uint8", DType::UInt8},
    {"float32", DType::F32},     {"fp32", DType::F32},      {"float", DType::F32},
    {"float16", DType::F16},     {"fp16", DType::F16},      {"half", DType::F16},
    {"bfloat16", DType::BF16},   {"fp8_e4m3", DType::E4M3}, {"float8_e4m3fn", DType::E4M3},
    {"fp8_e4m3fn", DType::E4M3}, {"fp8_e5m2", DType::E5M2}, {"float8_e5m2", DType::E5M2},
    {"i32", DType::Int32},       {"i8", DType::Int8},       {"i4", DType::Int4},
    {"u8", DType::UInt8},
}};
constexpr std::size_t kCanonicalNames = 9;

}  // namespace

int bits_per_element(DType dtype) {
  switch (dtype) {
    case DType::F32:
    case DType::Int32:
      return 32;
    case DType::F16:
    case DType::BF16:
      return 16;
    case DType::E4M3:
    case DType::E5M2:
    case DType::Int8:
    case DType::UInt8:
      return 8;
    case DType::Int4:
      return 4;
  }
  throw Error(
      ErrorCode::InvalidArgument,
      "bits_per_element: dtype " + std::to_string(static_cast<int>(dtype)) + " is no DType");
}

std::int64_t bytes_per_element(DType dtype) {
  const int bits = bits_per_element(dtype);
  if (bits % 8 != 0) {
    throw Error(ErrorCode::InvalidArgument,
                "bytes_per_element: dtype int4 has no whole bytes; it is stored as uint8, two "
                "elements a byte");
  }
  return bits / 8;
}

DType storage_dtype(DType dtype) {
  return dtype == DType::Int4 ? DType::UInt8 : dtype;
}

std::int64_t storage_elements(DType dtype, std::int64_t row_elements) {
  if (row_elements < 0) {
    throw Error(ErrorCode::InvalidArgument, "storage_elements: row_elements is " +
                                                std::to_string(row_elements) + "; it must be >= 0");
  }
  if (dtype != DType::Int4) {
    return row_elements;
  }
  if (row_elements % 2 != 0) {
    throw Error(ErrorCode::InvalidArgument, "storage_elements: row_elements is " +
                                                std::to_string(row_elements) +
                                                "; int4 needs an even number, two share a byte");
  }
  return row_elements / 2;
}

bool is_floating(DType dtype) {
  return dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16;
}

std::string_view to_string(DType dtype) {
  for (const Spelling& spelling : kSpellings) {
    if (spelling.dtype == dtype) {
      return spelling.name;
    }
  }
  return "unknown";
}

DType parse_dtype(std::string_view name) {
  std::string lower(name);
  for (char& c : lower) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  for (const Spelling& spelling : kSpellings) {
    if (spelling.name == lower) {
      return spelling.dtype;
    }
  }
  std::string legal;
  for (std::size_t i = 0; i < kCanonicalNames; ++i) {
    legal += (i == 0 ? "" : ", ") + std::string(kSpellings[i].name);
  }
  throw Error(ErrorCode::InvalidArgument,
              "parse_dtype: name '" + std::string(name) + "' is none of " + legal);
}

}  // namespace octavo
