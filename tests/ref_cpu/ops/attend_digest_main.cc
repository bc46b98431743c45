// Prints a digest of what attention gives for fixed numbers, one `name hash` a line: every codec,
// dtype and option, outputs and partial results. The same source is built several times, by
// different compilers for different machines, and every build must print what
// attend_digests.txt says.
#include <bit>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "attend_world.h"

namespace octavo::ops_test {
namespace {

// FNV-1a over words.
class Digest {
 public:
  void add(const std::vector<float>& values) {
    for (const float value : values) {
      hash_ = (hash_ ^ std::bit_cast<std::uint32_t>(value)) * 0x100000001B3ULL;
    }
  }
  std::uint64_t hash() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xCBF29CE484222325ULL;
};

void print(const std::string& name, const Model& model) {
  Digest digest;
  World world(model, {.threads = 2, .partials = true}, 2, 300);
  Results results;
  world.fill({{0, 250}});
  world.run({{0, 9}, {1, 9}}, results);
  world.run({{1, 1}, {0, 1}}, results);
  for (const auto& [key, result] : results) {
    digest.add(result.out);
    digest.add(result.lse);
    digest.add(result.max_sum);
    digest.add(result.partial_max_sum);
    digest.add(result.partial_out);
  }
  std::printf("%s %016llx\n", name.c_str(), static_cast<unsigned long long>(digest.hash()));
}

void print_all() {
  for (const DType dtype : {DType::F32, DType::F16, DType::BF16}) {
    const Model model{.kv_heads = 1, .query_dtype = dtype, .input_dtype = dtype, .kv_dtype = dtype};
    print("rows_" + std::string(to_string(dtype)), model);
  }
  for (const KVCodec codec : {KVCodec::Int8, KVCodec::Int4, KVCodec::E4M3, KVCodec::E5M2}) {
    const Model model{.kv_heads = 1, .k_quant = {.codec = codec}, .v_quant = {.codec = codec}};
    print("rows_" + std::string(to_string(codec)), model);
  }
  const KVQuantSpec fp8_static{KVCodec::E4M3, KVScale::Static};
  print("static_scales", {.kv_heads = 1, .k_quant = fp8_static, .v_quant = fp8_static});
  print("mixed_codecs",
        {.kv_heads = 1, .k_quant = {.codec = KVCodec::Int8}, .v_quant = fp8_static});
  for (const std::int64_t head_dim : {80, 96, 192, 256}) {
    print("head_dim_" + std::to_string(head_dim),
          {.kv_heads = 1, .group = 1, .head_dim = head_dim, .v_head_dim = head_dim});
  }
  print("window", {.kv_heads = 1, .window = 77});
  print("soft_cap", {.kv_heads = 1, .soft_cap = 4.0f});
  print("sinks", {.kv_heads = 1, .sinks = true});
  print("sharp", {.kv_heads = 1, .magnitude = 50.0f});
  print("out_bf16", {.kv_heads = 1, .out_dtype = DType::BF16});
  print("nan", {.kv_heads = 1, .nan_position = 100});
}

}  // namespace
}  // namespace octavo::ops_test

int main() {
  octavo::ops_test::print_all();
}
