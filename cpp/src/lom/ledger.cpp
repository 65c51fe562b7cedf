#include "labeltrees/lom/ledger.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "labeltrees/platform/room.hpp"

namespace labeltrees {
namespace {

void put_part(LedgerEntry& entry, LedgerPart part, float count, float mean) noexcept {
  switch (part) {
    case LedgerPart::leaf:
      entry.leaf_count = count;
      break;
    case LedgerPart::inner:
      entry.inner_count = count;
      entry.mean = mean;
      break;
    case LedgerPart::histogram:
      entry.count = count;
      break;
  }
}

}  // namespace

Ledgers::Ledgers(std::span<const std::uint8_t> is_open, std::span<const std::uint64_t> keys,
                 std::span<const float> counts, std::span<const float> means) {
  if (counts.size() != keys.size() || means.size() != keys.size()) {
    throw TreeError("ledgers need a count and a mean for every key");
  }
  if (is_open.size() % n_ledger_parts != 0) throw TreeError("a ledger lacks some of its parts");
  for (std::size_t i = 0; i < is_open.size(); i += n_ledger_parts) {
    heads_.push_back(is_open[i] != 0 ? 0 : closed);
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto number = static_cast<std::uint32_t>(keys[i] >> 32);
    const auto label = static_cast<LabelId>(keys[i] & 0xffffffffu);
    if ((i > 0 && keys[i] <= keys[i - 1]) || label < 0 || !this->is_open(number)) {
      throw TreeError("entry " + std::to_string(i) + " is out of order or names no ledger");
    }
    if (!(counts[i] > 0) || !std::isfinite(counts[i]) || !std::isfinite(means[i])) {
      throw TreeError("entry " + std::to_string(i) + " has no finite count above 0");
    }
    const std::uint32_t part = (number - 1) % n_ledger_parts;
    put_part(obtain(number - part, label), LedgerPart{part}, counts[i], means[i]);
  }
}

void Ledgers::make_room(std::size_t n_ledgers, std::size_t n_entries) {
  labeltrees::make_room(heads_, n_ledgers);
  if (3 * (used_ + n_entries) > 2 * capacity_) rebuild(n_entries);
  labeltrees::make_room(links_, n_entries);
}

std::uint32_t Ledgers::open() {
  heads_.push_back(0);
  return n_parts() - n_ledger_parts + 1;
}

LedgerEntry& Ledgers::place_of(std::uint64_t key) const noexcept {
  std::size_t at = home(key);
  while (entries()[at].key != key && entries()[at].key != 0) at = (at + 1) & (capacity_ - 1);
  return entries()[at];
}

const LedgerEntry* Ledgers::find(std::uint32_t ledger, LabelId label) const noexcept {
  if (capacity_ == 0) return nullptr;
  const LedgerEntry& entry = place_of(key(ledger, label));
  return entry.key == 0 ? nullptr : &entry;
}

LedgerEntry& Ledgers::obtain(std::uint32_t ledger, LabelId label) {
  const std::uint64_t sought = key(ledger, label);
  if (capacity_ != 0) {
    LedgerEntry& entry = place_of(sought);
    if (entry.key == sought) return entry;
  }
  make_room(0, 1);
  LedgerEntry& entry = place_of(sought);
  entry.key = sought;
  ++used_;
  links_.push_back({label, heads_[index(ledger)]});
  heads_[index(ledger)] = static_cast<std::uint32_t>(links_.size() - 1);
  return entry;
}

// Keeps the entries and links of open ledgers only, with capacity for n_entries more.
void Ledgers::rebuild(std::size_t n_entries) {
  const std::span<const LedgerEntry> old(entries(), capacity_);
  const auto n_kept = static_cast<std::size_t>(
      std::count_if(old.begin(), old.end(), [&](const LedgerEntry& e) { return is_kept(e); }));
  std::size_t capacity = 16;
  while (capacity < 3 * (n_kept + 1) || 2 * capacity < 3 * (n_kept + n_entries)) capacity *= 2;
  std::vector<Link> links{{none, 0}};
  links.reserve(n_kept + 1);
  Pages before(capacity * sizeof(LedgerEntry));
  std::swap(before, pages_);
  capacity_ = capacity;
  used_ = n_kept;
  for (const LedgerEntry& entry : old) {
    if (is_kept(entry)) place_of(entry.key) = entry;
  }
  tidy_links(std::move(links));
}

// Puts the links of every open ledger side by side. links: holds the one that ends all, and has
// capacity for the rest.
void Ledgers::tidy_links(std::vector<Link> links) noexcept {
  for (std::uint32_t& head : heads_) {
    if (head == closed) continue;
    const std::size_t first = links.size();
    for (std::uint32_t at = head; at != 0; at = links_[at].next) {
      links.push_back({links_[at].label, 0});
    }
    std::reverse(links.begin() + static_cast<std::ptrdiff_t>(first), links.end());
    head = 0;
    for (std::size_t at = first; at < links.size(); ++at) {
      links[at].next = head;
      head = static_cast<std::uint32_t>(at);
    }
  }
  links_ = std::move(links);
}

std::vector<SavedEntry> Ledgers::sorted_entries() const {
  std::vector<SavedEntry> sorted;
  const auto save = [&](const LedgerEntry& entry, LedgerPart part, float count, float mean) {
    const auto ahead = std::uint64_t{static_cast<std::uint32_t>(part)} << 32;
    if (count > 0) sorted.push_back({entry.key + ahead, count, mean});
  };
  for (const LedgerEntry& entry : std::span<const LedgerEntry>(entries(), capacity_)) {
    if (!is_kept(entry)) continue;
    save(entry, LedgerPart::leaf, entry.leaf_count, 0);
    save(entry, LedgerPart::inner, entry.inner_count, entry.mean);
    save(entry, LedgerPart::histogram, entry.count, 0);
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const SavedEntry& a, const SavedEntry& b) { return a.key < b.key; });
  return sorted;
}

}  // namespace labeltrees
