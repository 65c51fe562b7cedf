// Hashing that gives the same numbers on every little-endian machine, run and thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace labeltrees {

// A bijection of 64-bit integers whose every output bit depends on every input bit.
constexpr std::uint64_t mix_bits(std::uint64_t x) noexcept {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ULL;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ULL;
  x ^= x >> 32;
  return x;
}

// The hash of a pair; not symmetric.
constexpr std::uint64_t combine_hashes(std::uint64_t first, std::uint64_t second) noexcept {
  return mix_bits(first * 0x9e3779b97f4a7c15ULL + second);
}

// The hash of a byte string, eight bytes at a time. O(length).
inline std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t seed = 0) noexcept {
  std::uint64_t hash = mix_bits(seed ^ (bytes.size() * 0x9e3779b97f4a7c15ULL));
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; at += 8, left -= 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    hash = combine_hashes(hash, word);
  }
  std::uint64_t tail = 0;
  if (left != 0) std::memcpy(&tail, at, left);
  return combine_hashes(hash, tail);
}

// Hashed features are in [0, hashed_width). The range is wide enough that fewer than one in a
// hundred of a few million distinct features collides, and narrow enough for 32-bit indices.
inline constexpr std::uint32_t hashed_width = std::uint32_t{1} << 30;

constexpr std::int32_t feature_of_hash(std::uint64_t hash) noexcept {
  return static_cast<std::int32_t>(hash & (hashed_width - 1));
}

}  // namespace labeltrees
