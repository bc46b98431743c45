// Prints a digest of what every piece of the arithmetic gives for fixed inputs, one `name hash` a
// line. The same source is built several times, by different compilers for different machines, and
// every build must print what digests.txt says.

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <vector>

#include "exact_math.h"
#include "float_bits.h"
#include "quantize.h"
#include "rows.h"
#include "samples.h"
#include "state_ops.h"

namespace octavo::ref_cpu {
namespace {

using numerics_test::from_bits;
using numerics_test::Random;

/// FNV-1a over words.
class Digest {
 public:
  void add(std::uint32_t word) { hash_ = (hash_ ^ word) * 0x100000001B3ULL; }
  void add(float x) { add(bits_of(x)); }
  template <typename T>
  void add(const std::vector<T>& values) {
    for (const T value : values) {
      if constexpr (std::is_same_v<T, float>) {
        add(value);
      } else {
        add(static_cast<std::uint32_t>(value));
      }
    }
  }
  void print(const char* name) const {
    std::printf("%s %016llx\n", name, static_cast<unsigned long long>(hash_));
  }

 private:
  std::uint64_t hash_ = 0xCBF29CE484222325ULL;
};

void digest_conversions() {
  Digest narrow;
  for (std::uint64_t bits = 0; bits < 1ULL << 32; bits += 4999) {
    const float x = from_bits(static_cast<std::uint32_t>(bits));
    narrow.add(f32_to_f16(x) | static_cast<std::uint32_t>(f32_to_bf16(x)) << 16);
    narrow.add(f32_to_e4m3(x) | static_cast<std::uint32_t>(f32_to_e5m2(x)) << 8);
  }
  narrow.print("narrow");
  Digest widen;
  for (std::uint32_t code = 0; code < 1u << 16; ++code) {
    widen.add(f16_to_f32(static_cast<std::uint16_t>(code)));
    widen.add(bf16_to_f32(static_cast<std::uint16_t>(code)));
    widen.add(e4m3_to_f32(static_cast<std::uint8_t>(code)));
    widen.add(e5m2_to_f32(static_cast<std::uint8_t>(code)));
  }
  widen.print("widen");
}

template <typename Function>
void digest_function(const char* name, float low, float high, Function function) {
  Digest digest;
  std::vector<float> x;
  for (std::uint64_t bits = 0; bits < 1ULL << 32; bits += 9973) {
    const float value = from_bits(static_cast<std::uint32_t>(bits));
    if (value >= low && value <= high) {
      x.push_back(value);
    }
  }
  for (float& value : x) {  // A loop of its own, so that it may be vectorised.
    value = function(value);
  }
  digest.add(x);
  digest.print(name);
}

void digest_functions() {
  const float infinity = from_bits(0x7F800000u);
  digest_function("exp2", -infinity, 127.0f, [](float x) { return exp2_spec(x); });
  digest_function("exp", -infinity, infinity, [](float x) { return exp_spec(x); });
  digest_function("sigmoid", -infinity, infinity, [](float x) { return sigmoid_spec(x); });
  digest_function("silu", -infinity, infinity, [](float x) { return silu_spec(x); });
  digest_function("softplus", -infinity, infinity, [](float x) { return softplus_spec(x); });
  digest_function("tanh", -infinity, infinity, [](float x) { return tanh_spec(x); });
  digest_function("log", 0.0f, infinity, [](float x) { return log_spec(x); });
}

void digest_quantizers() {
  Random random(1);
  Digest digest;
  for (const KVCodec codec : {KVCodec::Int8, KVCodec::Int4, KVCodec::E4M3, KVCodec::E5M2}) {
    for (std::int64_t n = 2; n < 200; n += 6) {
      const std::vector<float> x = random.units(n, random.between(1e-30f, 1e3f));
      std::vector<std::uint8_t> codes(static_cast<std::size_t>(code_bytes(codec, n)));
      std::vector<float> values(static_cast<std::size_t>(n));
      float scale = 0;
      quantize_row(codec, x.data(), n, codes.data(), &scale);
      dequantize_row(codec, codes.data(), n, scale, values.data());
      digest.add(codes);
      digest.add(scale);
      digest.add(values);
      quantize_row_static(codec, x.data(), n, 0.37f, codes.data());
      decode_codes(codec, codes.data(), n, values.data());
      digest.add(values);
    }
  }
  digest.print("quantizers");
}

/// Elements of a dtype, held as the words they are hashed as.
struct Elements {
  DType dtype;
  std::vector<float> floats;
  std::vector<std::uint16_t> halves;

