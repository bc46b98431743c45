#include "rig.h"

#include <cstring>

#include "index.h"
#include "octavo/error.h"
#include "octavo/kv_row_info.h"

namespace octavo::sim::check {
namespace {

// The device itself, past one that can be made to fail.
Device& beneath(Device& device) {
  auto* fault = dynamic_cast<FaultDevice*>(&device);
  return fault == nullptr ? device : *fault->beneath();
}

std::vector<LayerStorage> storage_of(const KVCache& cache, const CheckSetup& setup) {
  std::vector<LayerStorage> layers;
  const std::vector<KVLayerSpec> specs = setup.specs();
  for (int layer = 0; layer < cache.num_layers(); ++layer) {
    const KVLayerSpec& spec = specs[index(layer)];
    LayerStorage storage;
    storage.kind = spec.kind;
    if (spec.kind == KVLayerKind::State) {
      for (int part = 0; part < static_cast<int>(spec.conv.size()); ++part) {
        storage.conv.push_back(cache.conv_state(layer, part));
      }
      storage.recurrent = cache.recurrent_state(layer);
    } else {
      storage.keys = cache.keys(layer);
      storage.values = cache.values(layer);
    }
    layers.push_back(std::move(storage));
  }
  return layers;
}

}  // namespace

HostBytes::HostBytes(const Tensor& tensor) : size_(index(tensor.size_bytes())) {
  Device& device = beneath(*tensor.device());
  if (device.host_accessible()) {
    data_ = static_cast<const std::byte*>(tensor.address());
    return;
  }
  fetched_.resize(size_);
  device.copy_to_host(fetched_.data(), tensor.address(), tensor.size_bytes());
  data_ = fetched_.data();
}

RowsView::RowsView(const Tensor& rows)
    : bytes_(rows), blocks_(rows.size(0)), heads_(rows.size(1)), rows_(rows.size(2)) {
  const KVRowInfo& info = *rows.row_info();
  const bool is_packed = info.codec == KVCodec::Int4;
  format_ = {.dtype = is_packed ? DType::Int4 : rows.dtype(),
             .codec = info.codec,
             .elements = rows.size(3) * (is_packed ? 2 : 1)};
  row_bytes_ = index(rows.size(3) * bytes_per_element(rows.dtype()));
  if (info.codec != KVCodec::None) {
    scales_.emplace_back(info.scales);
    has_row_scales_ = info.scale == KVScale::PerTokenHead;
  }
}

const std::byte* RowsView::row(std::int64_t block, std::int64_t head, std::int64_t row) const {
  return bytes_.data() + index((block * heads_ + head) * rows_ + row) * row_bytes_;
}

float RowsView::scale(std::int64_t block, std::int64_t head, std::int64_t row) const {
  if (scales_.empty()) {
    return 1.0F;
  }
  const std::int64_t at = has_row_scales_ ? (block * heads_ + head) * rows_ + row : head;
  float scale = 0.0F;
  std::memcpy(&scale, scales_.front().data() + index(at) * sizeof(scale), sizeof(scale));
  return scale;
}

Rig::Rig(const CheckDevice& made_by, const CheckSetup& setup)
    : name(made_by.name),
      device(std::make_shared<FaultDevice>(made_by.make())),
      cache(KVCache::make(setup.config(device), setup.specs())),
      layers(storage_of(cache, setup)) {}

std::vector<std::int32_t> Rig::peek(const Tensor& tensor) const {
  const HostBytes bytes(tensor);
  std::vector<std::int32_t> values(bytes.size() / sizeof(std::int32_t));
  if (!values.empty()) {
    std::memcpy(values.data(), bytes.data(), bytes.size());
  }
  return values;
}

// Ids that are none are refused by a slot that is well, and later than by one that is not.
bool Rig::is_failed(int slot) {
  try {
    cache.admit(slot, Tensor());
  } catch (const Error& error) {
    return error.code() == ErrorCode::FailedPrecondition &&
           std::string_view(error.what()).find("abandon_batch") != std::string_view::npos;
  }
  throw Violation("refusal", "admit took a prompt that is undefined");
}

void Rig::spoil_row(std::int64_t block, std::int64_t row, std::uint8_t byte) const {
  for (const LayerStorage& layer : layers) {
    if (layer.kind != KVLayerKind::AttentionKV || layer.keys.row_info()->layout != Layout::Paged) {
      continue;
    }
    for (const Tensor& rows : {layer.keys, layer.values}) {
      const KVRowInfo& info = *rows.row_info();
      for (std::int64_t head = 0; head < rows.size(1); ++head) {
        const Tensor place = rows.select(0, block).select(0, head).select(0, row);
        device->beneath()->fill(place.address(), byte, place.size_bytes());
        if (info.codec != KVCodec::None && info.scale == KVScale::PerTokenHead) {
          const Tensor scale = info.scales.select(0, block).select(0, head).select(0, row);
          device->beneath()->fill(scale.address(), byte, scale.size_bytes());
        }
      }
    }
  }
}

}  // namespace octavo::sim::check
