// A hash that attackers cannot predict, for tables whose keys they may choose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#if defined(_MSC_VER) && defined(_M_X64)
#include <intrin.h>
#endif

namespace labeltrees {

// The two halves of the 128-bit product, combined by exclusive or.
inline std::uint64_t fold_product(std::uint64_t a, std::uint64_t b) noexcept {
#if defined(__SIZEOF_INT128__)
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
#elif defined(_MSC_VER) && defined(_M_X64)
  std::uint64_t high;
  const std::uint64_t low = _umul128(a, b, &high);
  return low ^ high;
#else
  const std::uint64_t a_low = a & 0xffffffffu, a_high = a >> 32;
  const std::uint64_t b_low = b & 0xffffffffu, b_high = b >> 32;
  const std::uint64_t lows = a_low * b_low, cross = a_high * b_low;
  const std::uint64_t middle = (lows >> 32) + (cross & 0xffffffffu) + a_low * b_high;
  const std::uint64_t high = a_high * b_high + (cross >> 32) + (middle >> 32);
  return ((middle << 32) | (lows & 0xffffffffu)) ^ high;
#endif
}

// What a keyed hash keeps to itself. Factors are odd.
struct HashSecret {
  std::uint64_t offset, factor, second_offset, second_factor;
};

// Without the secret, an attacker cannot find keys whose hashes have more bits in common than
// random ones. Only the layout of a table may depend on this hash. Anything that is saved,
// predicted or shared uses mix_bits, which is the same everywhere.
inline std::uint64_t keyed_hash(std::uint64_t key, const HashSecret& secret) noexcept {
  const std::uint64_t once = fold_product(key ^ secret.offset, secret.factor);
  return fold_product(once ^ secret.second_offset, secret.second_factor);
}

// The same of a byte string. O(length).
inline std::uint64_t keyed_hash(std::string_view bytes, const HashSecret& secret) noexcept {
  std::uint64_t hash = secret.offset ^ bytes.size();
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (std::uint64_t word; left >= 8; at += 8, left -= 8) {
    std::memcpy(&word, at, 8);
    hash = fold_product(hash ^ word, secret.factor);
  }
  std::uint64_t tail = 0;
  if (left != 0) std::memcpy(&tail, at, left);
  hash = fold_product(hash ^ tail, secret.factor);
  return fold_product(hash ^ secret.second_offset, secret.second_factor);
}

// Drawn once per process.
extern const HashSecret process_secret;

// For the standard library's maps and sets.
struct KeyedHash {
  std::size_t operator()(std::int64_t key) const noexcept {
    return static_cast<std::size_t>(keyed_hash(static_cast<std::uint64_t>(key), process_secret));
  }
  std::size_t operator()(std::string_view key) const noexcept {
    return static_cast<std::size_t>(keyed_hash(key, process_secret));
  }
};

}  // namespace labeltrees
