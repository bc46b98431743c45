// The phrases of start-up logs.
#include "octavo/sim/boot_log.h"

#include <algorithm>
#include <charconv>
#include <functional>

#include "json_fields.h"
#include "number_text.h"
#include "octavo/sim/input_error.h"

namespace octavo::sim {
namespace {

constexpr std::int64_t kLogBytesMax = std::int64_t{256} << 20;

/// The number that follows `phrase` in `line`, blanks, '(' and '=' between them skipped; thousands
/// may be grouped by commas.
std::optional<double> number_after(std::string_view line, std::string_view phrase) {
  const std::size_t at = line.find(phrase);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  std::size_t i = at + phrase.size();
  while (i < line.size() && (line[i] == ' ' || line[i] == '(' || line[i] == '=' || line[i] == ':' ||
                             line[i] == '\'' || line[i] == '"')) {
    ++i;
  }
  std::string digits;
  for (; i < line.size(); ++i) {
    const char c = line[i];
    const bool group = c == ',' && i + 1 < line.size() && line[i + 1] >= '0' && line[i + 1] <= '9';
    if ((c >= '0' && c <= '9') || c == '.') {
      digits += c;
    } else if (!group) {
      break;
    }
  }
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc() && end != digits.data() ? std::optional(value) : std::nullopt;
}

enum class Merge { Least, Most, Last };

/// One figure that a phrase tells.
struct Phrase {
  std::string_view text;
  std::optional<double> BootLog::*figure = nullptr;
  std::optional<std::int64_t> BootLog::*count = nullptr;
  Engine engine = Engine::Vllm;
  Merge merge = Merge::Last;
  std::string_view name;
};

using D = std::optional<double> BootLog::*;
using I = std::optional<std::int64_t> BootLog::*;

constexpr D kNoFigure = nullptr;
constexpr I kNoCount = nullptr;

// Several spellings where versions differ. Memory of several ranks: the least room counts.
constexpr Phrase kPhrases[] = {
    {"Available KV cache memory", &BootLog::kv_gib, kNoCount, Engine::Vllm, Merge::Least,
     "KV cache, GiB"},
    {"reserved for KV Cache is", &BootLog::kv_gib, kNoCount, Engine::Vllm, Merge::Least,
     "KV cache, GiB"},
    {"Model loading took", &BootLog::weights_gib, kNoCount, Engine::Vllm, Merge::Most,
     "weights, GiB"},
    {"Loading model weights took", &BootLog::weights_gib, kNoCount, Engine::Vllm, Merge::Most,
     "weights, GiB"},
    {"model weights take", &BootLog::weights_gib, kNoCount, Engine::Vllm, Merge::Most,
     "weights, GiB"},
    {"total_gpu_memory", &BootLog::total_gib, kNoCount, Engine::Vllm, Merge::Least, "total, GiB"},
    {"gpu_memory_utilization", &BootLog::utilization, kNoCount, Engine::Vllm, Merge::Last,
     "utilisation"},
    {"current --gpu-memory-utilization", &BootLog::utilization, kNoCount, Engine::Vllm, Merge::Last,
     "utilisation"},
    {"activation peak memory takes", &BootLog::activation_gib, kNoCount, Engine::Vllm, Merge::Most,
     "activation peak, GiB"},
    {"non_torch_memory takes", &BootLog::non_torch_gib, kNoCount, Engine::Vllm, Merge::Most,
     "outside torch, GiB"},
    {"Estimated CUDA graph memory", &BootLog::graph_gib, kNoCount, Engine::Vllm, Merge::Most,
     "graphs, GiB"},
    {"# GPU blocks", kNoFigure, &BootLog::blocks, Engine::Vllm, Merge::Least, "blocks"},
    {"# cuda blocks", kNoFigure, &BootLog::blocks, Engine::Vllm, Merge::Least, "blocks"},
    {"GPU KV cache size", kNoFigure, &BootLog::tokens, Engine::Vllm, Merge::Least, "tokens"},
    {"Maximum concurrency for", kNoFigure, &BootLog::max_len, Engine::Vllm, Merge::Last, "max-len"},
    {"tokens per request", &BootLog::concurrency, kNoCount, Engine::Vllm, Merge::Least,
     "concurrency"},
    {"Load weight begin. avail mem", &BootLog::free_before_gib, kNoCount, Engine::Sglang,
     Merge::Least, "free before the weights, GiB"},
    {"mem_fraction_static", &BootLog::utilization, kNoCount, Engine::Sglang, Merge::Last,
     "static fraction"},
    {"--mem-fraction-static", &BootLog::utilization, kNoCount, Engine::Sglang, Merge::Last,
     "static fraction"},
    {"mem usage", &BootLog::weights_gib, kNoCount, Engine::Sglang, Merge::Most, "weights, GiB"},
    {"#tokens", kNoFigure, &BootLog::tokens, Engine::Sglang, Merge::Least, "tokens"},
    {"max_total_num_tokens", kNoFigure, &BootLog::tokens, Engine::Sglang, Merge::Least, "tokens"},
    {"context_len", kNoFigure, &BootLog::max_len, Engine::Sglang, Merge::Last, "max-len"},
    {"max_mamba_cache_size", kNoFigure, &BootLog::state_slots, Engine::Sglang, Merge::Least,
     "state slots"},
    {"for max tokens in paged KV cache", kNoFigure, &BootLog::tokens, Engine::TensorRtLlm,
     Merge::Least, "tokens"},
    {"primary blocks", kNoFigure, &BootLog::blocks, Engine::TensorRtLlm, Merge::Least, "blocks"},
    {"Number of blocks in KV cache primary pool", kNoFigure, &BootLog::blocks, Engine::TensorRtLlm,
     Merge::Least, "blocks"},
    {"Number of tokens per block", kNoFigure, &BootLog::block_size, Engine::TensorRtLlm,
     Merge::Last, "tokens a block"},
    {"tokens per block", kNoFigure, &BootLog::block_size, Engine::TensorRtLlm, Merge::Last,
     "tokens a block"},
};

template <typename T>
void merge(std::optional<T>& known, T value, Merge how) {
  if (!known || how == Merge::Last) {
    known = value;
  } else {
    known = how == Merge::Least ? std::min(*known, value) : std::max(*known, value);
  }
}

class Reader {
 public:
  explicit Reader(const std::string& file) { log_.file = file; }

