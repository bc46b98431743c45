// vLLM V1: layers of one class form groups of equal size, and every group draws blocks of one page
// size from one pool of ids.
//
//     group size  = min over classes of their layers, unless max < 1.5 min: then the max
//     page        = block x bytes per token, made equal over the classes by larger blocks of the
//                   smaller ones; with states, the block is first raised until a page holds a state
//     blocks      = floor(budget / (page x group size))
//     concurrency = blocks / blocks per request, summed over the groups
//
// Layers that are all alike in kind and reach (heads may differ) are one group of their own sizes.
#include <algorithm>

#include "checked.h"
#include "engine_sizing.h"
#include "number_text.h"

namespace octavo::sim {
namespace {

// Attention kernels take blocks in multiples of this many tokens when states raise them.
constexpr std::int64_t kRaisedMultiple = 16;

bool has_states(const SizingRequest& request) {
  return std::any_of(request.classes.begin(), request.classes.end(),
                     [](const LayerClass& l) { return l.kind == CacheKind::State; });
}

/// All layers have the same reach, so that one block table serves them whatever their heads.
bool uniform(const SizingRequest& request) {
  const LayerClass& first = request.classes.front();
  return std::all_of(request.classes.begin(), request.classes.end(), [&](const LayerClass& l) {
    return l.kind == first.kind && l.window == first.window && l.kind != CacheKind::State &&
           l.kind != CacheKind::Cross;
  });
}

std::int64_t largest_state(const SizingRequest& request) {
  std::int64_t bytes = 0;
  for (const LayerClass& layers : request.classes) {
    bytes = std::max(bytes, layers.state_bytes);
  }
  return bytes;
}

/// The block of the attention class that takes the most bytes a token.
std::int64_t raised_block(const SizingRequest& request, std::int64_t token_bytes) {
  if (!has_states(request) || token_bytes == 0) {
    return request.block_size;
  }
  const std::int64_t needed = ceil_div(largest_state(request), token_bytes);
  const std::int64_t raised = ceil_div(needed, kRaisedMultiple) * kRaisedMultiple;
  return std::max(request.block_size, raised);
}

std::int64_t blocks_of_request(const LayerClass& layers,
                               const SizingRequest& request,
                               std::int64_t block,
                               std::int64_t attention_block) {
  const std::int64_t length = request.max_len;
  switch (layers.kind) {
    case CacheKind::State:
      switch (request.state_prefix) {
        case StatePrefix::None:
          return 1;
        case StatePrefix::Align:
          return 2;
        case StatePrefix::All:
          return attention_block > 0 ? ceil_div(length, attention_block) : 1;
      }
      return 1;
    case CacheKind::Chunked:
      return ceil_div(std::min(layers.window + request.step_tokens, length), block);
    case CacheKind::Cross:
      return ceil_div(layers.encoder_len, block);
    default:
      break;
  }
  if (layers.window > 0) {
    return ceil_div(std::min(layers.window - 1 + request.step_tokens, length), block) + 1;
  }
  return ceil_div(length, checked_mul(block, request.dcp, "a block over its ranks"));
}

/// Tokens that a request of max_len holds at most in one group.
std::int64_t tokens_held(const LayerClass& layers, const SizingRequest& request) {
  if (layers.kind == CacheKind::Cross) {
    return layers.encoder_len;
  }
  if (layers.kind == CacheKind::Chunked) {
    return std::min(layers.window + request.step_tokens, request.max_len);
  }
  if (layers.window > 0) {
    return std::min(layers.window - 1 + request.step_tokens, request.max_len);
  }
  return ceil_div(request.max_len, request.dcp);
}

class Sizing {
 public:
  explicit Sizing(const SizingRequest& request) : request_(request) {}

  EngineCapacity run() {
    choose_page();
    if (uniform(request_)) {
      add_uniform_group();
    } else {
      choose_group_size();
      for (std::size_t i = 0; i < request_.classes.size(); ++i) {
        add_groups(i);
      }
      result_.bytes_per_block = checked_mul(page_bytes_, group_size_, "the bytes of a block");
    }
    count();
    add_waste();
    return std::move(result_);
  }

 private:
  void choose_page() {
    std::int64_t token_bytes = 0;
    for (const LayerClass& layers : request_.classes) {
      token_bytes = std::max(token_bytes, layers.bytes_per_token);
    }
    result_.block_size = token_bytes > 0 ? raised_block(request_, token_bytes) : 0;
    page_bytes_ = token_bytes > 0
                      ? checked_mul(result_.block_size, token_bytes, "the bytes of a page")
                      : largest_state(request_);
  }

  void choose_group_size() {
    std::int64_t least = request_.classes.front().layers;
    std::int64_t most = least;
    for (const LayerClass& layers : request_.classes) {
      least = std::min(least, layers.layers);
      most = std::max(most, layers.layers);
    }
    group_size_ = 2 * most < 3 * least ? most : least;
  }

