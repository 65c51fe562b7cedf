// Decimal numbers read exactly, in any locale.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace labeltrees {

constexpr bool is_digit(char c) noexcept { return static_cast<unsigned char>(c - '0') < 10; }

// 10^0 .. 10^22, the powers of ten that a double holds exactly.
inline constexpr std::array<double, 23> exact_powers_of_ten{
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// Reads all of [begin, end), which matches digits[.digits][e[sign]digits], at any length. The
// result is the nearest double; infinity if that is too large.
double parse_long_decimal(const char* begin, const char* end);

// Reads the longest [sign]digits[.digits][e[sign]digits] at the front of [begin, end) into the
// nearest double, as Python's float() does; digits may be missing on one side of the point. Returns
// the end of the number, or nullptr if there is none. Words ("nan", "inf") are not numbers.
//
// Up to 19 digits whose integer is below 2^53, multiplied or divided by an exact power of ten, take
// one correctly rounded operation (Clinger 1990). Longer numbers take parse_long_decimal.
inline const char* parse_decimal(const char* begin, const char* end, double& value) {
  const char* at = begin;
  bool negative = false;
  if (at != end && (*at == '-' || *at == '+')) negative = *at++ == '-';
  const char* const first = at;
  std::uint64_t digits = 0;
  while (at != end && is_digit(*at)) digits = digits * 10 + static_cast<std::uint64_t>(*at++ - '0');
  std::ptrdiff_t n_digits = at - first;
  std::ptrdiff_t exponent = 0;
  if (at != end && *at == '.') {
    const char* const fraction = ++at;
    while (at != end && is_digit(*at)) {
      digits = digits * 10 + static_cast<std::uint64_t>(*at++ - '0');
    }
    exponent = fraction - at;
    n_digits += at - fraction;
  }
  if (n_digits == 0) return nullptr;
  if (at != end && (*at == 'e' || *at == 'E')) {
    const char* power = at + 1;
    bool down = false;
    if (power != end && (*power == '-' || *power == '+')) down = *power++ == '-';
    if (power != end && is_digit(*power)) {
      std::ptrdiff_t shift = 0;
      for (; power != end && is_digit(*power); ++power) {
        if (shift < 100'000) shift = shift * 10 + (*power - '0');
      }
      exponent += down ? -shift : shift;
      at = power;
    }
  }
  double size;
  if (n_digits <= 19 && digits <= (std::uint64_t{1} << 53) && exponent >= -22 && exponent <= 22) {
    const double whole = static_cast<double>(digits);
    size = exponent < 0 ? whole / exact_powers_of_ten[static_cast<std::size_t>(-exponent)]
                        : whole * exact_powers_of_ten[static_cast<std::size_t>(exponent)];
  } else {
    size = parse_long_decimal(first, at);
  }
  value = negative ? -size : size;
  return at;
}

}  // namespace labeltrees
