// exp, log and their kin of our own: the same bits on every machine.
//
// The C library's differ from one version and processor to the next in the last bit, and a model
// would with them. These consist of additions, multiplications, divisions and bits alone, nothing
// fused, so IEEE arithmetic gives one answer. Without branches, so that loops can be vectorised.
//
// Largest errors seen, in units in the last place (tests/machine/test_elementary.cpp): floats 0.51;
// doubles exp 0.9, log 0.9, log2 1.7, log1p 1.5, exp2 1.1; pow (1 + |y ln x|) times 1.7 as a
// double. Ends of the range, infinities and NaN are as IEEE 754 recommends.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace labeltrees::elementary {

inline constexpr double ln_2 = 0x1.62e42fefa39efp-1;

namespace detail {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double log2_e = 0x1.71547652b82fep+0;
// ln 2 in two parts; the first has 42 bits, so that its products with exponents are exact.
inline constexpr double ln_2_high = 0x1.62e42fefa38p-1, ln_2_low = 0x1.ef35793c7673p-45;
// Added and taken away again, it rounds to the nearest integer, which is in its low bits meanwhile.
inline constexpr double rounder = 0x1.8p52;

// A whole number as a double and as an integer. Of NaN, any integer.
struct Whole {
  double value;
  std::int64_t integer;
};
inline Whole nearest(double x) noexcept {
  const double shifted = x + rounder;
  return {shifted - rounder, static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(shifted) -
                                                       std::bit_cast<std::uint64_t>(rounder))};
}

inline double power_of_two(std::int64_t k) noexcept {
  return std::bit_cast<double>(static_cast<std::uint64_t>(k + 1023) << 52);
}
// y 2^k, rounded once; y is near 1.
inline double scaled(double y, std::int64_t k) noexcept {
  const std::int64_t half = k >> 1;
  return y * power_of_two(half) * power_of_two(k - half);
}

// The sum of r^i / (i + 2)! to r^11 (doubles) or r^6 (floats), in pairs, so that few operations
// wait for one another. |r| <= ln 2 / 2: what is left out is below 4e-18 or 2e-10.
inline double exp_series(double r) noexcept {
  const double r2 = r * r, r4 = r2 * r2;
  const double a = (1.0 / 2 + r * (1.0 / 6)) + r2 * (1.0 / 24 + r * (1.0 / 120));
  const double b = (1.0 / 720 + r * (1.0 / 5040)) + r2 * (1.0 / 40320 + r * (1.0 / 362880));
  const double c =
      (1.0 / 3628800 + r * (1.0 / 39916800)) + r2 * (1.0 / 479001600 + r * (1.0 / 6227020800.0));
  return a + r4 * (b + r4 * c);
}
inline double short_exp_series(double r) noexcept {
  const double r2 = r * r;
  const double a = (1.0 / 2 + r * (1.0 / 6)) + r2 * (1.0 / 24 + r * (1.0 / 120));
  const double b = (1.0 / 720 + r * (1.0 / 5040)) + r2 * (1.0 / 40320);
  return a + r2 * r2 * b;
}

// e^(high - low), low far smaller than high, |high| <= ln 2 / 2.
inline double exp_near_zero(double high, double low) noexcept {
  const double r = high - low;
  return 1.0 + (high + (r * r * exp_series(r) - low));
}

// x = 2^k m with m in [sqrt(1/2), sqrt(2)); x > 0 and normal.
struct Parts {
  double k, m;
};
inline Parts parts_of(double x) noexcept {
  constexpr auto root = std::bit_cast<std::uint64_t>(0x1.6a09e667f3bcdp-1);  // sqrt(1/2)
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const std::int64_t k = static_cast<std::int64_t>(bits - root) >> 52;
  return {static_cast<double>(k),
          std::bit_cast<double>(bits - (static_cast<std::uint64_t>(k) << 52))};
}
// The same for any x > 0; of others, anything.
inline Parts parts_of_any(double x) noexcept {
  const bool tiny = x < std::numeric_limits<double>::min();
  Parts parts = parts_of(tiny ? x * 0x1p54 : x);
  parts.k -= tiny ? 54.0 : 0.0;
  return parts;
}

