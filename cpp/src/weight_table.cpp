#include "labeltrees/weight_table.hpp"

#include <algorithm>
#include <cstring>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace labeltrees {
namespace {

constexpr std::size_t huge_page = std::size_t{1} << 21;

}  // namespace

template <typename Line>
typename LineTable<Line>::Lines LineTable<Line>::allocate(std::size_t capacity) {
  const std::size_t n_bytes = capacity * sizeof(Line);
  const auto alignment = std::align_val_t{n_bytes >= huge_page ? huge_page : alignof(Line)};
  void* memory = ::operator new[](n_bytes, alignment);
#if defined(__linux__)
  // Random access over gigabytes: huge pages save most of the address translation.
  if (n_bytes >= huge_page) (void)madvise(memory, n_bytes, MADV_HUGEPAGE);
#endif
  std::memset(memory, 0, n_bytes);
  return Lines(static_cast<Line*>(memory), FreeLines<Line>{alignment});
}

template <typename Line>
void LineTable<Line>::Shard::grow(std::uint64_t new_capacity) {
  Shard larger;
  larger.lines = allocate(new_capacity);
  larger.capacity = new_capacity;
  larger.used = used;
  for (std::uint64_t i = 0; i < capacity; ++i) {
    if (lines[i].key == 0) continue;
    std::uint64_t at = larger.home(mix_bits(lines[i].key));
    while (larger.lines[at].key != 0) at = at + 1 == new_capacity ? 0 : at + 1;
    larger.lines[at] = lines[i];
  }
  *this = std::move(larger);
}

template <typename Line>
std::size_t LineTable<Line>::n_bytes() const noexcept {
  std::size_t capacity = 0;
  for (const Shard& shard : shards_) capacity += shard.capacity;
  return capacity * sizeof(Line);
}

template <typename Line>
const Line* LineTable<Line>::find(std::uint64_t key) const noexcept {
  const std::uint64_t hash = mix_bits(key);
  const Shard& shard = shards_[shard_of(hash)];
  if (shard.capacity == 0) return nullptr;
  std::uint64_t at = shard.home(hash);
  while (shard.lines[at].key != key) {
    if (shard.lines[at].key == 0) return nullptr;
    at = at + 1 == shard.capacity ? 0 : at + 1;
  }
  return &shard.lines[at];
}

template <typename Line>
void LineTable<Line>::prefetch(std::uint64_t key) const noexcept {
#if defined(__GNUC__)
  const std::uint64_t hash = mix_bits(key);
  const Shard& shard = shards_[shard_of(hash)];
  __builtin_prefetch(shard.lines.get() + shard.home(hash), 0, 3);
#else
  (void)key;
#endif
}

template <typename Line>
void LineTable<Line>::make_room(std::size_t n) {
  if (n <= room_) {
    room_ -= n;
    return;
  }
  std::uint64_t least = ~std::uint64_t{0};
  for (Shard& shard : shards_) {
    if (shard.limit() - std::min(shard.limit(), shard.used) < n) {
      const std::uint64_t needed = (shard.used + n) + (shard.used + n) / 4 + 1;
      shard.grow(std::max({needed, shard.capacity + shard.capacity / 2, std::uint64_t{8}}));
    }
    least = std::min(least, shard.limit() - shard.used);
  }
  room_ = least - n;
}

template <typename Line>
Line& LineTable<Line>::obtain(std::uint64_t key) noexcept {
  const std::uint64_t hash = mix_bits(key);
  Shard& shard = shards_[shard_of(hash)];
  std::uint64_t at = shard.home(hash);
  while (shard.lines[at].key != key) {
    if (shard.lines[at].key == 0) {
      shard.lines[at].key = key;
      ++shard.used;
      ++size_;
      break;
    }
    at = at + 1 == shard.capacity ? 0 : at + 1;
  }
  return shard.lines[at];
}

template <typename Line>
std::vector<const Line*> LineTable<Line>::sorted_lines() const {
  std::vector<std::pair<std::uint64_t, const Line*>> order;  // sorts without chasing pointers
  order.reserve(size_);
  for (const Shard& shard : shards_) {
    for (std::uint64_t i = 0; i < shard.capacity; ++i) {
      if (shard.lines[i].key != 0) order.emplace_back(shard.lines[i].key, &shard.lines[i]);
    }
  }
  std::sort(order.begin(), order.end());
  std::vector<const Line*> lines(order.size());
  std::transform(order.begin(), order.end(), lines.begin(), [](const auto& o) { return o.second; });
  return lines;
}

template class LineTable<WeightLine>;
template class LineTable<CountedLine>;

}  // namespace labeltrees
