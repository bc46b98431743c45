// What the tests of attention share: a world run on the reference and on the device under test,
// bit against bit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device_under_test.h"
#include "octavo/device_ops.h"
#include "octavo/ref_cpu/cpu_device.h"

#include "tests/ref_cpu/ops/attend_world.h"

namespace octavo::cuda_test {

using ops_test::Model;
using ops_test::Placement;
using ops_test::Results;
using ops_test::Step;

/// A device like `device`, but for what a test does to the arguments of attention.
class ChangedDevice final : public Device {
 public:
  using Attend = std::function<void(Device& device, const AttendArg& arg)>;
  ChangedDevice(std::shared_ptr<Device> device, Attend attend)
      : device_(std::move(device)), attend_(std::move(attend)) {}

  DeviceKind kind() const noexcept override { return device_->kind(); }
  std::string_view name() const noexcept override { return device_->name(); }
  bool host_accessible() const noexcept override { return device_->host_accessible(); }
  void* allocate(std::int64_t size_bytes) override { return device_->allocate(size_bytes); }
  void deallocate(void* data, std::int64_t size_bytes) noexcept override {
    device_->deallocate(data, size_bytes);
  }
  void copy_from_host(void* dst, const void* src, std::int64_t size_bytes) override {
    device_->copy_from_host(dst, src, size_bytes);
  }
  void copy_to_host(void* dst, const void* src, std::int64_t size_bytes) const override {
    device_->copy_to_host(dst, src, size_bytes);
  }
  void copy(void* dst, const void* src, std::int64_t size_bytes) override {
    device_->copy(dst, src, size_bytes);
  }
  void fill(void* dst, std::uint8_t value, std::int64_t size_bytes) override {
    device_->fill(dst, value, size_bytes);
  }
  void append(const AppendArg& arg) override { device_->append(arg); }
  void attend(const AttendArg& arg) override { attend_(*device_, arg); }

 private:
  std::shared_ptr<Device> device_;
  Attend attend_;
};

inline Placement on_device(Placement placement, const TestedOptions& options) {
  placement.device = [options] { return device_under_test(options); };
  return placement;
}

/// Results of `steps` after `before` was only appended: long histories cost no attention.
inline Results run_after(const Model& model,
                         const Placement& placement,
                         const Step& before,
                         const std::vector<Step>& steps) {
  std::map<int, std::int64_t> lengths;
  for (const auto& [sequence, tokens] : before) {
    lengths[sequence] += tokens;
  }
  for (const Step& step : steps) {
    for (const auto& [sequence, tokens] : step) {
      lengths[sequence] += tokens;
    }
  }
  std::int64_t longest = 0;
  for (const auto& [sequence, length] : lengths) {
    longest = std::max(longest, length);
  }
  ops_test::World world(model, placement, lengths.rbegin()->first + 1, longest);
  for (auto [sequence, tokens] : before) {
    for (int piece = 0; tokens > 0; tokens -= piece) {
      piece = static_cast<int>(std::min<std::int64_t>(tokens, placement.max_step));
      world.fill({{sequence, piece}});
    }
  }
  Results results;
  for (const Step& step : steps) {
    world.run(step, results);
  }
  return results;
}

/// How the device's results differ from the reference's; empty when every bit agrees.
inline std::string difference_from_reference(const Model& model,
                                             const Placement& placement,
                                             const Step& before,
                                             const std::vector<Step>& steps,
                                             const TestedOptions& options) {
  return difference(run_after(model, placement, before, steps),
                    run_after(model, on_device(placement, options), before, steps));
}

/// What the rows of a model are stored as: a float type, or a codec with either kind of scales.
inline void store_as(DType dtype, KVScale scale, Model& model, ops_test::Part part) {
  KVQuantSpec spec = {};
  spec.scale = scale;
  switch (dtype) {
    case DType::E4M3:
      spec.codec = KVCodec::E4M3;
      break;
    case DType::E5M2:
      spec.codec = KVCodec::E5M2;
      break;
    case DType::Int8:
      spec.codec = KVCodec::Int8;
      break;
    case DType::Int4:
      spec.codec = KVCodec::Int4;
      break;
    default:
      model.kv_dtype = dtype;
  }
  (part == ops_test::Part::Key ? model.k_quant : model.v_quant) = spec;
}

/// A short text for a failure.
inline std::string name_of(const Model& model, const Placement& placement) {
  const auto side = [&](const KVQuantSpec& quant) {
    return quant.codec == KVCodec::None
               ? std::string(to_string(model.kv_dtype))
               : std::string(to_string(quant.codec)) + "/" + std::string(to_string(quant.scale));
  };
  return "keys " + side(model.k_quant) + " " + std::to_string(model.head_dim) + ", values " +
         side(model.v_quant) + " " + std::to_string(model.v_head_dim) + ", group " +
         std::to_string(model.group) + ", query " + std::string(to_string(model.query_dtype)) +
         ", window " + std::to_string(model.window) + ", cap " + std::to_string(model.soft_cap) +
         (model.sinks ? ", sinks" : "") + (placement.partials ? ", partials" : "") +
         (placement.paged ? ", block " + std::to_string(placement.block_size) : ", continuous");
}

}  // namespace octavo::cuda_test
