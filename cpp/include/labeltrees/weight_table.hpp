// Weights of very many sparse linear regressors, seven to a cache line.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "labeltrees/hash.hpp"

namespace labeltrees {

// A block is a binary subtree of three levels, hence seven regressors.
inline constexpr std::size_t block_size = 7;

// One feature's part in the seven regressors of one block: exactly one cache line.
struct alignas(64) WeightLine {
  std::uint64_t key = 0;                      // 0 marks an empty line
  std::array<float, 2 * block_size> value{};  // weights, then the optimiser's sums

  float& weight(std::size_t slot) noexcept { return value[slot]; }
  float& sum(std::size_t slot) noexcept { return value[block_size + slot]; }
  float weight(std::size_t slot) const noexcept { return value[slot]; }
  float sum(std::size_t slot) const noexcept { return value[block_size + slot]; }
};
static_assert(sizeof(WeightLine) == 64);

// The same with counts of the examples that went left and right. To make room for them a sum has 16
// bits: no sign, 6 bits of exponent (2^-40 to 2^23, beyond which it stays) and 10 of fraction.
struct alignas(64) CountedLine {
  std::uint64_t key = 0;
  std::array<float, block_size> weight{};
  std::array<std::uint16_t, block_size> sum_code{};
  std::array<std::uint8_t, block_size> left{}, right{};

  float sum(std::size_t slot) const noexcept {
    const std::uint32_t code = sum_code[slot];
    return code == 0 ? 0.0f : std::bit_cast<float>((code + code_offset) << 13);
  }
  // Rounds to the nearest that can be stored. value >= 0.
  void set_sum(std::size_t slot, float value) noexcept {
    const std::uint32_t bits = (std::bit_cast<std::uint32_t>(value) + 0x1000u) >> 13;
    const std::uint32_t above = bits < code_offset ? 0 : bits - code_offset;
    sum_code[slot] = static_cast<std::uint16_t>(above < 0xffffu ? above : 0xffffu);
  }

 private:
  static constexpr std::uint32_t code_offset = std::uint32_t{127 - 40} << 10;
};
static_assert(sizeof(CountedLine) == 64);

template <typename Line>
struct FreeLines {
  std::align_val_t alignment{alignof(Line)};
  void operator()(Line* lines) const noexcept { ::operator delete[](lines, alignment); }
};

// An exact, growing hash table from (block, feature) to a line: open addressing with linear
// probing, cut into shards that grow one at a time, so that growing never needs twice the memory.
// No two keys share a line. Lines keep their address until make_room is called again.
//
// Threads: any number may call the const functions while none calls the others.
template <typename Line>
class LineTable {
 public:
  // Blocks count from 1, so that no key is 0.
  static constexpr std::uint64_t key(std::uint32_t block, std::uint32_t feature) noexcept {
    return (std::uint64_t{block} << 32) | feature;
  }
  static constexpr std::uint32_t block_of(std::uint64_t key) noexcept {
    return static_cast<std::uint32_t>(key >> 32);
  }
  static constexpr std::uint32_t feature_of(std::uint64_t key) noexcept {
    return static_cast<std::uint32_t>(key);
  }

  std::size_t size() const noexcept { return size_; }
  // Memory held, in bytes.
  std::size_t n_bytes() const noexcept;

  // The line of a key, or nullptr. Expected O(1).
  const Line* find(std::uint64_t key) const noexcept;
  // Asks the processor to fetch the line that find or obtain will most likely touch.
  void prefetch(std::uint64_t key) const noexcept;
  // After make_room(n), n calls of obtain leave every line where it is. Amortised O(n).
  void make_room(std::size_t n);
  // The line of a key, made of zeros if there was none. Needs room.
  Line& obtain(std::uint64_t key) noexcept;

  // Every line, in order of its key. O(n log n).
  std::vector<const Line*> sorted_lines() const;

 private:
  static constexpr std::size_t shard_bits = 4;
  static constexpr std::size_t n_shards = std::size_t{1} << shard_bits;

  using Lines = std::unique_ptr<Line[], FreeLines<Line>>;
  static Lines allocate(std::size_t capacity);

  struct Shard {
    Lines lines;
    std::uint64_t capacity = 0;
    std::uint64_t used = 0;

    // Linear probing stays short below four fifths full.
    std::uint64_t limit() const noexcept { return capacity - capacity / 5; }
    std::uint64_t home(std::uint64_t hash) const noexcept {
      return ((hash & 0xffffffffULL) * capacity) >> 32;
    }
    void grow(std::uint64_t new_capacity);
  };
  static constexpr std::size_t shard_of(std::uint64_t hash) noexcept {
    return hash >> (64 - shard_bits);
  }

  std::array<Shard, n_shards> shards_;
  std::size_t size_ = 0;
  std::size_t room_ = 0;  // obtain calls that are certain to fit
};

using WeightTable = LineTable<WeightLine>;
using CountedTable = LineTable<CountedLine>;

extern template class LineTable<WeightLine>;
extern template class LineTable<CountedLine>;

}  // namespace labeltrees
