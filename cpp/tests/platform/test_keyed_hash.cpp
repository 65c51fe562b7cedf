#include <array>
#include <bit>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "../check.hpp"
#include "labeltrees/platform/hash.hpp"
#include "labeltrees/platform/keyed_hash.hpp"

using namespace labeltrees;

namespace {

// Any four numbers, two of them odd, some with few bits.
constexpr std::array<HashSecret, 4> secrets{{
    {0x243f6a8885a308d3, 0x13198a2e03707345, 0xa4093822299f31d0, 0x082efa98ec4e6c89},
    {0x452821e638d01377, 0xbe5466cf34e90c6d, 0xc0ac29b7c97c50dd, 0x3f84d5b5b5470917},
    {0x9216d5d98979fb1b, 0xd1310ba698dfb5ad, 0x2ffd72dbd01adfb7, 0xb8e1afed6a267e97},
    {0x0000000000000001, 0x24a19947b3916cf7, 0x8000000000000000, 0x0801f2e2858efc17},
}};

// Keys as tables meet them: (block, feature) and (ledger, label).
std::vector<std::vector<std::uint64_t>> real_keys() {
  std::vector<std::vector<std::uint64_t>> all(4);
  for (std::uint64_t i = 0; i < 40'000; ++i) {
    all[0].push_back((1 + i % 400) << 32 | i / 400);  // few features
    all[1].push_back(std::uint64_t{1} << 32 | i);     // one block
    all[2].push_back((1 + i) << 32 | 0xffffffffu);    // the constant
    all[3].push_back((1 + i % 8) << 32 | static_cast<std::uint32_t>(feature_of_hash(mix_bits(i))));
  }
  return all;
}

// Chi-squared of how keys fall into 256 parts by eight bits of their hashes; 255 is expected, with
// a standard deviation of 22.6.
double chi_squared(const std::vector<std::uint64_t>& keys, const HashSecret& secret, int shift) {
  std::array<double, 256> n{};
  for (const std::uint64_t key : keys) ++n[keyed_hash(key, secret) >> shift & 255];
  const double expected = static_cast<double>(keys.size()) / 256;
  double sum = 0;
  for (const double count : n) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

}  // namespace

TEST(a_keyed_hash_spreads_real_keys_evenly_over_every_byte_of_it) {
  for (const HashSecret& secret : secrets) {
    for (const auto& keys : real_keys()) {
      for (int shift = 0; shift <= 56; shift += 4) {
        const double x = chi_squared(keys, secret, shift);
        CHECK(x > 255 - 6 * 22.6 && x < 255 + 6 * 22.6);
      }
    }
  }
}

TEST(every_bit_of_a_key_changes_about_half_of_its_hash) {
  std::mt19937_64 random(1);
  for (const HashSecret& secret : secrets) {
    for (int bit = 0; bit < 64; ++bit) {
      int n_changed = 0;
      for (int i = 0; i < 200; ++i) {
        const std::uint64_t key = random();
        const std::uint64_t other = key ^ std::uint64_t{1} << bit;
        n_changed += std::popcount(keyed_hash(key, secret) ^ keyed_hash(other, secret));
      }
      CHECK(n_changed > 200 * 28 && n_changed < 200 * 36);
    }
  }
}

TEST(a_folded_product_is_that_of_the_schoolbook) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t a = random() >> random() % 64, b = random() >> random() % 64;
    std::array<std::uint64_t, 4> digit{};  // of 32 bits
    for (int j = 0; j < 2; ++j) {
      std::uint64_t carry = 0;
      for (int k = 0; k < 2; ++k) {
        carry += digit[static_cast<std::size_t>(j + k)] +
                 (a >> 32 * j & 0xffffffffu) * (b >> 32 * k & 0xffffffffu);
        digit[static_cast<std::size_t>(j + k)] = carry & 0xffffffffu;
        carry >>= 32;
      }
      digit[static_cast<std::size_t>(j + 2)] = carry;
    }
    const std::uint64_t low = digit[1] << 32 | digit[0], high = digit[3] << 32 | digit[2];
    CHECK(fold_product(a, b) == (low ^ high));
  }
}

TEST(byte_strings_of_every_length_have_distinct_hashes) {
  std::set<std::uint64_t> hashes;
  for (std::size_t length = 0; length < 40; ++length) {
    hashes.insert(keyed_hash(std::string(length, '\0'), secrets[0]));
    for (std::size_t i = 0; i < length; ++i) {
      std::string text(length, '\0');
      text[i] = 'x';
      hashes.insert(keyed_hash(text, secrets[0]));
    }
  }
  CHECK(hashes.size() == 40 + 39 * 40 / 2);
}

TEST(a_process_has_a_secret) {
  CHECK(process_secret.factor % 2 == 1 && process_secret.second_factor % 2 == 1);
  CHECK(process_secret.factor != process_secret.second_factor);
  CHECK(process_secret.offset != process_secret.second_offset);
}
