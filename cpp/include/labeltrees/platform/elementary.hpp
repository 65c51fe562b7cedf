// Implementations of exp, log and related functions that return the same bits on every machine.
//
// Results of the C library's functions differ in the last bit between versions and processors, so
// models would differ too. These functions use additions, multiplications, divisions and bit
// operations only, without fused operations, so IEEE arithmetic gives one result.
//
// Largest errors seen, in units in the last place (tests/platform/test_elementary.cpp): floats
// 0.51; doubles exp and exp2 0.56, log 0.9, log2 1.7, log1p 1.5; pow (1 + |y ln x|) times 1.7 as a
// double. Ends of the range, infinities and NaN are as IEEE 754 recommends.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace labeltrees::elementary {

inline constexpr double ln_2 = 0x1.62e42fefa39efp-1;

namespace detail {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double log2_e = 0x1.71547652b82fep+0;
// ln 2 in two parts; the first has 36 bits, so that its products with exponents times n_pieces are
// exact.
inline constexpr double ln_2_high = 0x1.62e42fefa0000p-1, ln_2_low = 0x1.cf79abc9e3b3ap-40;
// Added and taken away again, it rounds to the nearest integer, which is in its low bits meanwhile.
inline constexpr double rounder = 0x1.8p52;

// A whole number as a double and as an integer. Of NaN, any integer.
struct Whole {
  double value;
  std::int64_t integer;
};
constexpr Whole nearest(double x) noexcept {
  const double shifted = x + rounder;
  return {shifted - rounder, static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(shifted) -
                                                       std::bit_cast<std::uint64_t>(rounder))};
}

constexpr double power_of_two(std::int64_t k) noexcept {
  return std::bit_cast<double>(static_cast<std::uint64_t>(k + 1023) << 52);
}
// y 2^k, rounded once; y is near 1.
constexpr double scaled(double y, std::int64_t k) noexcept {
  const std::int64_t part = k > 1000 ? 1000 : (k < -1000 ? -1000 : k);
  const double scale = power_of_two(part);  // ready before y is
  return k == part ? y * scale : y * power_of_two(k - part) * scale;
}

inline constexpr std::size_t n_pieces = 32;
// 2^(i / n_pieces), in two parts.
struct Root {
  double high, low;
};
inline constexpr std::array<Root, n_pieces> roots_of_two{
    {{0x1.0000000000000p+0, 0x0.0p+0},
     {0x1.059b0d3158574p+0, 0x1.d73e2a475b465p-55},
     {0x1.0b5586cf9890fp+0, 0x1.8a62e4adc610bp-54},
     {0x1.11301d0125b51p+0, -0x1.6c51039449b3ap-54},
     {0x1.172b83c7d517bp+0, -0x1.19041b9d78a76p-55},
     {0x1.1d4873168b9aap+0, 0x1.e016e00a2643cp-54},
     {0x1.2387a6e756238p+0, 0x1.9b07eb6c70573p-54},
     {0x1.29e9df51fdee1p+0, 0x1.612e8afad1255p-55},
     {0x1.306fe0a31b715p+0, 0x1.6f46ad23182e4p-55},
     {0x1.371a7373aa9cbp+0, -0x1.63aeabf42eae2p-54},
     {0x1.3dea64c123422p+0, 0x1.ada0911f09ebcp-55},
     {0x1.44e086061892dp+0, 0x1.89b7a04ef80d0p-59},
     {0x1.4bfdad5362a27p+0, 0x1.d4397afec42e2p-56},
     {0x1.5342b569d4f82p+0, -0x1.07abe1db13cadp-55},
     {0x1.5ab07dd485429p+0, 0x1.6324c054647adp-54},
     {0x1.6247eb03a5585p+0, -0x1.383c17e40b497p-54},
     {0x1.6a09e667f3bcdp+0, -0x1.bdd3413b26456p-54},
     {0x1.71f75e8ec5f74p+0, -0x1.16e4786887a99p-55},
     {0x1.7a11473eb0187p+0, -0x1.41577ee04992fp-55},
     {0x1.82589994cce13p+0, -0x1.d4c1dd41532d8p-54},
     {0x1.8ace5422aa0dbp+0, 0x1.6e9f156864b27p-54},
     {0x1.93737b0cdc5e5p+0, -0x1.75fc781b57ebcp-57},
     {0x1.9c49182a3f090p+0, 0x1.c7c46b071f2bep-56},
     {0x1.a5503b23e255dp+0, -0x1.d2f6edb8d41e1p-54},
     {0x1.ae89f995ad3adp+0, 0x1.7a1cd345dcc81p-54},
     {0x1.b7f76f2fb5e47p+0, -0x1.5584f7e54ac3bp-56},
     {0x1.c199bdd85529cp+0, 0x1.11065895048ddp-55},
     {0x1.cb720dcef9069p+0, 0x1.503cbd1e949dbp-56},
     {0x1.d5818dcfba487p+0, 0x1.2ed02d75b3707p-55},
     {0x1.dfc97337b9b5fp+0, -0x1.1a5cd4f184b5cp-54},
     {0x1.ea4afa2a490dap+0, -0x1.e9c23179c2893p-54},
     {0x1.f50765b6e4540p+0, 0x1.9d3e12dd8a18bp-54}}};