// ln(1 + f) = 2 artanh(s) with s = f / (2 + f) is f - (f^2/2 - s (f^2/2 + R)), where R is the sum
// of 2 s^(2i) / (2i + 1) for i >= 1, to s^20 (doubles) or s^10 (floats). f^2/2 is what the first
// term leaves, so that little is rounded off. Here: s (f^2/2 + R).
inline double log_rest(double f, double half_square) noexcept {
  const double s = f / (2.0 + f), z = s * s, z2 = z * z, z4 = z2 * z2;
  const double a = (2.0 / 3 + z * (2.0 / 5)) + z2 * (2.0 / 7 + z * (2.0 / 9));
  const double b = (2.0 / 11 + z * (2.0 / 13)) + z2 * (2.0 / 15 + z * (2.0 / 17));
  const double c = 2.0 / 19 + z * (2.0 / 21);
  return s * (half_square + z * (a + z4 * (b + z4 * c)));
}
inline double short_log_rest(double f, double half_square) noexcept {
  const double s = f / (2.0 + f), z = s * s, z2 = z * z;
  const double a = (2.0 / 3 + z * (2.0 / 5)) + z2 * (2.0 / 7 + z * (2.0 / 9));
  return s * (half_square + z * (a + z2 * z2 * (2.0 / 11)));
}

// What a logarithm is where x is no positive number: -inf of 0, inf of inf, else NaN.
inline double with_ends(double x, double log_x) noexcept {
  const double positive = x < infinity ? log_x : x;
  const double other = x == 0 ? -infinity : std::numeric_limits<double>::quiet_NaN();
  return x > 0 ? positive : other;
}

}  // namespace detail

inline double exp(double x) noexcept {
  const double above = x < -746.0 ? -746.0 : x;  // NaN stays
  const double within = above > 710.0 ? 710.0 : above;
  const detail::Whole k = detail::nearest(within * detail::log2_e);
  const double high = within - k.value * detail::ln_2_high, low = k.value * detail::ln_2_low;
  return detail::scaled(detail::exp_near_zero(high, low), k.integer);
}

// By double arithmetic, rounded at the end.
inline float exp(float x) noexcept {
  const double above = x < -110.0f ? -110.0 : double{x};
  const double within = above > 90.0 ? 90.0 : above;
  const detail::Whole k = detail::nearest(within * detail::log2_e);
  const double r = within - k.value * ln_2;
  const double y = 1.0 + (r + r * r * detail::short_exp_series(r));
  return static_cast<float>(y * detail::power_of_two(k.integer));
}

inline double log(double x) noexcept {
  const detail::Parts x_is = detail::parts_of_any(x);
  const double f = x_is.m - 1.0, half_square = 0.5 * f * f;
  const double rest = detail::log_rest(f, half_square) + x_is.k * detail::ln_2_low;
  return detail::with_ends(x, x_is.k * detail::ln_2_high + (f - (half_square - rest)));
}

inline float log(float x) noexcept {
  const detail::Parts x_is = detail::parts_of(double{x});  // a float is a normal double, or 0
  const double f = x_is.m - 1.0, half_square = 0.5 * f * f;
  const double rest = detail::short_log_rest(f, half_square);
  const double y = x_is.k * ln_2 + (f - (half_square - rest));
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
  const double above = x < -1080.0 ? -1080.0 : x;
  const double within = above > 1030.0 ? 1030.0 : above;
  const detail::Whole k = detail::nearest(within);
  const double f = within - k.value;
  return detail::scaled(detail::exp_near_zero(f * ln_2, 0.0), k.integer);
}

// x^y for x >= 0; 1 for y = 0, and x for y = 1, whatever x is.
inline double pow(double x, double y) noexcept {
  const double power = exp(y * log(x));
  return y == 0 ? 1.0 : (y == 1 ? x : power);
}
// By double arithmetic, rounded at the end.
inline float pow(float x, float y) noexcept {
  return static_cast<float>(pow(double{x}, double{y}));
}

}  // namespace labeltrees::elementary
