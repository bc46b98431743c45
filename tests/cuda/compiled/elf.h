// The sections and symbols of a 64-bit little-endian ELF file, every access checked.
//
// Views into the bytes of the caller, who keeps them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace octavo::compiled {

using Bytes = std::span<const std::byte>;

/// The unsigned integer at `offset`; throws std::runtime_error where the bytes end before it does.
template <typename Integer>
Integer read_integer(Bytes bytes, std::uint64_t offset);

struct ElfSection {
  std::string name;
  std::uint32_t type = 0;
  std::uint32_t link = 0;
  std::uint32_t info = 0;
  std::uint64_t size = 0;
  Bytes data;  ///< Empty for sections that take no room in the file.
};

struct ElfSymbol {
  std::string name;
  std::uint8_t type = 0;   ///< 2: a function.
  std::uint8_t other = 0;  ///< Of the processor's ABI.
  std::uint16_t section = 0;
  std::uint64_t value = 0;
  std::uint64_t size = 0;
};

struct ElfFile {
  std::uint16_t machine = 0;
  std::uint8_t abi_version = 0;
  std::uint32_t flags = 0;
  std::vector<ElfSection> sections;
  std::vector<ElfSymbol> symbols;  ///< By their index; the first is the null symbol.
};

/// Throws std::runtime_error for what is no such file, or is damaged.
ElfFile read_elf(Bytes bytes);

}  // namespace octavo::compiled