constexpr const Root& root_of(std::int64_t k) noexcept {
  return roots_of_two[static_cast<std::uint64_t>(k) % n_pieces];
}

// e^r - 1 for |r| <= ln 2 / 64; what is left out is below 2e-18 (r^7 / 5040).
constexpr double exp_minus_1(double r) noexcept {
  const double r2 = r * r;
  const double a = 1.0 / 2 + r * (1.0 / 6), b = (1.0 / 24 + r * (1.0 / 120)) + r2 * (1.0 / 720);
  return r + (r2 * a + r2 * r2 * b);
}
// 2^(k / n_pieces) e^r.
constexpr double power(std::int64_t k, double r) noexcept {
  const Root& root = root_of(k);
  return scaled(root.high + (root.low + root.high * exp_minus_1(r)), k >> 5);
}

// x = 2^k m with m in [sqrt(1/2), sqrt(2)); x > 0 and normal.
struct Parts {
  double k, m;
};
constexpr Parts parts_of(double x) noexcept {
  constexpr auto root = std::bit_cast<std::uint64_t>(0x1.6a09e667f3bcdp-1);  // sqrt(1/2)
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const std::int64_t k = static_cast<std::int64_t>(bits - root) >> 52;
  return {static_cast<double>(k),
          std::bit_cast<double>(bits - (static_cast<std::uint64_t>(k) << 52))};
}
// The same for any x > 0; of others, anything.
constexpr Parts parts_of_any(double x) noexcept {
  const bool tiny = x < std::numeric_limits<double>::min();
  Parts parts = parts_of(tiny ? x * 0x1p54 : x);
  parts.k -= tiny ? 54.0 : 0.0;
  return parts;
}

// ln(1 + f) = 2 artanh(s) with s = f / (2 + f) is f - (f^2/2 - s (f^2/2 + R)), where R is the sum
// of 2 s^(2i) / (2i + 1) for i >= 1, to s^20. f^2/2 is what the first term leaves, so that little
// is rounded off. Here: s (f^2/2 + R).
constexpr double log_rest(double f, double half_square) noexcept {
  const double s = f / (2.0 + f), z = s * s, z2 = z * z, z4 = z2 * z2;
  const double a = (2.0 / 3 + z * (2.0 / 5)) + z2 * (2.0 / 7 + z * (2.0 / 9));
  const double b = (2.0 / 11 + z * (2.0 / 13)) + z2 * (2.0 / 15 + z * (2.0 / 17));
  const double c = 2.0 / 19 + z * (2.0 / 21);
  return s * (half_square + z * (a + z4 * (b + z4 * c)));
}

// The logarithm of an x that is not a positive finite number: -inf of 0, inf of inf, else NaN.
constexpr double with_ends(double x, double log_x) noexcept {
  const double positive = x < infinity ? log_x : x;
  const double other = x == 0 ? -infinity : std::numeric_limits<double>::quiet_NaN();
  return x > 0 ? positive : other;
}

}  // namespace detail

constexpr double exp(double x) noexcept {
  const detail::Whole k = detail::nearest(x * (detail::n_pieces * detail::log2_e));
  const double high = x - k.value * (detail::ln_2_high / detail::n_pieces);
  const double y = detail::power(k.integer, high - k.value * (detail::ln_2_low / detail::n_pieces));
  return x > 710.0 ? detail::infinity : (x < -746.0 ? 0.0 : y);
}

