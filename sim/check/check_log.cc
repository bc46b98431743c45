// Operation logs as lines of JSON: writing them, and reading them with every mistake named.

#include "octavo/sim/check/check_log.h"

#include <array>
#include <limits>
#include <sstream>
#include <utility>

#include "octavo/error.h"
#include "octavo/kv_cache.h"
#include "octavo/sim/input_error.h"
#include <nlohmann/json.hpp>

namespace octavo::sim {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, kCheckVerbs> kVerbs{
    "admit",     "step",       "prepare", "rewind",  "retire", "evict", "abandon", "reserve",
    "namespace", "invalidate", "fill",    "release", "reset",  "wrong", "make",    "verify"};
constexpr std::int64_t kInt32Max = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kAfterMax = 1'000'000;

// How a verb's `number` is called in a log, and its largest value; nothing when it has none.
struct NumberField {
  const char* name = nullptr;
  std::int64_t most = 0;
};

NumberField number_field(CheckVerb verb) {
  switch (verb) {
    case CheckVerb::Rewind:
    case CheckVerb::Retire:
      return {"back", kInt32Max};
    case CheckVerb::Reserve:
      return {"count", kInt32Max};
    case CheckVerb::Namespace:
    case CheckVerb::Invalidate:
      return {"id", 3};
    case CheckVerb::Fill:
      return {"id", 1000};
    case CheckVerb::Wrong:
      return {"id", 9};
    default:
      return {};
  }
}

bool names_slot(CheckVerb verb) {
  switch (verb) {
    case CheckVerb::Step:
    case CheckVerb::Prepare:
    case CheckVerb::Invalidate:
    case CheckVerb::Release:
    case CheckVerb::Reset:
    case CheckVerb::Make:
    case CheckVerb::Verify:
      return false;
    default:
      return true;
  }
}

bool has_batch(CheckVerb verb) {
  return verb == CheckVerb::Step || verb == CheckVerb::Prepare;
}

Json to_json(const CheckSetup& setup) {
  Json rows = Json::array();
  for (const CheckRow& row : setup.rows) {
    rows.push_back(to_string(row));
  }
  return {{"octavo_check_ops", 1},
          {"rows", rows},
          {"kv_dtype", octavo::to_string(setup.kv_dtype)},
          {"kv_heads", setup.kv_heads},
          {"head_dim", setup.head_dim},
          {"slots", setup.slots},
          {"max_tokens", setup.max_tokens},
          {"max_step", setup.max_step},
          {"blocks", setup.blocks},
          {"block_size", setup.block_size},
          {"window", setup.window},
          {"seed", setup.seed}};
}

Json to_json(const CheckOp& op) {
  Json json = {{"op", to_string(op.verb)}};
  if (names_slot(op.verb)) {
    json["slot"] = op.slot;
  }
  if (const NumberField number = number_field(op.verb); number.name != nullptr) {
    json[number.name] = op.number;
  }
  if (op.verb == CheckVerb::Admit) {
    json["prompt"] = Json::array();
    for (const TokenRun& run : op.prompt) {
      json["prompt"].push_back({run.first, run.count});
    }
    if (op.addressable >= 0) {
      json["addressable"] = op.addressable;
    }
  }
  if (has_batch(op.verb)) {
    json["batch"] = Json::array();
    for (const CheckStepEntry& entry : op.batch) {
      json["batch"].push_back({entry.slot, entry.count, entry.token, entry.back});
    }
  }
  if (!op.boundaries.empty()) {
    json["boundaries"] = op.boundaries;
  }
  for (const auto& [name, value] :
       {std::pair{"device_after", op.device_after}, std::pair{"alloc_after", op.alloc_after},
        std::pair{"host_alloc_after", op.host_alloc_after}}) {
    if (value >= 0) {
      json[name] = value;
    }
  }
  return json;
}

// One line of a log, taken apart field by field.
class Line {
 public:
  Line(const std::string& file, std::int64_t number, const std::string& text)
      : file_(file), number_(number) {
    json_ = Json::parse(text, nullptr, false);
    if (json_.is_discarded()) {
      refuse("", "is not JSON (" + shown(text) + "), expected an object");
    }
    if (!json_.is_object()) {
      refuse("", "is no object (" + shown(text) + "), expected an object");
    }
  }

  [[noreturn]] void refuse(std::string_view field, const std::string& what) const {
    throw InputError(file_, number_, field, what);
  }

