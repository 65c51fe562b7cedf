// The count of each label at each node of a tree, and its scores there, in one compact hash table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "labeltrees/platform/keyed_hash.hpp"
#include "labeltrees/platform/pages.hpp"
#include "labeltrees/tree/label_tree.hpp"

namespace labeltrees {

// What one node's ledger knows of one label. Counts are summed weights of examples, and stay at
// 2^24 when they get there.
struct alignas(32) LedgerEntry {
  std::uint64_t key = 0;  // (ledger << 32) + label; 0 marks an empty place
  float leaf_count = 0;   // learned while the node was a leaf
  float inner_count = 0;  // learned since its split,
  float mean = 0;         // and their mean score
  float count = 0;        // in the node's histogram
};
static_assert(sizeof(LedgerEntry) == 32);

// A ledger has three parts, which are saved as separate ledgers. A part's number is the ledger's
// plus this.
enum class LedgerPart : std::uint32_t { leaf, inner, histogram };
inline constexpr std::uint32_t n_ledger_parts = 3;

struct SavedEntry {
  std::uint64_t key;  // (part << 32) + label
  float count, mean;
};

// Adds a value to a running mean, count being its weight already increased by `weight`.
inline float moved_mean(float mean, float count, float value, float weight) noexcept {
  return mean + weight * (value - mean) / count;
}

// Ledgers are opened one after the other, numbered 1, 4, 7 and so on, and closed for good. A number
// is never reused, so entries of a closed ledger are never taken for another's. Entries of all
// ledgers lie in one open-addressing table; entries of closed ledgers are dropped when it grows.
//
// Threads: any number may call the const functions while none calls the others.
class Ledgers {
 public:
  static constexpr std::uint64_t key(std::uint32_t ledger, LabelId label) noexcept {
    return (std::uint64_t{ledger} << 32) | static_cast<std::uint32_t>(label);
  }

  Ledgers() = default;
  // Restores a saved state: which of the parts 1, 2, 3 .. are open, and their entries. Keys must
  // strictly increase and name parts that are open. Throws TreeError.
  Ledgers(std::span<const std::uint8_t> is_open, std::span<const std::uint64_t> keys,
          std::span<const float> counts, std::span<const float> means);

  // Reserves memory for new ledgers and entries. open and obtain then do not throw, and entries
  // stay where they are. Amortised O(1) an entry. Throws std::bad_alloc.
  void make_room(std::size_t n_ledgers, std::size_t n_entries);
  std::uint32_t open();
  void close(std::uint32_t ledger) noexcept { heads_[index(ledger)] = closed; }
  // For a ledger or one of its parts.
  bool is_open(std::uint32_t part) const noexcept {
    return part != 0 && index(part) < heads_.size() && heads_[index(part)] != closed;
  }
  static bool is_number(std::uint32_t ledger) noexcept { return ledger % n_ledger_parts == 1; }
  // Parts of all ledgers opened so far; their numbers are 1 .. n_parts().
  std::uint32_t n_parts() const noexcept {
    return static_cast<std::uint32_t>(heads_.size()) * n_ledger_parts;
  }

  // nullptr if the ledger has not met the label. Expected O(1).
  const LedgerEntry* find(std::uint32_t ledger, LabelId label) const noexcept;
  // How often the label is in the histogram.
  float count(std::uint32_t ledger, LabelId label) const noexcept {
    const LedgerEntry* entry = find(ledger, label);
    return entry == nullptr ? 0.0f : entry->count;
  }
  // The entry, made of zeros if there was none. It is valid until the next call, or until the next
  // make_room if the last one reserved memory for it. Amortised O(1).
  LedgerEntry& obtain(std::uint32_t ledger, LabelId label);
  void prefetch(std::uint32_t ledger, LabelId label) const noexcept {
#if defined(__GNUC__)
    if (capacity_ != 0) __builtin_prefetch(entries() + home(key(ledger, label)), 1, 3);
#else
    (void)ledger, (void)label;
#endif
  }

  // Calls visit(label) for every label the ledger has met, latest first.
  template <typename Visit>
  void for_labels(std::uint32_t ledger, Visit visit) const {
    for (std::uint32_t at = heads_[index(ledger)]; at != 0; at = links_[at].next) {
      visit(links_[at].label);
    }
  }

  // Every part's entries with a count above 0, of open ledgers, by key. O(n log n).
  std::vector<SavedEntry> sorted_entries() const;
  std::size_t n_bytes() const noexcept {
    return capacity_ * sizeof(LedgerEntry) + links_.capacity() * sizeof(Link) +
           heads_.capacity() * sizeof(std::uint32_t);
  }

 private:
  static constexpr std::uint32_t closed = 0xffffffffu;
  struct Link {
    LabelId label;
    std::uint32_t next;  // 0 ends
  };

  static std::size_t index(std::uint32_t part) noexcept { return (part - 1) / n_ledger_parts; }
  LedgerEntry* entries() const noexcept { return static_cast<LedgerEntry*>(pages_.start()); }
  std::size_t home(std::uint64_t key) const noexcept {
    return static_cast<std::size_t>(keyed_hash(key, process_secret)) & (capacity_ - 1);
  }
  LedgerEntry& place_of(std::uint64_t key) const noexcept;
  bool is_kept(const LedgerEntry& entry) const noexcept {
    return entry.key != 0 && is_open(static_cast<std::uint32_t>(entry.key >> 32));
  }
  void rebuild(std::size_t n_entries);
  void tidy_links(std::vector<Link> links) noexcept;

  Pages pages_;
  std::size_t capacity_ = 0;  // a power of two; less than two thirds of it are used
  std::size_t used_ = 0;
  std::vector<std::uint32_t> heads_;  // by ledger; its last link, 0 if it has none
  std::vector<Link> links_{{none, 0}};
};

}  // namespace labeltrees