  /// The block with which the class fills a page.
  std::int64_t block_of(const LayerClass& layers) const {
    if (layers.kind == CacheKind::State) {
      return 0;
    }
    if (page_bytes_ % layers.bytes_per_token != 0) {
      refuse_engine("vLLM cannot make pages equal: " + grouped(page_bytes_) +
                    " bytes are no multiple of the " + grouped(layers.bytes_per_token) +
                    " bytes that a token takes in a " + std::string(kind_name(layers)) + " layer");
    }
    return page_bytes_ / layers.bytes_per_token;
  }

  void add_uniform_group() {
    EngineGroup group;
    group.block_size = result_.block_size;
    std::int64_t token_bytes = 0;
    for (const LayerClass& layers : request_.classes) {
      group.layers += layers.layers;
      token_bytes = checked_add(
          token_bytes, checked_mul(layers.layers, layers.bytes_per_token, "the bytes of a token"),
          "the bytes of a token");
    }
    group.blocks_per_request =
        blocks_of_request(request_.classes.front(), request_, group.block_size, group.block_size);
    result_.bytes_per_block = checked_mul(token_bytes, group.block_size, "the bytes of a block");
    result_.groups.push_back(group);
  }

  void add_groups(std::size_t index) {
    const LayerClass& layers = request_.classes[index];
    const std::int64_t block = block_of(layers);
    for (std::int64_t left = layers.layers; left > 0; left -= group_size_) {
      EngineGroup group;
      group.layer_class = index;
      group.layers = std::min(left, group_size_);
      group.padding_layers = group_size_ - group.layers;
      group.block_size = block;
      group.blocks_per_request = blocks_of_request(layers, request_, block, result_.block_size);
      result_.groups.push_back(group);
    }
  }

  void count() {
    std::int64_t smallest = 0;
    for (const EngineGroup& group : result_.groups) {
      result_.blocks_per_request += group.blocks_per_request;
      if (group.block_size > 0 && (smallest == 0 || group.block_size < smallest)) {
        smallest = group.block_size;
      }
    }
    result_.blocks = std::max<std::int64_t>(request_.budget_bytes / result_.bytes_per_block, 0);
    result_.concurrency =
        static_cast<double>(result_.blocks) / static_cast<double>(result_.blocks_per_request);
    if (request_.engine == Engine::VllmOld) {
      const auto groups = static_cast<std::int64_t>(result_.groups.size());
      const std::int64_t blocks = result_.blocks / groups;
      result_.tokens = checked_mul(checked_mul(blocks, smallest, "the tokens of the pool"),
                                   request_.dcp, "the tokens of the pool");
      result_.tokens_meaning = "floor(blocks / groups) x the smallest block (vLLM up to 0.20)";
    } else {
      // As vLLM computes it: in double precision, cut to an integer.
      result_.tokens =
          static_cast<std::int64_t>(result_.concurrency * static_cast<double>(request_.max_len));
      result_.tokens_meaning = "concurrency x max-len (vLLM from 0.21)";
    }
  }

  void add(const char* cause, const char* of, std::int64_t bytes, std::string text) {
    if (bytes > 0) {
      result_.waste.push_back({cause, of, bytes, std::move(text)});
    }
  }

  void add_waste() {
    std::int64_t padding = 0;
    std::int64_t padding_layers = 0;
    std::int64_t tail = 0;
    std::int64_t unification = 0;
    std::int64_t state = 0;
    for (const EngineGroup& group : result_.groups) {
      const LayerClass& layers = request_.classes[group.layer_class];
      padding += group.padding_layers * page_bytes_ * group.blocks_per_request;
      padding_layers += group.padding_layers;
      if (layers.kind == CacheKind::State) {
        state += group.layers * (page_bytes_ - layers.state_bytes) * group.blocks_per_request;
        continue;
      }
      const std::int64_t held = tokens_held(layers, request_);
      const std::int64_t unused = group.blocks_per_request * group.block_size - held;
      // What a block of the size that was asked for would have left over.
      const std::int64_t as_asked =
          blocks_of_request(layers, request_, request_.block_size, request_.block_size) *
              request_.block_size -
          held;
      const std::int64_t bytes = uniform(request_) ? result_.bytes_per_block / group.block_size
                                                   : group.layers * layers.bytes_per_token;
      tail += std::min(unused, as_asked) * bytes;
      unification += std::max<std::int64_t>(unused - as_asked, 0) * bytes;
    }
    add("group_padding", "request", padding,
        grouped(padding_layers) + " layers that do not exist fill the last groups up to " +
            grouped(group_size_));
    add("page_unification", "request", unification,
        "blocks are larger than the " + grouped(request_.block_size) +
            " tokens asked for, so that all pages have " + grouped(page_bytes_) + " bytes");
    add("block_tail", "request", tail, "the last block of each group is not full");
    add("state_padding", "request", state,
        "a state takes a whole page of " + grouped(page_bytes_) + " bytes");
    add("null_block", "pool", result_.bytes_per_block,
        "block 0 stands for blocks that are not there");
  }

  const SizingRequest& request_;
  std::int64_t page_bytes_ = 0;
  std::int64_t group_size_ = 0;
  EngineCapacity result_;
};

}  // namespace

EngineCapacity size_vllm(const SizingRequest& request) {
  return Sizing(request).run();
}

}  // namespace octavo::sim