  bool has(const char* field) const { return json_.contains(field); }

  std::int64_t integer(const std::string& field,
                       std::int64_t least,
                       std::int64_t most,
                       std::optional<std::int64_t> missing = std::nullopt) {
    const auto at = json_.find(field);
    if (at == json_.end()) {
      if (missing) {
        return *missing;
      }
      refuse(field, "missing, expected " + range(least, most));
    }
    const std::int64_t value = integer_of(*at, field, least, most);
    json_.erase(at);
    return value;
  }

  std::string text(const std::string& field) {
    const auto at = json_.find(field);
    if (at == json_.end() || !at->is_string()) {
      refuse(field, at == json_.end() ? "missing, expected a string"
                                      : "is " + shown(at->dump()) + ", expected a string");
    }
    std::string value = at->get<std::string>();
    json_.erase(at);
    return value;
  }

  // An array whose elements `element` takes, with the field's name and index for messages.
  void array(const std::string& field,
             bool required,
             const std::function<void(const Json&, const std::string&)>& element) {
    const auto at = json_.find(field);
    if (at == json_.end()) {
      if (required) {
        refuse(field, "missing, expected an array");
      }
      return;
    }
    if (!at->is_array()) {
      refuse(field, "is " + shown(at->dump()) + ", expected an array");
    }
    for (std::size_t i = 0; i < at->size(); ++i) {
      element((*at)[i], field + "[" + std::to_string(i) + "]");
    }
    json_.erase(at);
  }

  // An array of exactly so many integers, each in its range.
  template <std::size_t kCount>
  std::array<std::int32_t, kCount> numbers(
      const Json& json,
      const std::string& field,
      const std::array<std::pair<std::int64_t, std::int64_t>, kCount>& ranges) const {
    if (!json.is_array() || json.size() != kCount) {
      refuse(field, "is " + shown(json.dump()) + ", expected an array of " +
                        std::to_string(kCount) + " integers");
    }
    std::array<std::int32_t, kCount> values{};
    for (std::size_t i = 0; i < kCount; ++i) {
      values[i] = static_cast<std::int32_t>(integer_of(
          json[i], field + "[" + std::to_string(i) + "]", ranges[i].first, ranges[i].second));
    }
    return values;
  }

  std::int64_t integer_of(const Json& json,
                          const std::string& field,
                          std::int64_t least,
                          std::int64_t most) const {
    const bool is_large =
        json.is_number_unsigned() && json.get<std::uint64_t>() > static_cast<std::uint64_t>(most);
    if (!json.is_number_integer() || is_large || json.get<std::int64_t>() < least) {
      refuse(field, "is " + shown(json.dump()) + ", expected " + range(least, most));
    }
    return json.get<std::int64_t>();
  }

  // Everything must have been taken.
  void finish() const {
    if (!json_.empty()) {
      refuse(json_.begin().key(), "is not known here");
    }
  }

 private:
  static std::string range(std::int64_t least, std::int64_t most) {
    return "an integer in [" + std::to_string(least) + ", " + std::to_string(most) + "]";
  }

  static std::string shown(const std::string& text) {
    std::string printable;
    for (const char c : text.substr(0, 40)) {
      printable += c >= ' ' && c <= '~' ? c : '?';
    }
    return printable + (text.size() > 40 ? "..." : "");
  }

