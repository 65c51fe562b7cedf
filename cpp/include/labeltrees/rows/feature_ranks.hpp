// The features that occur among some, and the rank of each among them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "labeltrees/platform/index.hpp"

namespace labeltrees {

// A bit for every number up to the largest: 1.5 bits of memory each. O(1) for a rank.
class FeatureRanks {
 public:
  // Features >= 0, in any order and any number of times.
  explicit FeatureRanks(std::span<const std::int32_t> features)
      : FeatureRanks(std::span(&features, 1)) {}
  explicit FeatureRanks(std::span<const std::span<const std::int32_t>> parts) {
    std::int32_t largest = -1;
    for (const auto& part : parts) {
      for (const std::int32_t f : part) largest = std::max(largest, f);
    }
    bits_.assign(index(std::max(largest, 0)) / 64 + 1, 0);
    for (const auto& part : parts) {
      for (const std::int32_t f : part) bits_[index(f) / 64] |= std::uint64_t{1} << (index(f) % 64);
    }
    for (const std::uint64_t word : bits_) {
      before_.push_back(n_);
      n_ += std::popcount(word);
    }
  }

  // How many different features there are.
  std::size_t size() const noexcept { return index(n_); }

  // The rank of a feature that occurs.
  std::int32_t rank(std::int32_t feature) const noexcept {
    const std::uint64_t below = (std::uint64_t{1} << (index(feature) % 64)) - 1;
    return before_[index(feature) / 64] + std::popcount(bits_[index(feature) / 64] & below);
  }

  // The features by rank.
  std::vector<std::int32_t> names() const {
    std::vector<std::int32_t> names;
    names.reserve(size());
    for (std::size_t i = 0; i < bits_.size(); ++i) {
      for (std::uint64_t word = bits_[i]; word != 0; word &= word - 1) {
        names.push_back(static_cast<std::int32_t>(64 * i) + std::countr_zero(word));
      }
    }
    return names;
  }

 private:
  std::vector<std::uint64_t> bits_;
  std::vector<std::int32_t> before_;  // features below each word
  std::int32_t n_ = 0;
};

}  // namespace labeltrees
