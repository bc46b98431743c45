// Prompts of some requests in a row, so that many pools can work through them side by side.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace octavo::sim {

class RequestBatch {
 public:
  /// A batch is full at so many tokens or requests: a few MiB.
  static constexpr std::size_t kTokens = std::size_t{1} << 20;
  static constexpr std::size_t kRequests = std::size_t{1} << 16;

  struct Request {
    std::size_t begin = 0;  // Of its tokens.
    std::size_t length = 0;
    std::int64_t input_tokens = 0;
    std::int64_t output_tokens = 0;
  };

  void clear() {
    tokens_.clear();
    requests_.clear();
  }
  void add(std::span<const std::int32_t> tokens,
           std::int64_t input_tokens,
           std::int64_t output_tokens) {
    requests_.push_back({tokens_.size(), tokens.size(), input_tokens, output_tokens});
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  }
  bool full() const { return tokens_.size() >= kTokens || requests_.size() >= kRequests; }
  bool empty() const { return requests_.empty(); }

  const std::vector<Request>& requests() const { return requests_; }
  std::span<const std::int32_t> tokens(const Request& request) const {
    return {tokens_.data() + request.begin, request.length};
  }

 private:
  std::vector<std::int32_t> tokens_;
  std::vector<Request> requests_;
};

}  // namespace octavo::sim