  Elements(DType type, std::int64_t n) : dtype(type) {
    const auto size = static_cast<std::size_t>(n);
    type == DType::F32 ? floats.resize(size) : halves.resize(size);
  }
  Elements(DType type, const std::vector<float>& values)
      : Elements(type, static_cast<std::int64_t>(values.size())) {
    encode_row(type, values.data(), static_cast<std::int64_t>(values.size()), data(), 0);
  }
  void* data() { return dtype == DType::F32 ? static_cast<void*>(floats.data()) : halves.data(); }
  StepOperandArg operand(std::int64_t token_stride, std::int64_t head_stride) {
    return {data(), dtype, token_stride, head_stride};
  }
  void add_to(Digest& digest) const {
    digest.add(floats);
    digest.add(halves);
  }
};

constexpr std::int32_t kCuSeqlens[] = {0, 5, 12};
constexpr std::int32_t kSlots[] = {1, 0};
constexpr std::int64_t kTokens = 12;
constexpr StateStepArg kStep = {kCuSeqlens, kSlots, 2, kTokens, 7};
constexpr DType kFloats[] = {DType::F32, DType::F16, DType::BF16};

void digest_conv() {
  Random random(2);
  Digest digest;
  constexpr std::int64_t kDim = 75;
  for (const DType dtype : kFloats) {
    for (const std::int64_t width : {1, 3, 6}) {
      Elements x(dtype, random.units(kTokens * kDim, 4.0f));
      Elements weight(DType::F32, random.units(kDim * (width + 1)));
      Elements bias(dtype, random.units(kDim));
      Elements state(dtype, random.units(2 * kDim * width));
      Elements out(dtype, kTokens * kDim);
      const ConvUpdateArg arg{.step = kStep,
                              .state = {state.data(), dtype, kDim * width},
                              .x = x.operand(kDim, 1),
                              .out = {out.data(), dtype, kDim, 1},
                              .weight = {weight.data(), DType::F32},
                              .bias = {bias.data(), dtype},
                              .dim = kDim,
                              .width = width,
                              .silu = width != 1};
      conv_update(arg, 0, {0, kDim});
      conv_update(arg, 1, {0, kDim});
      out.add_to(digest);
      state.add_to(digest);
    }
  }
  digest.print("conv");
}

constexpr std::int64_t kHeads = 4;
constexpr std::int64_t kGroups = 2;
constexpr std::int64_t kKDim = 44;
constexpr std::int64_t kVDim = 39;

void digest_gated_delta() {
  Random random(3);
  Digest digest;
  for (const DType dtype : kFloats) {
    Elements q(dtype, random.units(kTokens * kGroups * kKDim));
    Elements k(dtype, random.units(kTokens * kGroups * kKDim));
    Elements v(dtype, random.units(kTokens * kHeads * kVDim));
    Elements a(dtype, random.units(kTokens * kHeads));
    Elements b(dtype, random.units(kTokens * kHeads));
    Elements a_log(DType::F32, random.units(kHeads));
    Elements dt_bias(dtype, random.units(kHeads));
    Elements state(dtype, random.units(2 * kHeads * kKDim * kVDim));
    Elements out(DType::F32, kTokens * kHeads * kVDim);
    const GatedDeltaUpdateArg arg{.step = kStep,
                                  .state = {state.data(), dtype, kHeads * kKDim * kVDim},
                                  .q = q.operand(kGroups * kKDim, kKDim),
                                  .k = k.operand(kGroups * kKDim, kKDim),
                                  .v = v.operand(kHeads * kVDim, kVDim),
                                  .a = a.operand(kHeads, 1),
                                  .b = b.operand(kHeads, 1),
                                  .out = {out.data(), DType::F32, kHeads * kVDim, kVDim},
                                  .a_log = {a_log.data(), DType::F32},
                                  .dt_bias = {dt_bias.data(), dtype},
                                  .qk_heads = kGroups,
                                  .heads = kHeads,
                                  .k_dim = kKDim,
                                  .v_dim = kVDim,
                                  .scale = 0.15f,
                                  .b_sigmoid = true,
                                  .qk_l2_norm = true};
    gated_delta_update(arg, 0, {0, kHeads});
    gated_delta_update(arg, 1, {0, kHeads});
    out.add_to(digest);
    state.add_to(digest);
  }
  digest.print("gated_delta");
}

void digest_selective_state() {
  Random random(4);
  Digest digest;
  for (const DType dtype : kFloats) {
    Elements x(dtype, random.units(kTokens * kHeads * kVDim));
    Elements z(dtype, random.units(kTokens * kHeads * kVDim, 3.0f));
    Elements dt(dtype, random.units(kTokens * kHeads));
    Elements b(dtype, random.units(kTokens * kGroups * kKDim));
    Elements c(dtype, random.units(kTokens * kGroups * kKDim));
    Elements a(DType::F32, std::vector<float>{-0.5f, -1.0f, -2.0f, -7.5f});
    Elements d(DType::F32, random.units(kHeads));
    Elements dt_bias(dtype, random.units(kHeads));
    Elements state(dtype, random.units(2 * kHeads * kKDim * kVDim));
    Elements out(DType::F32, kTokens * kHeads * kVDim);
    const SelectiveStateUpdateArg arg{.step = kStep,
                                      .state = {state.data(), dtype, kHeads * kKDim * kVDim},
                                      .x = x.operand(kHeads * kVDim, kVDim),
                                      .dt = dt.operand(kHeads, 1),
                                      .b = b.operand(kGroups * kKDim, kKDim),
                                      .c = c.operand(kGroups * kKDim, kKDim),
                                      .z = z.operand(kHeads * kVDim, kVDim),
                                      .out = {out.data(), DType::F32, kHeads * kVDim, kVDim},
                                      .a = {a.data(), DType::F32},
                                      .d = {d.data(), DType::F32},
                                      .dt_bias = {dt_bias.data(), dtype},
                                      .groups = kGroups,
                                      .heads = kHeads,
                                      .k_dim = kKDim,
                                      .v_dim = kVDim,
                                      .dt_softplus = true};
    selective_state_update(arg, 0, {0, kHeads});
    selective_state_update(arg, 1, {0, kHeads});
    out.add_to(digest);
    state.add_to(digest);
  }
  digest.print("selective_state");
}

}  // namespace
}  // namespace octavo::ref_cpu

int main() {
  octavo::ref_cpu::digest_conversions();
  octavo::ref_cpu::digest_functions();
  octavo::ref_cpu::digest_quantizers();
  octavo::ref_cpu::digest_conv();
  octavo::ref_cpu::digest_gated_delta();
  octavo::ref_cpu::digest_selective_state();
  return 0;
}
