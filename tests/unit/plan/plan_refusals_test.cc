// Every composition that the plan refuses, with the sentence that says why. `footprint` and `make`
// resolve through the one plan, so the sentences are those of both.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "octavo/kv_footprint.h"
#include "plan_testing.h"
#include <gtest/gtest.h>

namespace octavo {
namespace {

using testing::raised;

constexpr KVQuantSpec kInt4 = {.codec = KVCodec::Int4};
constexpr KVQuantSpec kInt8 = {.codec = KVCodec::Int8};
constexpr KVQuantSpec kFp8 = {.codec = KVCodec::E4M3};
constexpr KVQuantSpec kStaticFp8 = {.codec = KVCodec::E4M3, .scale = KVScale::Static};

/// Two legal continuous rows; each test breaks one thing.
class Refusal : public ::testing::Test {
 protected:
  Refusal() : specs_(2) {
    config_ = {.num_layers = 2,
               .max_seqs = 4,
               .max_tokens_per_seq = 64,
               .max_step_tokens = 8,
               .kv_heads = 2,
               .head_dim = 16};
  }

  void make_paged() {
    config_.mode = KVCacheMode::Paged;
    config_.paged = PagedParams{.num_blocks = 8};
  }

  std::string refusal() {
    return raised(ErrorCode::InvalidArgument, [&] { footprint(config_, specs_); });
  }

  void expect_legal() { EXPECT_NO_THROW(footprint(config_, specs_)); }

