// How often each node of a tree met each label, and what it said of it: one compact hash table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "labeltrees/hash.hpp"
#include "labeltrees/tree.hpp"

namespace labeltrees {

// What one ledger knows of one label.
struct LedgerEntry {
  std::uint64_t key = 0;  // (ledger << 32) + label; 0 marks an empty place
  float count = 0;        // summed weight of the examples; stays at 2^24 when it gets there
  float mean = 0;         // mean score of the examples
};
static_assert(sizeof(LedgerEntry) == 16);

// Adds a value to a running mean, count being its weight already increased by `weight`.
inline float moved_mean(float mean, float count, float value, float weight) noexcept {
  return mean + weight * (value - mean) / count;
}

// Ledgers are opened one after the other, numbered from 1, and closed for good: a number never
// comes again, so what a closed ledger said is never taken for another's. Entries of all ledgers
// lie in one open-addressing table; those of closed ones are dropped when it grows.
//
// Threads: any number may call the const functions while none calls the others.
class Ledgers {
 public:
  static constexpr std::uint64_t key(std::uint32_t ledger, LabelId label) noexcept {
    return (std::uint64_t{ledger} << 32) | static_cast<std::uint32_t>(label);
  }

  Ledgers() = default;
  // A state saved earlier: the ledgers 1 .. n_ledgers, of which those without entries and not in
  // use stay closed. Keys must strictly increase and name ledgers that is_open tells are open.
  // Throws TreeError.
  Ledgers(std::vector<std::uint8_t> is_open, std::span<const std::uint64_t> keys,
          std::span<const float> counts, std::span<const float> means);

  std::uint32_t open();
  void close(std::uint32_t ledger) noexcept { heads_[ledger] = closed; }
  bool is_open(std::uint32_t ledger) const noexcept {
    return ledger < heads_.size() && heads_[ledger] != closed;
  }
  // Ledgers opened so far; their numbers are 1 .. n_ledgers().
  std::uint32_t n_ledgers() const noexcept { return static_cast<std::uint32_t>(heads_.size() - 1); }

  // nullptr if the ledger has not met the label. Expected O(1).
  const LedgerEntry* find(std::uint32_t ledger, LabelId label) const noexcept;
  float count(std::uint32_t ledger, LabelId label) const noexcept {
    const LedgerEntry* entry = find(ledger, label);
    return entry == nullptr ? 0.0f : entry->count;
  }
  // The entry, made of zeros if there was none; valid until the next call. Amortised O(1).
  LedgerEntry& obtain(std::uint32_t ledger, LabelId label);
  void prefetch(std::uint32_t ledger, LabelId label) const noexcept;

  // Calls visit(label) for every label the ledger has met, latest first.
  template <typename Visit>
  void for_labels(std::uint32_t ledger, Visit visit) const {
    for (std::uint32_t at = heads_[ledger]; at != 0; at = links_[at].next) visit(links_[at].label);
  }

  // Every entry of an open ledger, by key. O(n log n).
  std::vector<LedgerEntry> sorted_entries() const;
  std::size_t n_bytes() const noexcept {
    return entries_.size() * sizeof(LedgerEntry) + links_.capacity() * sizeof(Link) +
           heads_.capacity() * sizeof(std::uint32_t);
  }

 private:
  static constexpr std::uint32_t closed = 0xffffffffu;
  struct Link {
    LabelId label;
    std::uint32_t next;  // 0 ends
  };

  std::size_t home(std::uint64_t key) const noexcept {
    return static_cast<std::size_t>(mix_bits(key)) & (entries_.size() - 1);
  }
  LedgerEntry& place_of(std::uint64_t key) noexcept;
  void grow();

  std::vector<LedgerEntry> entries_;  // a power of two, less than two thirds full
  std::size_t used_ = 0;
  std::vector<std::uint32_t> heads_{closed};  // by ledger: its last link, 0 if it has none
  std::vector<Link> links_{{none, 0}};
};

}  // namespace labeltrees
