// IEEE 754 half precision, the 16-bit numbers in which weights are stored.
#pragma once

#include <bit>
#include <cstdint>

namespace labeltrees {

// Exact for every finite half. The bits, moved to a float, are too small by a factor of 2^112.
inline float half_to_float(std::uint16_t half) noexcept {
  const std::uint32_t bits = (static_cast<std::uint32_t>(half & 0x8000u) << 16) |
                             (static_cast<std::uint32_t>(half & 0x7fffu) << 13);
  return std::bit_cast<float>(bits) * 0x1p112f;
}

// To the nearest half, ties to even; past the largest finite half, that.
inline std::uint16_t float_to_half(float value) noexcept {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  float magnitude = std::bit_cast<float>(bits & 0x7fffffffu);
  if (!(magnitude < 65504.0f)) magnitude = 65504.0f;
  const float scaled = magnitude * 0x1p-112f;  // rounds where the half is subnormal
  std::uint32_t wide = std::bit_cast<std::uint32_t>(scaled);
  wide += 0xfffu + ((wide >> 13) & 1u);
  return static_cast<std::uint16_t>(sign | (wide >> 13));
}

}  // namespace labeltrees