  void line(std::string_view text) {
    ++line_;
    for (const Phrase& phrase : kPhrases) {
      // A phrase of one engine may be part of another's arguments.
      if (log_.engine && !same_family(*log_.engine, phrase.engine)) {
        continue;
      }
      const std::optional<double> value = number_after(text, phrase.text);
      if (!value || (phrase.text == "tokens per block" && *value < 1)) {
        continue;
      }
      note(phrase.engine, phrase.name, *value);
      if (phrase.figure != nullptr) {
        merge(log_.*phrase.figure, *value, phrase.merge);
      } else {
        merge(log_.*phrase.count, static_cast<std::int64_t>(*value), phrase.merge);
      }
    }
    sglang_sizes(text);
    tensorrt_sizes(text);
    version(text);
  }

  BootLog finish() {
    if (log_.found.empty()) {
      throw InputError(log_.file, 0, "",
                       "holds no line of a start-up log that is known, expected one of vLLM, "
                       "SGLang or TensorRT-LLM");
    }
    return std::move(log_);
  }

 private:
  static bool same_family(Engine a, Engine b) {
    const auto vllm = [](Engine e) { return e == Engine::Vllm || e == Engine::VllmOld; };
    return a == b || (vllm(a) && vllm(b));
  }

  void note(Engine engine, std::string_view name, double value) {
    if (!log_.engine) {
      log_.engine = engine;
    }
    std::string number = decimal(value, 4);
    while (number.ends_with('0')) {
      number.pop_back();
    }
    if (number.ends_with('.')) {
      number.pop_back();
    }
    log_.found.push_back("line " + grouped(line_) + ": " + std::string(name) + " " + number);
  }

