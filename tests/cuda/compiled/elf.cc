#include "tests/cuda/compiled/elf.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>

namespace octavo::compiled {
namespace {

constexpr std::uint64_t kHeaderBytes = 64;
constexpr std::uint64_t kSectionBytes = 64;
constexpr std::uint64_t kSymbolBytes = 24;
constexpr std::uint32_t kSymbolTable = 2;
constexpr std::uint32_t kNoBits = 8;

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error("ELF: " + what);
}

Bytes part_of(Bytes bytes, std::uint64_t offset, std::uint64_t size, std::string_view what) {
  if (offset > bytes.size() || size > bytes.size() - offset) {
    fail(std::string(what) + " lies beyond the end of the file");
  }
  return bytes.subspan(offset, size);
}

std::string string_at(Bytes table, std::uint64_t offset) {
  std::string text;
  for (std::uint64_t at = offset; at < table.size(); ++at) {
    if (table[at] == std::byte{0}) {
      return text;
    }
    text += static_cast<char>(table[at]);
  }
  fail("a name lies beyond the end of its table");
}

void read_sections(Bytes bytes, ElfFile& file) {
  const auto offset = read_integer<std::uint64_t>(bytes, 40);
  const auto entry = read_integer<std::uint16_t>(bytes, 58);
  const auto count = read_integer<std::uint16_t>(bytes, 60);
  const auto names = read_integer<std::uint16_t>(bytes, 62);
  if (count == 0) {
    return;
  }
  if (entry != kSectionBytes || names >= count) {
    fail("a damaged header");
  }
  const Bytes headers = part_of(bytes, offset, count * kSectionBytes, "the section table");
  std::vector<std::uint32_t> name_offsets;
  for (std::uint64_t at = 0; at < headers.size(); at += kSectionBytes) {
    ElfSection section;
    name_offsets.push_back(read_integer<std::uint32_t>(headers, at));
    section.type = read_integer<std::uint32_t>(headers, at + 4);
    const auto from = read_integer<std::uint64_t>(headers, at + 24);
    section.size = read_integer<std::uint64_t>(headers, at + 32);
    section.link = read_integer<std::uint32_t>(headers, at + 40);
    section.info = read_integer<std::uint32_t>(headers, at + 44);
    if (section.type != kNoBits) {
      section.data = part_of(bytes, from, section.size, "a section");
    }
    file.sections.push_back(std::move(section));
  }
  const Bytes table = file.sections[names].data;
  for (std::size_t i = 0; i < file.sections.size(); ++i) {
    file.sections[i].name = string_at(table, name_offsets[i]);
  }
}

void read_symbols(ElfFile& file) {
  const auto table =
      std::find_if(file.sections.begin(), file.sections.end(),
                   [](const ElfSection& section) { return section.type == kSymbolTable; });
  if (table == file.sections.end()) {
    return;
  }
  if (table->link >= file.sections.size() || table->size % kSymbolBytes != 0) {
    fail("a damaged symbol table");
  }
  const Bytes names = file.sections[table->link].data;
  for (std::uint64_t at = 0; at < table->size; at += kSymbolBytes) {
    ElfSymbol symbol;
    symbol.name = string_at(names, read_integer<std::uint32_t>(table->data, at));
    symbol.type = read_integer<std::uint8_t>(table->data, at + 4) & 0xFu;
    symbol.other = read_integer<std::uint8_t>(table->data, at + 5);
    symbol.section = read_integer<std::uint16_t>(table->data, at + 6);
    symbol.value = read_integer<std::uint64_t>(table->data, at + 8);
    symbol.size = read_integer<std::uint64_t>(table->data, at + 16);
    file.symbols.push_back(std::move(symbol));
  }
}

}  // namespace

template <typename Integer>
Integer read_integer(Bytes bytes, std::uint64_t offset) {
  if (offset > bytes.size() || sizeof(Integer) > bytes.size() - offset) {
    fail("a number lies beyond the end of its section");
  }
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(Integer); ++i) {
    value |= std::to_integer<std::uint64_t>(bytes[offset + i]) << (8 * i);
  }
  return static_cast<Integer>(value);
}
template std::uint8_t read_integer(Bytes, std::uint64_t);
template std::uint16_t read_integer(Bytes, std::uint64_t);
template std::uint32_t read_integer(Bytes, std::uint64_t);
template std::uint64_t read_integer(Bytes, std::uint64_t);

ElfFile read_elf(Bytes bytes) {
  constexpr std::array kMagic = {std::byte{0x7F}, std::byte{'E'}, std::byte{'L'}, std::byte{'F'},
                                 std::byte{2},    std::byte{1}};  // 64 bits, little-endian.
  if (bytes.size() < kHeaderBytes || !std::equal(kMagic.begin(), kMagic.end(), bytes.begin())) {
    fail("not a 64-bit little-endian ELF file");
  }
  ElfFile file;
  file.abi_version = read_integer<std::uint8_t>(bytes, 8);
  file.machine = read_integer<std::uint16_t>(bytes, 18);
  file.flags = read_integer<std::uint32_t>(bytes, 48);
  read_sections(bytes, file);
  read_symbols(file);
  return file;
}

}  // namespace octavo::compiled
