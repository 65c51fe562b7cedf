#include "labeltrees/ledger.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace labeltrees {

Ledgers::Ledgers(std::vector<std::uint8_t> is_open, std::span<const std::uint64_t> keys,
                 std::span<const float> counts, std::span<const float> means) {
  if (counts.size() != keys.size() || means.size() != keys.size()) {
    throw TreeError("ledgers need a count and a mean for every key");
  }
  for (const std::uint8_t open : is_open) heads_.push_back(open != 0 ? 0 : closed);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto ledger = static_cast<std::uint32_t>(keys[i] >> 32);
    const auto label = static_cast<LabelId>(keys[i] & 0xffffffffu);
    if ((i > 0 && keys[i] <= keys[i - 1]) || label < 0 || !this->is_open(ledger)) {
      throw TreeError("entry " + std::to_string(i) + " is out of order or names no ledger");
    }
    if (!(counts[i] > 0) || !std::isfinite(counts[i]) || !std::isfinite(means[i])) {
      throw TreeError("entry " + std::to_string(i) + " has no finite count above 0");
    }
    LedgerEntry& entry = obtain(ledger, label);
    entry.count = counts[i];
    entry.mean = means[i];
  }
}

std::uint32_t Ledgers::open() {
  heads_.push_back(0);
  return n_ledgers();
}

LedgerEntry& Ledgers::place_of(std::uint64_t key) noexcept {
  std::size_t at = home(key);
  while (entries_[at].key != key && entries_[at].key != 0) at = (at + 1) & (entries_.size() - 1);
  return entries_[at];
}

const LedgerEntry* Ledgers::find(std::uint32_t ledger, LabelId label) const noexcept {
  if (entries_.empty()) return nullptr;
  const std::uint64_t wanted = key(ledger, label);
  for (std::size_t at = home(wanted);; at = (at + 1) & (entries_.size() - 1)) {
    if (entries_[at].key == wanted) return &entries_[at];
    if (entries_[at].key == 0) return nullptr;
  }
}

void Ledgers::prefetch(std::uint32_t ledger, LabelId label) const noexcept {
#if defined(__GNUC__)
  if (!entries_.empty()) __builtin_prefetch(&entries_[home(key(ledger, label))], 1, 3);
#else
  (void)ledger, (void)label;
#endif
}

LedgerEntry& Ledgers::obtain(std::uint32_t ledger, LabelId label) {
  const std::uint64_t wanted = key(ledger, label);
  if (!entries_.empty()) {
    LedgerEntry& entry = place_of(wanted);
    if (entry.key == wanted) return entry;
  }
  if (3 * (used_ + 1) > 2 * entries_.size()) grow();
  LedgerEntry& entry = place_of(wanted);
  entry.key = wanted;
  ++used_;
  links_.push_back({label, heads_[ledger]});
  heads_[ledger] = static_cast<std::uint32_t>(links_.size() - 1);
  return entry;
}

// Keeps the entries and links of open ledgers only.
void Ledgers::grow() {
  std::vector<LedgerEntry> kept;
  for (const LedgerEntry& entry : entries_) {
    if (entry.key != 0 && is_open(static_cast<std::uint32_t>(entry.key >> 32))) {
      kept.push_back(entry);
    }
  }
  std::size_t capacity = 16;
  while (capacity < 3 * (kept.size() + 1)) capacity *= 2;
  entries_.assign(capacity, {});
  used_ = kept.size();
  for (const LedgerEntry& entry : kept) place_of(entry.key) = entry;
  std::vector<Link> links{{none, 0}};
  links.reserve(kept.size() + 1);
  for (std::uint32_t ledger = 1; ledger < heads_.size(); ++ledger) {
    if (heads_[ledger] == closed) continue;
    std::uint32_t head = 0;
    const std::size_t first = links.size();
    for_labels(ledger, [&](LabelId label) { links.push_back({label, 0}); });
    std::reverse(links.begin() + static_cast<std::ptrdiff_t>(first), links.end());
    for (std::size_t at = first; at < links.size(); ++at) {
      links[at].next = head;
      head = static_cast<std::uint32_t>(at);
    }
    heads_[ledger] = head;
  }
  links_ = std::move(links);
}

std::vector<LedgerEntry> Ledgers::sorted_entries() const {
  std::vector<LedgerEntry> sorted;
  for (const LedgerEntry& entry : entries_) {
    if (entry.count > 0 && is_open(static_cast<std::uint32_t>(entry.key >> 32))) {
      sorted.push_back(entry);
    }
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const LedgerEntry& a, const LedgerEntry& b) { return a.key < b.key; });
  return sorted;
}

}  // namespace labeltrees