  // "Load weight end. ... avail mem=63.48 GB", and K and V apart: "K size: 27.13 GB, V size: ...".
  // What SGLang calls GB is GiB.
  void sglang_sizes(std::string_view text) {
    if (log_.engine && *log_.engine != Engine::Sglang) {
      return;
    }
    if (text.find("Load weight end") != std::string_view::npos) {
      if (const auto value = number_after(text, "avail mem")) {
        note(Engine::Sglang, "free after the weights, GiB", *value);
        merge(log_.free_after_gib, *value, Merge::Least);
      }
    }
    const auto k = number_after(text, "K size");
    const auto v = number_after(text, "V size");
    if (k && v) {
      note(Engine::Sglang, "KV cache, GiB", *k + *v);
      merge(log_.kv_gib, *k + *v, Merge::Least);
    }
    const auto conv = number_after(text, "conv_state size");
    const auto ssm = number_after(text, "ssm_state size");
    if (conv && ssm) {
      note(Engine::Sglang, "states, GiB", *conv + *ssm);
      merge(log_.state_gib, *conv + *ssm, Merge::Least);
    }
  }

  // "[MemUsageChange] Allocated 64.75 GiB for max tokens in paged KV cache (132608)."
  void tensorrt_sizes(std::string_view text) {
    if (const auto bytes = number_after(text, "Allocate ");
        bytes && text.find("bytes for k/v cache") != std::string_view::npos) {
      note(Engine::TensorRtLlm, "KV cache, GiB", *bytes / kGib);
      merge(log_.kv_gib, *bytes / kGib, Merge::Least);
    }
    if (text.find("paged KV cache") == std::string_view::npos) {
      return;
    }
    if (const auto tokens = number_after(text, "Using ")) {
      note(Engine::TensorRtLlm, "tokens", *tokens);
      merge(log_.tokens, static_cast<std::int64_t>(*tokens), Merge::Least);
    }
    if (const auto value = number_after(text, "Allocated")) {
      note(Engine::TensorRtLlm, "KV cache, GiB", *value);
      merge(log_.kv_gib, *value, Merge::Least);
    }
  }

  void version(std::string_view text) {
    for (const std::string_view phrase :
         {"vLLM API server version ", "LLM engine (v", "TensorRT-LLM version: "}) {
      const std::size_t at = text.find(phrase);
      if (at != std::string_view::npos && log_.version.empty()) {
        const std::string_view rest = text.substr(at + phrase.size());
        log_.version = rest.substr(0, rest.find_first_of(" ),\r"));
      }
    }
  }

  BootLog log_;
  std::int64_t line_ = 0;
};

// vLLM's "KV cache size" changed its meaning with 0.21.
void settle_vllm(BootLog& log) {
  if (log.engine != Engine::Vllm || log.version.empty()) {
    return;
  }
  constexpr int kNewMinor = 21;
  int major = 0;
  int minor = 0;
  const char* end = log.version.data() + log.version.size();
  const auto first = std::from_chars(log.version.data(), end, major);
  if (first.ec == std::errc() && first.ptr < end && *first.ptr == '.' &&
      std::from_chars(first.ptr + 1, end, minor).ec == std::errc() && major == 0 &&
      minor < kNewMinor) {
    log.engine = Engine::VllmOld;
  }
}

}  // namespace

BootLog parse_boot_log(std::string_view text, const std::string& file) {
  Reader reader(file);
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    reader.line(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  BootLog log = reader.finish();
  settle_vllm(log);
  return log;
}

BootLog read_boot_log(const std::string& path) {
  return parse_boot_log(read_text_file(path, kLogBytesMax), path);
}

}  // namespace octavo::sim
