#include "cache/host_ids.h"

#include <string>
#include <utility>

#include "cache/errors.h"

namespace octavo::cache {

HostIds::HostIds(const char* call,
                 const char* argument,
                 Tensor ids,
                 std::vector<std::int32_t>& buffer,
                 Counters& counters)
    : ids_(std::move(ids)) {
  if (!ids_.defined()) {
    refuse(ErrorCode::InvalidArgument, call,
           std::string(argument) + " is undefined; it must be a vector of int32");
  }
  if (ids_.dtype() != DType::Int32 || ids_.rank() != 1 || !ids_.is_contiguous()) {
    refuse(ErrorCode::InvalidArgument, call,
           std::string(argument) + " has dtype " + std::string(to_string(ids_.dtype())) +
               " and shape " + to_string(ids_.shape()) +
               (ids_.is_contiguous() ? "" : ", not contiguous") +
               "; it must be a contiguous vector of int32");
  }
  const std::size_t count = at(ids_.num_elements());
  if (ids_.device()->host_accessible()) {
    span_ = {count == 0 ? nullptr : ids_.data<std::int32_t>(), count};
    return;
  }
  if (buffer.size() < count) {
    buffer.resize(count);
  }
  ids_.device()->copy_to_host(buffer.data(), ids_.address(), ids_.size_bytes());
  counters.downloaded_ids.add(ids_.num_elements());
  span_ = {buffer.data(), count};
}

}  // namespace octavo::cache