  KVCacheConfig config_;
  std::vector<KVLayerSpec> specs_;
};

TEST_F(Refusal, TheFixtureItselfIsLegal) {
  expect_legal();
  make_paged();
  expect_legal();
}

TEST_F(Refusal, SizeMismatch) {
  specs_.pop_back();
  EXPECT_EQ(refusal(), "layer_specs has 1 entries; it must have config.num_layers, 2");
  specs_.resize(3);
  EXPECT_EQ(refusal(), "layer_specs has 3 entries; it must have config.num_layers, 2");
}

TEST_F(Refusal, NoLayers) {
  config_.num_layers = 0;
  specs_.clear();
  EXPECT_EQ(refusal(), "config.num_layers is 0; it must be >= 1");
  config_.num_layers = -1;
  EXPECT_EQ(refusal(), "config.num_layers is -1; it must be >= 1");
}

TEST_F(Refusal, SlotsOutsideWhatIdsCanName) {
  for (const int max_seqs : {0, -1, 16777217}) {
    config_.max_seqs = max_seqs;
    EXPECT_EQ(refusal(),
              "config.max_seqs is " + std::to_string(max_seqs) + "; it must be in [1, 16777216]");
  }
  config_.max_seqs = 16777216;
  expect_legal();
}

TEST_F(Refusal, LengthsThatInt32CannotHold) {
  config_.max_tokens_per_seq = std::int64_t{1} << 31;
  EXPECT_EQ(refusal(), "config.max_tokens_per_seq is 2147483648; it must be <= 2147483647");
  config_.max_tokens_per_seq = (std::int64_t{1} << 31) - 1;
  expect_legal();
  config_.max_step_tokens = std::int64_t{1} << 31;
  EXPECT_EQ(refusal(), "config.max_step_tokens is 2147483648; it must be in [0, 2147483647]");
  config_.max_step_tokens = -1;
  EXPECT_EQ(refusal(), "config.max_step_tokens is -1; it must be in [0, 2147483647]");
}

TEST_F(Refusal, NegativeHeadsInTheRowOrTheConfig) {
  specs_[1].kv_heads = -2;
  EXPECT_EQ(refusal(), "layer_specs[1].kv_heads is -2; it must be >= 0");
  specs_[1].kv_heads = 0;
  config_.kv_heads = -1;
  EXPECT_EQ(refusal(), "config.kv_heads is -1; it must be >= 0");
  specs_[0].kv_heads = specs_[1].kv_heads = 1;
  EXPECT_EQ(refusal(), "config.kv_heads is -1; it must be >= 0") << "also when no row inherits it";
}

TEST_F(Refusal, NegativeHeadsOfAStateRowToo) {
  specs_[0] = {.kind = KVLayerKind::State, .kv_heads = -1, .conv = {{8, 3}}};
  EXPECT_EQ(refusal(), "layer_specs[0].kv_heads is -1; it must be >= 0");
}

// What dividing the model's heads by more ranks than heads leads to must not pass for "inherit".
TEST_F(Refusal, ZeroHeadsWhenThereIsNothingToInherit) {
  config_.kv_heads = 0;
  EXPECT_EQ(refusal(),
            "layer_specs[0].kv_heads is 0 and so is config.kv_heads; one of them must be >= 1");
  specs_[0].kv_heads = 3;
  EXPECT_EQ(refusal(),
            "layer_specs[1].kv_heads is 0 and so is config.kv_heads; one of them must be >= 1");
  specs_[1].kv_heads = 1;
  expect_legal();
}

TEST_F(Refusal, HeadDimThatIsNotPositive) {
  specs_[0].head_dim = -16;
  EXPECT_EQ(refusal(), "layer_specs[0].head_dim is -16; it must be >= 0");
  specs_[0].head_dim = 0;
  config_.head_dim = 0;
  EXPECT_EQ(refusal(),
            "layer_specs[0].head_dim is 0 and so is config.head_dim; one of them must be >= 1");
  config_.head_dim = -1;
  EXPECT_EQ(refusal(), "config.head_dim is -1; it must be >= 0");
  config_.head_dim = 16;
  specs_[1].v_head_dim = -1;
  EXPECT_EQ(refusal(), "layer_specs[1].v_head_dim is -1; it must be >= 0");
}

TEST_F(Refusal, OtherValueWidthInAPagedRow) {
  specs_[1].v_head_dim = 8;
  expect_legal();
  make_paged();
  EXPECT_EQ(refusal(), "layer_specs[1].v_head_dim is 8; a paged row needs its head_dim, 16, or 0");
  specs_[1].v_head_dim = 16;
  expect_legal();
  specs_[1] = {.layout = Layout::Continuous, .v_head_dim = 8};
  expect_legal();
}

TEST_F(Refusal, NoTokenLimitForAContinuousRowWithoutWindow) {
  specs_[0].window = 4;
  for (const int limit : {0, -5}) {
    config_.max_tokens_per_seq = limit;
    EXPECT_EQ(refusal(), "config.max_tokens_per_seq is " + std::to_string(limit) +
                             "; it must be >= 1, since layer_specs[1] is a continuous row without "
                             "window");
  }
  specs_[1].window = 4;
  expect_legal();
  specs_[1] = {.kind = KVLayerKind::CrossAttentionKV};
  refusal();
  specs_[1] = {.kind = KVLayerKind::State, .conv = {{8, 3}}};
  expect_legal();
}

TEST_F(Refusal, NoStepLimitForAContinuousRowWithAWindow) {
  config_.max_step_tokens = 0;
  expect_legal();
  specs_[1].window = 4;
  EXPECT_EQ(refusal(),
            "config.max_step_tokens is 0; it must be >= 1, since layer_specs[1] is a "
            "continuous row with a window");
  make_paged();
  expect_legal();
}

TEST_F(Refusal, NegativeWindow) {
  specs_[1].window = -1;
  EXPECT_EQ(refusal(), "layer_specs[1].window is -1; it must be >= 0");
}

TEST_F(Refusal, PagedRowWithoutPoolGeometry) {
  specs_[1].layout = Layout::Paged;
  EXPECT_EQ(refusal(),
            "config.paged is not set; layer_specs[1] is a paged row and needs pool "
            "geometry");
  config_.mode = KVCacheMode::Paged;
  EXPECT_EQ(refusal(),
            "config.paged is not set; layer_specs[0] is a paged row and needs pool "
            "geometry");
}

TEST_F(Refusal, PoolGeometryOutOfRange) {
  make_paged();
  for (const std::int64_t blocks : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 31}) {
    config_.paged->num_blocks = blocks;
    EXPECT_EQ(refusal(), "config.paged.num_blocks is " + std::to_string(blocks) +
                             "; it must be in [1, 2147483647]");
  }
  config_.paged->num_blocks = 8;
  for (const int size : {0, -16, 131072}) {
    config_.paged->block_size = size;
    EXPECT_EQ(refusal(),
              "config.paged.block_size is " + std::to_string(size) + "; it must be in [1, 65536]");
  }
  config_.paged->block_size = 48;
  EXPECT_EQ(refusal(), "config.paged.block_size is 48; it must be a power of two");
  config_.paged->block_size = 1;
  expect_legal();
  config_.paged->max_blocks_per_seq = -1;
  EXPECT_EQ(refusal(), "config.paged.max_blocks_per_seq is -1; it must be >= 0");
  config_.paged->max_blocks_per_seq = 0;
  config_.paged->window = -1;
  EXPECT_EQ(refusal(), "config.paged.window is -1; it must be >= 0");
}

TEST_F(Refusal, PoolGeometryIsNotLookedAtWithoutPagedRows) {
  config_.paged = PagedParams{.num_blocks = -1, .block_size = 7};
  expect_legal();
}

TEST_F(Refusal, ReleasingWindowOverARowWithoutOne) {
  make_paged();
  config_.paged->window = 32;
  specs_[0].window = 32;
  EXPECT_EQ(refusal(),
            "config.paged.window is 32; it must be 0, since layer_specs[1] is a paged row without "
            "window");
  specs_[1].layout = Layout::Continuous;
  expect_legal();
}

TEST_F(Refusal, ReleasingWindowSmallerThanARows) {
  make_paged();
  config_.paged->window = 32;
  specs_[0].window = 16;
  specs_[1].window = 33;
  EXPECT_EQ(refusal(), "config.paged.window is 32; it must be >= 33, the window of layer_specs[1]");
  config_.paged->window = 33;
  expect_legal();
}

TEST_F(Refusal, CrossAndStateRowsPinnedPaged) {
  make_paged();
  specs_[0] = {.kind = KVLayerKind::CrossAttentionKV, .layout = Layout::Paged};
  EXPECT_EQ(refusal(),
            "layer_specs[0].layout is Paged; a CrossAttentionKV row is always Continuous");
  specs_[0] = {.kind = KVLayerKind::State, .layout = Layout::Paged, .conv = {{8, 3}}};
  EXPECT_EQ(refusal(), "layer_specs[0].layout is Paged; a State row is always Continuous");
}

TEST_F(Refusal, CrossRowWithAWindow) {
  specs_[1] = {.kind = KVLayerKind::CrossAttentionKV, .window = 8};
  EXPECT_EQ(refusal(),
            "layer_specs[1].window is 8; a CrossAttentionKV row needs 0, it attends "
            "over all of the encoder's output");
}

TEST_F(Refusal, EmptyStateGeometry) {
  specs_[1] = {.kind = KVLayerKind::State};
  EXPECT_EQ(refusal(),
            "layer_specs[1] is a State row with an empty geometry; it needs a conv "
            "window or a recurrent slab");
  specs_[1].conv = {{8, 3}, {8, 0}};
  EXPECT_EQ(refusal(), "layer_specs[1].conv[1].width is 0; it must be >= 1");
  specs_[1].conv = {{-8, 3}};
  EXPECT_EQ(refusal(), "layer_specs[1].conv[0].dim is -8; it must be >= 1");
  specs_[1].conv.clear();
  specs_[1].recurrent = {4, 0, 8};
  EXPECT_EQ(refusal(), "layer_specs[1].recurrent.k_dim is 0; it must be >= 1");
  specs_[1].recurrent = {0, 4, 8};
  EXPECT_EQ(refusal(), "layer_specs[1].recurrent.heads is 0; it must be >= 1");
  specs_[1].recurrent = {4, 4, -8};
  EXPECT_EQ(refusal(), "layer_specs[1].recurrent.v_dim is -8; it must be >= 1");
}

TEST_F(Refusal, StatesInARowThatIsNoState) {
  specs_[0].conv = {{8, 3}};
  EXPECT_EQ(refusal(),
            "layer_specs[0] has a conv or recurrent state and kind AttentionKV; only "
            "State rows have one");
  specs_[0] = {.kind = KVLayerKind::CrossAttentionKV, .recurrent = {1, 1, 1}};
  EXPECT_EQ(refusal(),
            "layer_specs[0] has a conv or recurrent state and kind CrossAttentionKV; "
            "only State rows have one");
}

TEST_F(Refusal, AttentionFieldsInAStateRow) {
  const KVLayerSpec state = {.kind = KVLayerKind::State, .conv = {{8, 3}}};
  specs_[0] = state;
  specs_[0].window = 8;
  EXPECT_EQ(refusal(), "layer_specs[0].window is 8; a State row needs 0");
  specs_[0] = state;
  specs_[0].v_quant = kInt8;
  EXPECT_EQ(refusal(),
            "layer_specs[0] is a State row with a k_quant or v_quant; states are not "
            "quantized");
  specs_[0] = state;
  specs_[0].k_scale = {1.0F};
  EXPECT_EQ(refusal(),
            "layer_specs[0] is a State row with a k_scale or v_scale; it must have none");
  specs_[0] = state;
  config_.k_quant = config_.v_quant = kInt8;
  expect_legal();
}

TEST_F(Refusal, StorageTypesThatAreNotFloating) {
  config_.kv_dtype = DType::Int8;
  EXPECT_EQ(refusal(), "config.kv_dtype is int8; it must be f32, f16 or bf16");
  config_.kv_dtype = DType::F16;
  specs_[1] = {.kind = KVLayerKind::State, .conv = {{8, 3}}, .conv_dtype = DType::E4M3};
  EXPECT_EQ(refusal(), "layer_specs[1].conv_dtype is e4m3; it must be f32, f16 or bf16");
  specs_[1] = {.kind = KVLayerKind::State, .recurrent = {1, 2, 3}, .state_dtype = DType::Int32};
  EXPECT_EQ(refusal(), "layer_specs[1].state_dtype is int32; it must be f32, f16 or bf16");
}

TEST_F(Refusal, StaticScaleWithACodecThatIsNotFp8) {
  specs_[1].k_quant = KVQuantSpec{.codec = KVCodec::Int8, .scale = KVScale::Static};
  specs_[1].k_scale = {1.0F};
  EXPECT_EQ(refusal(),
            "layer_specs[1].k_quant has a Static scale with codec Int8; Static needs "
            "E4M3 or E5M2");
  specs_[1] = {};
  specs_[1].v_quant = KVQuantSpec{.codec = KVCodec::None, .scale = KVScale::Static};
  EXPECT_EQ(refusal(),
            "layer_specs[1].v_quant has a Static scale with codec None; Static needs "
            "E4M3 or E5M2");
  specs_[1] = {};
  config_.v_quant = {.codec = KVCodec::Int4, .scale = KVScale::Static};
  EXPECT_EQ(refusal(),
            "config.v_quant has a Static scale with codec Int4; Static needs E4M3 or "
            "E5M2");
}

TEST_F(Refusal, StaticScalesOfTheWrongCount) {
  specs_[1].k_quant = kStaticFp8;
  EXPECT_EQ(refusal(),
            "layer_specs[1].k_scale has 0 values; a Static scale needs 1 or 2, one a "
            "head");
  specs_[1].k_scale = {1.0F, 1.0F, 1.0F};
  EXPECT_EQ(refusal(),
            "layer_specs[1].k_scale has 3 values; a Static scale needs 1 or 2, one a "
            "head");
  specs_[1].k_scale = {1.0F};
  expect_legal();
  specs_[1].k_scale = {1.0F, 0.25F};
  expect_legal();
}

TEST_F(Refusal, StaticScalesThatAreNotFiniteAndPositive) {
  specs_[0].v_quant = kStaticFp8;
  const float infinity = std::numeric_limits<float>::infinity();
  const std::pair<float, const char*> cases[] = {
      {0.0F, "0.000000"}, {-0.5F, "-0.500000"}, {infinity, "inf"}, {std::nanf(""), "nan"}};
  for (const auto& [scale, text] : cases) {
    specs_[0].v_scale = {1.0F, scale};
    EXPECT_EQ(refusal(), "layer_specs[0].v_scale[1] is " + std::string(text) +
                             "; a scale must be finite and > 0");
  }
}

TEST_F(Refusal, ScalesGivenWhereNoneAreTaken) {
  specs_[0].k_scale = {1.0F};
  EXPECT_EQ(refusal(),
            "layer_specs[0].k_scale has 1 values; it must be empty with codec None and "
            "no Static scale");
  specs_[0].k_quant = kFp8;
  EXPECT_EQ(refusal(),
            "layer_specs[0].k_scale has 1 values; it must be empty with codec E4M3 and "
            "no Static scale");
  specs_[0] = {};
  specs_[0].v_scale = {1.0F, 1.0F};
  EXPECT_EQ(refusal(),
            "layer_specs[0].v_scale has 2 values; it must be empty with codec None and "
            "no Static scale");
}

TEST_F(Refusal, AStaticConfigNeedsScalesOfEveryRowThatInheritsIt) {
  config_.k_quant = kStaticFp8;
  specs_[0].k_scale = {1.0F};
  EXPECT_EQ(refusal(),
            "layer_specs[1].k_scale has 0 values; a Static scale needs 1 or 2, one a "
            "head");
  specs_[1].k_quant = KVQuantSpec{};
  expect_legal();
}

TEST_F(Refusal, Int4WithAnOddHeadDim) {
  config_.head_dim = 15;
  config_.k_quant = kInt4;
  EXPECT_EQ(refusal(),
            "layer_specs[0].k_quant is Int4 with head_dim 15; Int4 needs an even one, "
            "two elements share a byte");
  config_.k_quant = {};
  config_.head_dim = 16;
  specs_[1].v_head_dim = 15;
  specs_[1].v_quant = kInt4;
  EXPECT_EQ(refusal(),
            "layer_specs[1].v_quant is Int4 with v_head_dim 15; Int4 needs an even one, "
            "two elements share a byte");
}

TEST_F(Refusal, OneAllocationBeyond64Bits) {
  config_ = {.num_layers = 2,
             .max_seqs = 1 << 24,
             .max_tokens_per_seq = (std::int64_t{1} << 31) - 1,
             .kv_heads = 128,
             .head_dim = 128};
  EXPECT_EQ(refusal(),
            "layer 0 keys: shape [16777216, 128, 2147483647, 128] of bf16 does not fit "
            "into 64 bits; the largest is 9223372036854775807");
}

TEST_F(Refusal, ThePoolBeyond64Bits) {
  make_paged();
  config_.paged->num_blocks = kMaxBlocks;
  config_.paged->block_size = 65536;
  config_.kv_heads = 64;
  config_.head_dim = 256;
  EXPECT_EQ(refusal(),
            "pool 0: shape [4, 2147483647, 64, 65536, 256] of bf16 does not fit into 64 "
            "bits; the largest is 9223372036854775807");
}

TEST_F(Refusal, AStateBeyond64Bits) {
  constexpr int kHuge = std::numeric_limits<int>::max();
  specs_[1] = {.kind = KVLayerKind::State, .recurrent = {kHuge, kHuge, kHuge}};
  EXPECT_NE(refusal().find("layer 1 recurrent: shape [4, 2147483647, 2147483647, 2147483647]"),
            std::string::npos);
}

TEST_F(Refusal, ASumBeyond64BitsOfAllocationsThatFit) {
  // Each of keys and values is 2^62 bytes: two fit by themselves, and not together.
  config_ = {.num_layers = 1,
             .max_seqs = 1 << 24,
             .max_tokens_per_seq = std::int64_t{1} << 30,
             .kv_heads = 1,
             .head_dim = 128};
  specs_.resize(1);
  EXPECT_EQ(refusal(),
            "the footprint of all rows and tables does not fit into 64 bits; the "
            "largest is 9223372036854775807");
  config_.head_dim = 64;
  expect_legal();
}

}  // namespace
}  // namespace octavo
