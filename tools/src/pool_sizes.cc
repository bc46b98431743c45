#include "pool_sizes.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>

#include "command.h"
#include "validate.h"

namespace octavo::tools {
namespace {

[[noreturn]] void refuse_size(std::string_view name,
                              std::string_view text,
                              const std::string& what) {
  throw UsageError(std::string(name) + ": '" + std::string(text) + "' " + what);
}

double parse_number(std::string_view name, std::string_view text, const std::string& what) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (rest != end || error != std::errc() || !std::isfinite(value)) {
    refuse_size(name, text, what);
  }
  return value;
}

void for_each_element(std::string_view name,
                      std::string_view text,
                      const std::function<void(std::string_view)>& body) {
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end == begin) {
      refuse_size(name, text, "has an empty element");
    }
    body(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

}  // namespace

void PoolSizes::parse_blocks(std::string_view name, std::string_view text) {
  for_each_element(name, text, [&](std::string_view element) {
    if (element.find('.') == std::string_view::npos) {
      sizes_.push_back({Unit::Blocks, 0, parse_integer(name, element, 1, kInt32Max)});
      return;
    }
    const std::string expected = "is no share of the distinct blocks in (0, 1]";
    const double share = parse_number(name, element, expected);
    if (!(share > 0 && share <= 1)) {
      refuse_size(name, element, expected);
    }
    sizes_.push_back({Unit::Share, share, 0});
  });
}

void PoolSizes::parse_tokens(std::string_view name, std::string_view text) {
  for_each_element(name, text, [&](std::string_view element) {
    const std::string expected = "is no number of tokens such as 3000000, 3M or 1.5G";
    std::string_view digits = element;
    double factor = 1;
    for (const auto& [suffix, value] :
         {std::pair{'K', 1e3}, std::pair{'M', 1e6}, std::pair{'G', 1e9}}) {
      if (digits.ends_with(suffix)) {
        digits.remove_suffix(1);
        factor = value;
        break;
      }
    }
    const double tokens = std::floor(parse_number(name, digits, expected) * factor + 1e-6);
    if (!(tokens >= 1 && tokens <= 1e15)) {
      refuse_size(name, element, expected);
    }
    sizes_.push_back({Unit::Tokens, 0, static_cast<std::int64_t>(tokens)});
  });
}

bool PoolSizes::needs_distinct() const {
  return std::any_of(sizes_.begin(), sizes_.end(),
                     [](const Size& size) { return size.unit == Unit::Share; });
}

std::vector<std::int64_t> PoolSizes::blocks(std::int64_t block_size,
                                            std::int64_t distinct_blocks) const {
  std::vector<std::int64_t> blocks;
  for (const Size& size : sizes_) {
    std::int64_t count = size.count;
    if (size.unit == Unit::Share) {
      count = static_cast<std::int64_t>(size.share * static_cast<double>(distinct_blocks));
    } else if (size.unit == Unit::Tokens) {
      count = size.count / block_size;
    }
    if (count > kInt32Max) {
      throw UsageError("--tokens: " + std::to_string(size.count) + " are more than " +
                       std::to_string(kInt32Max) + " blocks");
    }
    blocks.push_back(std::max<std::int64_t>(count, 1));
  }
  return blocks;
}

void PoolSizes::add_options(CLI::App& command,
                            const std::string& name,
                            const std::string& description) {
  const auto add = [&](const std::string& option, const std::string& text, auto parse) {
    command
        .add_option(
            option,
            [this, option, parse](const CLI::results_t& texts) {
              for (const std::string& each : texts) {
                (this->*parse)(option, each);
              }
              return true;
            },
            text)
        ->type_name("X[,X...]")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  };
  add(name, description, &PoolSizes::parse_blocks);
  add("--tokens", "The same in tokens: 3000000, 3M", &PoolSizes::parse_tokens);
}

}  // namespace octavo::tools