  const std::string& file_;
  std::int64_t number_;
  Json json_;
};

CheckSetup read_setup(Line& line) {
  CheckSetup setup;
  line.integer("octavo_check_ops", 1, 1);
  setup.rows.clear();
  line.array("rows", true, [&](const Json& json, const std::string& field) {
    try {
      setup.rows.push_back(
          parse_check_row(json.is_string() ? json.get<std::string>() : json.dump()));
    } catch (const InputError&) {
      throw;
    } catch (const Error& error) {
      line.refuse(field, error.what());
    }
  });
  const std::string dtype = line.text("kv_dtype");
  try {
    setup.kv_dtype = parse_dtype(dtype);
  } catch (const Error& error) {
    line.refuse("kv_dtype", error.what());
  }
  setup.kv_heads = static_cast<int>(line.integer("kv_heads", 1, 64));
  setup.head_dim = static_cast<int>(line.integer("head_dim", 8, 1024));
  setup.slots = static_cast<int>(line.integer("slots", 1, 64));
  setup.max_tokens = line.integer("max_tokens", 1, 1 << 16);
  setup.max_step = line.integer("max_step", 1, 1 << 16);
  setup.blocks = line.integer("blocks", 1, 1 << 20);
  setup.block_size = static_cast<int>(line.integer("block_size", 1, 4096));
  setup.window = static_cast<int>(line.integer("window", 1, 1 << 16));
  setup.seed =
      static_cast<std::uint64_t>(line.integer("seed", 0, std::numeric_limits<std::int64_t>::max()));
  line.finish();
  if (setup.head_dim % 8 != 0) {
    line.refuse("head_dim", "is " + std::to_string(setup.head_dim) + ", expected a multiple of 8");
  }
  try {
    (void)KVCache::footprint(setup.config(nullptr), setup.specs());
  } catch (const Error& error) {
    line.refuse("", std::string("describes a cache that cannot be made: ") + error.what());
  }
  return setup;
}

CheckVerb read_verb(Line& line) {
  const std::string name = line.text("op");
  std::string known;
  for (std::size_t i = 0; i < kVerbs.size(); ++i) {
    if (kVerbs[i] == name) {
      return static_cast<CheckVerb>(i);
    }
    known += (i == 0 ? "" : ", ") + std::string(kVerbs[i]);
  }
  line.refuse("op", "is \"" + name.substr(0, 40) + "\", expected one of " + known);
}

CheckOp read_op(Line& line, const CheckSetup& setup) {
  CheckOp op;
  op.verb = read_verb(line);
  const std::int64_t last_slot = setup.slots - 1;
  if (names_slot(op.verb)) {
    op.slot = static_cast<int>(line.integer("slot", 0, last_slot));
  }
  if (const NumberField number = number_field(op.verb); number.name != nullptr) {
    op.number = line.integer(number.name, 0, number.most);
  }
  if (op.verb == CheckVerb::Admit) {
    line.array("prompt", true, [&](const Json& json, const std::string& field) {
      const auto [first, count] =
          line.numbers<2>(json, field, {{{0, kInt32Max / 2 * 2 - 1}, {1, 1 << 20}}});
      if (first > kInt32Max - count) {
        line.refuse(field, "runs beyond the largest token id, " + std::to_string(kInt32Max));
      }
      op.prompt.push_back({first, count});
    });
    op.addressable = line.integer("addressable", 0, kInt32Max, -1);
  }
  if (has_batch(op.verb)) {
    line.array("batch", true, [&](const Json& json, const std::string& field) {
      const auto [slot, count, token, back] = line.numbers<4>(
          json, field,
          {{{0, last_slot}, {1, 1 << 20}, {0, kInt32Max - (1 << 20)}, {0, kInt32Max}}});
      op.batch.push_back({slot, count, token, back});
    });
  }
  if (op.verb == CheckVerb::Retire) {
    line.array("boundaries", false, [&](const Json& json, const std::string& field) {
      op.boundaries.push_back(line.integer_of(json, field, 0, kInt32Max));
    });
  }
  op.device_after = line.integer("device_after", 0, kAfterMax, -1);
  op.alloc_after = line.integer("alloc_after", 0, kAfterMax, -1);
  op.host_alloc_after = line.integer("host_alloc_after", 0, kAfterMax, -1);
  line.finish();
  return op;
}

}  // namespace

std::string_view to_string(CheckVerb verb) noexcept {
  return kVerbs[static_cast<std::size_t>(verb)];
}

void write_check_log(const CheckLog& log, std::ostream& out) {
  out << to_json(log.setup).dump() << '\n';
  for (const CheckOp& op : log.ops) {
    out << to_json(op).dump() << '\n';
  }
}

CheckLog read_check_log(std::istream& in, const std::string& file) {
  CheckLog log;
  std::string text;
  std::int64_t number = 0;
  while (std::getline(in, text)) {
    ++number;
    if (text.find_first_not_of(" \t\r") == std::string::npos) {
      continue;
    }
    Line line(file, number, text);
    if (log.setup.rows.empty()) {
      log.setup = read_setup(line);
    } else {
      log.ops.push_back(read_op(line, log.setup));
    }
  }
  if (log.setup.rows.empty()) {
    throw InputError(file, 0, "", "is empty, expected a header and operations");
  }
  return log;
}

}  // namespace octavo::sim
