#include "matrix_product.h"

#include "tensor_core.h"
#include "warp_functions.h"

namespace octavo::emulation {
namespace {

constexpr unsigned kLanes = 32;
constexpr unsigned kRows = 16;    // Of a and c.
constexpr unsigned kColumns = 8;  // Of b and c.

// What one lane holds.
template <typename Sum>
struct Fragments {
  Sum* c;
  const std::uint32_t* a;
  const std::uint32_t* b;
};

template <typename Sum>
const Fragments<Sum>& fragments_of(const std::uint64_t* lanes, unsigned lane) {
  return *reinterpret_cast<const Fragments<Sum>*>(lanes[lane]);
}

// Register r of a lane's a holds the rows g (r even) or g + 8, and the first or the second half of
// the sum's length (r / 2); register r of b the half r. Elements within a register follow each
// other, four 8-bit ones or two 16-bit ones.
template <typename Sum, typename Element, unsigned kLength, typename Decode>
void gather(const std::uint64_t* lanes,
            Decode decode,
            Element (&a)[kRows][kLength],
            Element (&b)[kColumns][kLength]) {
  constexpr unsigned kEach = kLength / 8;  // Elements of a register.
  constexpr unsigned kBits = 32 / kEach;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const Fragments<Sum>& own = fragments_of<Sum>(lanes, lane);
    const unsigned group = lane / 4;
    const unsigned first = lane % 4 * kEach;
    for (unsigned i = 0; i < kEach; ++i) {
      for (unsigned r = 0; r < 4; ++r) {
        a[group + r % 2 * 8][first + i + r / 2 * (kLength / 2)] =
            decode(own.a[r] >> (i * kBits), true);
      }
      for (unsigned r = 0; r < 2; ++r) {
        b[group][first + i + r * (kLength / 2)] = decode(own.b[r] >> (i * kBits), false);
      }
    }
  }
}

// c[row][column] = sum(row, column, c[row][column]) in every lane.
template <typename Sum, typename Function>
void update(const std::uint64_t* lanes, Function sum) {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    Sum* c = fragments_of<Sum>(lanes, lane).c;
    for (unsigned r = 0; r < 4; ++r) {
      c[r] = sum(lane / 4 + r / 2 * 8, lane % 4 * 2 + r % 2, c[r]);
    }
  }
}

template <bool kSignedA>
void multiply_bytes(const std::uint64_t* lanes) {
  constexpr unsigned kLength = 32;
  alignas(16) std::int16_t a[kRows][kLength];
  alignas(16) std::int16_t b[kColumns][kLength];
  const auto decode = [](std::uint32_t bits, bool is_a) -> std::int16_t {
    const auto byte = static_cast<std::uint8_t>(bits);
    return is_a && !kSignedA ? std::int16_t{byte} : std::int16_t{static_cast<std::int8_t>(byte)};
  };
  gather<int>(lanes, decode, a, b);
  update<int>(lanes, [&](unsigned row, unsigned column, int c) {
    int sum = 0;  // Below 2^21 in size.
    for (unsigned k = 0; k < kLength; ++k) {
      sum += a[row][k] * b[column][k];
    }
    return static_cast<int>(static_cast<unsigned>(c) + static_cast<unsigned>(sum));  // Wraps.
  });
}

template <HalfFormat kFormat>
void multiply_halves(const std::uint64_t* lanes) {
  std::uint16_t a[kRows][kTensorCoreTerms];
  std::uint16_t b[kColumns][kTensorCoreTerms];
  const auto decode = [](std::uint32_t bits, bool /*is_a*/) {
    return static_cast<std::uint16_t>(bits);
  };
  gather<float>(lanes, decode, a, b);
  TensorCoreTerms rows[kRows];
  TensorCoreTerms columns[kColumns];
  for (unsigned i = 0; i < kRows; ++i) {
    rows[i] = tensor_core_terms(kFormat, a[i]);
  }
  for (unsigned i = 0; i < kColumns; ++i) {
    columns[i] = tensor_core_terms(kFormat, b[i]);
  }
  update<float>(lanes, [&](unsigned row, unsigned column, float c) {
    return tensor_core_sum(rows[row], columns[column], c);
  });
}

template <typename Sum>
void multiply(WarpFunction product,
              Sum (&c)[4],
              const std::uint32_t (&a)[4],
              const std::uint32_t (&b)[2],
              Site site) {
  const Fragments<Sum> own{c, a, b};
  take_part({Operation::MatrixProduct, 0xFFFFFFFFu, 32, site, product},
            reinterpret_cast<std::uint64_t>(&own));
}

}  // namespace

void multiply_s8_s8(int (&c)[4],
                    const std::uint32_t (&a)[4],
                    const std::uint32_t (&b)[2],
                    Site site) {
  multiply(&multiply_bytes<true>, c, a, b, site);
}
void multiply_u8_s8(int (&c)[4],
                    const std::uint32_t (&a)[4],
                    const std::uint32_t (&b)[2],
                    Site site) {
  multiply(&multiply_bytes<false>, c, a, b, site);
}
void multiply_bf16(float (&c)[4],
                   const std::uint32_t (&a)[4],
                   const std::uint32_t (&b)[2],
                   Site site) {
  multiply(&multiply_halves<HalfFormat::BF16>, c, a, b, site);
}
void multiply_f16(float (&c)[4],
                  const std::uint32_t (&a)[4],
                  const std::uint32_t (&b)[2],
                  Site site) {
  multiply(&multiply_halves<HalfFormat::F16>, c, a, b, site);
}

}  // namespace octavo::emulation
