#include "tests/cuda/compiled/cubin_builder.h"

#include <initializer_list>
#include <string_view>

namespace octavo::compiled {
namespace {

class Writer {
 public:
  template <typename Integer>
  Writer& put(Integer value) {
    const auto bits = static_cast<std::uint64_t>(value);
    for (std::size_t i = 0; i < sizeof(Integer); ++i) {
      bytes_.push_back(static_cast<std::byte>(bits >> (8 * i) & 0xFFu));
    }
    return *this;
  }

  // Returns where the text begins.
  std::uint32_t put_name(std::string_view name) {
    const auto at = static_cast<std::uint32_t>(bytes_.size());
    for (const char c : name) {
      bytes_.push_back(static_cast<std::byte>(c));
    }
    bytes_.push_back(std::byte{0});
    return at;
  }

  void append(const Writer& other) {
    bytes_.insert(bytes_.end(), other.bytes_.begin(), other.bytes_.end());
  }

  std::uint64_t size() const { return bytes_.size(); }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

struct Section {
  std::string name;
  std::uint32_t type = 1;
  std::uint32_t link = 0;
  Writer data;
  std::uint64_t bytes_without_data = 0;
};

void put_attribute(Writer& info, std::uint8_t kind, std::initializer_list<std::uint32_t> values) {
  info.put<std::uint8_t>(4).put(kind).put(static_cast<std::uint16_t>(4 * values.size()));
  for (const std::uint32_t value : values) {
    info.put(value);
  }
}

// Section 1: names of sections. Then the data of all, then their table.
std::vector<std::byte> write_file(const CubinBuilder& cubin, std::vector<Section>& sections) {
  Writer table;
  Writer data;
  std::vector<std::uint32_t> names;
  for (const Section& section : sections) {
    names.push_back(sections[1].data.put_name(section.name));
  }
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const Section& section = sections[i];
    table.put(names[i]).put(section.type).put<std::uint64_t>(0).put<std::uint64_t>(0);
    table.put<std::uint64_t>(64 + data.size());
    table.put<std::uint64_t>(section.data.size() + section.bytes_without_data);
    table.put(section.link).put<std::uint32_t>(0).put<std::uint64_t>(1).put<std::uint64_t>(0);
    data.append(section.data);
  }
  const auto architecture = static_cast<std::uint32_t>(cubin.architecture);
  Writer file;
  file.put<std::uint32_t>(0x464C457F).put<std::uint8_t>(2).put<std::uint8_t>(1);
  file.put<std::uint8_t>(1).put<std::uint8_t>(0x41).put(cubin.abi_version);
  file.put<std::uint32_t>(0).put<std::uint16_t>(0).put<std::uint8_t>(0);
  file.put<std::uint16_t>(2).put<std::uint16_t>(190).put<std::uint32_t>(1);
  file.put<std::uint64_t>(0).put<std::uint64_t>(0).put<std::uint64_t>(64 + data.size());
  file.put(cubin.abi_version >= 8 ? architecture << 8 : architecture);
  file.put<std::uint16_t>(64).put<std::uint16_t>(56).put<std::uint16_t>(0);
  file.put<std::uint16_t>(64).put(static_cast<std::uint16_t>(sections.size()));
  file.put<std::uint16_t>(1);
  file.append(data);
  file.append(table);
  return file.bytes();
}

}  // namespace

void SassWriter::add(unsigned operation, std::uint64_t low, std::uint64_t high) {
  words.push_back(low | operation);
  words.push_back(high);
}

void SassWriter::add_branch(unsigned operation, std::int64_t skip, std::uint64_t bits) {
  constexpr std::uint64_t kNoSecondPredicate = std::uint64_t{7} << 23;
  auto distance = static_cast<std::uint64_t>(skip * 4);
  if (architecture >= 90) {
    bits |= (distance & 0xFFu) << 16;
    distance = static_cast<std::uint64_t>(skip * 4 >> 8);
  }
  add(operation, bits | distance << 34, kNoSecondPredicate | (distance >> 30 & 0x3FFFFu));
}

void SassWriter::branch(std::int64_t skip, std::uint64_t predicate) {
  add_branch(0x947, skip, predicate);
}

void SassWriter::call(std::int64_t skip, std::uint64_t predicate) {
  add_branch(0x944, skip, predicate);
}

void SassWriter::diverged_branch(std::int64_t skip) {
  add_branch(0x947, skip, kAlways | std::uint64_t{2} << 32);
}

std::vector<std::byte> CubinBuilder::build() const {
  std::vector<Section> sections(3);
  sections[1] = {.name = ".shstrtab", .type = 3, .data = {}};
  sections[2] = {.name = ".strtab", .type = 3, .data = {}};
  const std::uint32_t no_name = sections[2].data.put_name("");
  const std::uint32_t name = sections[2].data.put_name(kernel);
  constexpr std::uint16_t kCodeSection = 4;
  constexpr std::uint32_t kKernelSymbol = 1;
  Writer symbols;
  symbols.put(no_name).put<std::uint32_t>(0).put<std::uint64_t>(0).put<std::uint64_t>(0);
  symbols.put(name).put<std::uint8_t>(0x12).put<std::uint8_t>(0x10).put(kCodeSection);
  symbols.put<std::uint64_t>(0).put<std::uint64_t>(8 * code.size());
  symbols.put(no_name).put<std::uint8_t>(0x22).put<std::uint8_t>(0);
  symbols.put<std::uint16_t>(kCodeSection + 1).put<std::uint64_t>(32).put<std::uint64_t>(16);
  for (const std::uint64_t subroutine : subroutines) {
    symbols.put(no_name).put<std::uint8_t>(0x22).put<std::uint8_t>(0).put(kCodeSection);
    symbols.put(subroutine).put<std::uint64_t>(16);
  }
  sections.push_back({.name = ".symtab", .type = 2, .link = 2, .data = symbols});
  Section text = {.name = ".text." + kernel, .data = {}};
  for (const std::uint64_t word : code) {
    text.data.put(word);
  }
  sections.push_back(text);
  Section common = {.name = ".nv.info", .type = 0x70000000, .data = {}};
  put_attribute(common.data, 0x2F, {kKernelSymbol, registers});
  common.data.put<std::uint8_t>(2).put<std::uint8_t>(0x4C).put<std::uint16_t>(1);  // Not sized.
  put_attribute(common.data, 0x11, {kKernelSymbol, frame_bytes});
  put_attribute(common.data, 0x2F, {kKernelSymbol + 7, 123});  // Of another symbol.
  sections.push_back(common);
  Section own = {.name = ".nv.info." + kernel, .type = 0x70000000, .data = {}};
  own.data.put<std::uint8_t>(4).put<std::uint8_t>(0x34);
  own.data.put(static_cast<std::uint16_t>(4 * indirect_targets.size()));
  for (const std::uint32_t value : indirect_targets) {
    own.data.put(value);
  }
  sections.push_back(own);
  if (shared_bytes != 0) {
    sections.push_back({.name = ".nv.shared." + kernel,
                        .type = 8,
                        .data = {},
                        .bytes_without_data = shared_bytes});
  }
  return write_file(*this, sections);
}

}  // namespace octavo::compiled