constexpr double log(double x) noexcept {
  const detail::Parts x_is = detail::parts_of_any(x);
  const double f = x_is.m - 1.0, half_square = 0.5 * f * f;
  const double rest = detail::log_rest(f, half_square) + x_is.k * detail::ln_2_low;
  return detail::with_ends(x, x_is.k * detail::ln_2_high + (f - (half_square - rest)));
}

// Floats by double arithmetic and small tables, rounded at the end.
namespace detail {

// Table of pieces of [sqrt(1/2), sqrt(2)): the inverse and the logarithm of a number near each
// piece. Near 1 that number is exactly 1, so that small logarithms are accurate.
struct Near {
  double inverse, log;
};
inline constexpr auto first_piece = std::bit_cast<std::uint64_t>(0x1.6a09e667f3bcdp-1);
inline constexpr auto pieces = [] {
  std::array<Near, n_pieces> near{};
  for (std::uint64_t i = 0; i < n_pieces; ++i) {
    const double from = std::bit_cast<double>(first_piece + (i << 47));
    const double to = std::bit_cast<double>(first_piece + ((i + 1) << 47));
    const double middle = from <= 1 && 1 < to ? 1.0 : (from + to) / 2;
    near[i] = {1.0 / middle, elementary::log(middle)};
  }
  return near;
}();

}  // namespace detail

inline float exp(float x) noexcept {
  const detail::Whole k = detail::nearest(double{x} * (detail::n_pieces * detail::log2_e));
  const double r = double{x} - k.value * (ln_2 / detail::n_pieces);  // r^4 / 24 < 6e-10
  const double scale = detail::root_of(k.integer).high * detail::power_of_two(k.integer >> 5);
  const auto y = static_cast<float>(((1.0 + r) + r * r * (1.0 / 2 + r * (1.0 / 6))) * scale);
  return x > 90.0f ? std::numeric_limits<float>::infinity() : (x < -110.0f ? 0.0f : y);
}

inline float log(float x) noexcept {
  const auto bits = std::bit_cast<std::uint64_t>(double{x});  // a float is a normal double, or 0
  const std::uint64_t above = bits - detail::first_piece;
  const std::int64_t k = static_cast<std::int64_t>(above) >> 52;
  const detail::Near& near = detail::pieces[(above >> 47) % detail::n_pieces];
  const double m = std::bit_cast<double>(bits - (static_cast<std::uint64_t>(k) << 52));
  const double r = m * near.inverse - 1.0, r2 = r * r;  // r^6 / 6 < 3e-11
  const double series = r - r2 * ((1.0 / 2 - r * (1.0 / 3)) + r2 * (1.0 / 4 - r * (1.0 / 5)));
  const double y = (static_cast<double>(k) * ln_2 + near.log) + series;
  return static_cast<float>(detail::with_ends(double{x}, y));
}

// Exact for powers of two.
inline double log2(double x) noexcept {
  const detail::Parts x_is = detail::parts_of_any(x);
  const double f = x_is.m - 1.0, half_square = 0.5 * f * f;
  const double ln = f - (half_square - detail::log_rest(f, half_square));
  return detail::with_ends(x, x_is.k + ln * detail::log2_e);
}

// ln(1 + x), right for small x too: what 1 + x rounds off is added to its logarithm.
inline double log1p(double x) noexcept {
  const double u = 1.0 + x;
  const double rounded_off = (x - (u - 1.0)) / u;
  const double y = log(u) + rounded_off;
  return u > 0 && u < detail::infinity ? y : log(u);
}

// Exact for whole numbers.
inline double exp2(double x) noexcept {
  const detail::Whole k = detail::nearest(x * detail::n_pieces);
  const double f = x - k.value / detail::n_pieces;
  const double y = detail::power(k.integer, f * ln_2);
  return x > 1030.0 ? detail::infinity : (x < -1080.0 ? 0.0 : y);
}

// x^y for x >= 0; 1 for y = 0, and x for y = 1, for any x.
inline double pow(double x, double y) noexcept {
  const double power = exp(y * log(x));
  return y == 0 ? 1.0 : (y == 1 ? x : power);
}
// By double arithmetic, rounded at the end.
inline float pow(float x, float y) noexcept {
  return static_cast<float>(pow(double{x}, double{y}));
}

}  // namespace labeltrees::elementary
