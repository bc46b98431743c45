#include "decode_batch.h"

namespace octavo::sim {

void DecodeBatch::join(Request& request, std::int64_t room) {
  requests_.push_back(&request);
  slots_.push_back(request.slot);
  past_.push_back(static_cast<std::int32_t>(request.past));
  room_.push_back(static_cast<std::int32_t>(room));
  left_.push_back(static_cast<std::int32_t>(request.source.output_tokens - request.emitted));
  sums_.join(request.past + 1);
}

std::int64_t DecodeBatch::without_room() const noexcept {
  std::int32_t count = 0;
  for (std::size_t i = 0; i < past_.size(); ++i) {
    count += past_[i] == room_[i] ? 1 : 0;
  }
  return count;
}

bool DecodeBatch::advance_all(std::int32_t block_size) noexcept {
  std::int32_t none_left = 0;
  for (std::size_t i = 0; i < past_.size(); ++i) {
    room_[i] += past_[i] == room_[i] ? block_size : 0;
    past_[i] += 1;
    left_[i] -= 1;
    none_left |= left_[i] == 0 ? 1 : 0;
  }
  sums_.advance();
  return none_left != 0;
}

void DecodeBatch::advance(std::size_t i, std::int32_t tokens) noexcept {
  sums_.leave(past_[i] + 1);
  past_[i] += tokens;
  left_[i] -= tokens;
  sums_.join(past_[i] + 1);
}

void DecodeBatch::store(std::size_t i) const noexcept {
  Request& request = *requests_[i];
  request.past = past_[i];
  request.emitted = request.source.output_tokens - left_[i];
}

void DecodeBatch::leave(std::size_t i) noexcept {
  store(i);
  sums_.leave(past_[i] + 1);
  requests_[i] = nullptr;
}

void DecodeBatch::compact() noexcept {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] == nullptr) {
      continue;
    }
    requests_[kept] = requests_[i];
    slots_[kept] = slots_[i];
    past_[kept] = past_[i];
    room_[kept] = room_[i];
    left_[kept] = left_[i];
    ++kept;
  }
  requests_.resize(kept);
  slots_.resize(kept);
  past_.resize(kept);
  room_.resize(kept);
  left_.resize(kept);
}

}  // namespace octavo::sim
