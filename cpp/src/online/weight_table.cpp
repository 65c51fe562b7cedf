#include "labeltrees/online/weight_table.hpp"

#include <algorithm>
#include <cstring>
#include <thread>

#include "labeltrees/platform/room.hpp"

namespace labeltrees {

template <typename Line>
std::size_t LineTable<Line>::n_bytes() const noexcept {
  std::size_t n_lines = n_spilt_;
  for (const auto& segment : segments_) n_lines += segment->capacity;
  return Segment::n_bytes(n_lines);
}

template <typename Line>
void LineTable<Line>::limit_bytes(std::size_t n_bytes) noexcept {
  // Minimum fill of the table: after the first splits, and later, when there are many segments that
  // split at different times.
  const double share = n_bytes < (std::size_t{1} << 26) ? 0.40 : 0.55;
  const auto n_lines =
      static_cast<std::size_t>(share * static_cast<double>(n_bytes)) / sizeof(Line);
  n_shared_ = n_lines / 8;
  exact_limit_ = n_lines - n_shared_;
}

template <typename Line>
const Line* LineTable<Line>::search(const Window& window, std::uint64_t key,
                                    std::uint64_t hash) noexcept {
  const std::uint8_t tag = TagGroup::of(hash);
  for (std::uint64_t group = window.home(hash);; group = window.after(group)) {
    auto [fits, free] = window.tags[group].matches(tag);
    for (; fits != 0; fits &= fits - 1) {
      const Line& line =
          window.lines[group * group_size + static_cast<std::size_t>(std::countr_zero(fits))];
      if (read_shared(line.key) == key) return &line;
    }
    if (free != 0) return nullptr;
  }
}

template <typename Line>
const Line* LineTable<Line>::find_exact(std::uint64_t key, std::uint64_t hash) const noexcept {
  const Window& window = window_of(hash);
  if (window.n_groups == 0) return nullptr;
  if (const Line* line = search(window, key, hash); line != nullptr) return line;
  return n_spilt_.load(std::memory_order_relaxed) == 0 ? nullptr : find_spilt(key, hash);
}

template <typename Line>
const Line* LineTable<Line>::find_spilt(std::uint64_t key, std::uint64_t hash) const noexcept {
  const std::lock_guard alone(rare_);
  for (const auto& spill : spills_) {
    if (const Line* line = search(window_on(*spill), key, hash); line != nullptr) return line;
  }
  return nullptr;
}

template <typename Line>
const Line* LineTable<Line>::find(std::uint64_t key) const noexcept {
  const Line* line = find_exact(key);
  return line == nullptr && is_sharing() ? find_exact(shared_key(key)) : line;
}

template <typename Line>
const Line* LineTable<Line>::guess_sharing(std::uint64_t key) const noexcept {
  const Line* const line = guess_exact(key);
  return line == nullptr ? guess_exact(shared_key(key)) : line;
}

template <typename Line>
Line& LineTable<Line>::obtain(std::uint64_t key) {
  if (is_sharing()) {
    const Line* line = find_exact(key);
    return line == nullptr ? obtain_exact(shared_key(key)) : const_cast<Line&>(*line);
  }
  return obtain_exact(key);
}

template <typename Line>
Line& LineTable<Line>::obtain_exact(std::uint64_t key) {
  const std::uint64_t hash = hash_of(key);
  if (const Line* line = find_exact(key, hash); line != nullptr) return const_cast<Line&>(*line);
  if (segments_.empty()) make_room(1);
  return add(window_of(hash), key, hash);
}

// Marks an empty place as the key's; there must be one.
template <typename Line>
Line& LineTable<Line>::take_place(const Window& window, std::uint64_t key,
                                  std::uint64_t hash) noexcept {
  ++window.segment->used;
  std::uint64_t group = window.home(hash);
  std::uint32_t free = window.tags[group].where(0);
  while (free == 0) {
    group = window.after(group);
    free = window.tags[group].where(0);
  }
  const auto i = static_cast<std::size_t>(std::countr_zero(free));
  Line& line = window.lines[group * group_size + i];
  write_shared(line.key, key);
  window.tags[group].set(i, TagGroup::of(hash));
  return line;
}

// A new line at an empty place, or spilt if the segment has hardly any left.
template <typename Line>
Line& LineTable<Line>::add(const Window& window, std::uint64_t key, std::uint64_t hash) {
  Segment& segment = *window.segment;
  if (!alone_) {
    constexpr int patience = 100;  // the thread that adds may have lost its processor
    for (int i = 0; segment.adding.test_and_set(std::memory_order_acquire); ++i) {
      if (i > patience) std::this_thread::yield();
    }
  }
  if (is_growing_ && segment.used == segment.prediction()) order_sibling(segment);
  if (segment.used >= segment.limit()) crowd(segment);
  const bool has_place = segment.used < segment.brim();
  Line* line = has_place ? &take_place(window, key, hash) : nullptr;
  if (!alone_) segment.adding.clear(std::memory_order_release);
  if (!has_place) line = &spill(key, hash);
  if (alone_) ++size_;  // threads would get in each other's way counting; see count_lines
  return *line;
}

// Notes that make_room has to do something about the segment.
template <typename Line>
void LineTable<Line>::crowd(Segment& segment) noexcept {
  if (segment.crowded) return;
  segment.crowded = true;
  const std::lock_guard alone(rare_);
  crowded_.push_back(&segment);
}

template <typename Line>
Line& LineTable<Line>::spill(std::uint64_t key, std::uint64_t hash) {
  const std::lock_guard alone(rare_);
  if (spills_.empty() || spills_.back()->used >= spills_.back()->limit()) add_spill(0);
  Line& line = take_place(window_on(*spills_.back()), key, hash);
  n_spilt_.fetch_add(1, std::memory_order_relaxed);
  return line;
}

// Ensures that n more lines can be added even if all of them belong in one segment. No lines are
// spilt at the time of the call.
template <typename Line>
void LineTable<Line>::make_spill_room(std::size_t n) {
  const Segment& only = *segments_[0];
  // A segment that is not crowded has this many places left.
  const std::size_t n_free =
      depth_ == 0 ? only.brim() - only.used : Segment::brim_of(large) - Segment::limit_of(large);
  if (n <= n_free) return;
  const std::size_t n_spills = n - n_free;
  if (spills_.empty() || spills_.back()->limit() < n_spills) {
    add_spill(n_spills);
    spills_.erase(spills_.begin(), spills_.end() - 1);
  }
  spills_.back()->depth = depth_;  // that lines of one segment do not all begin in one place
}

// Memory for n lines or more, at least as many as have been spilt.
template <typename Line>
void LineTable<Line>::add_spill(std::size_t n) {
  std::uint64_t capacity = spills_.empty() ? smallest : 2 * spills_.back()->capacity;
  while (Segment::limit_of(capacity) < n) capacity *= 2;
  labeltrees::make_room(spills_, 1);
  auto made = std::make_unique<Segment>();
  made->pages = Pages(Segment::n_bytes(capacity));
  made->capacity = capacity;
  made->depth = depth_;
  spills_.push_back(std::move(made));
}

template <typename Line>
void LineTable<Line>::count_lines() noexcept {
  alone_ = true;
  size_ = n_spilt_;
  for (const auto& segment : segments_) size_ += segment->used;
}

template <typename Line>
void LineTable<Line>::make_room(std::size_t n_likely, std::size_t n_most, Workers* workers) {
  if (!alone_) count_lines();
  const std::size_t n_workers = workers == nullptr ? 1 : workers->size();
  if (late_.size() < n_workers) late_.resize(n_workers);
  if (segments_.empty()) add_first_segment();
  if (exact_limit_ != ~std::size_t{0}) {
    const std::size_t n_left =
        exact_limit_ + n_shared_ - std::min(size(), exact_limit_ + n_shared_);
    n_most = std::min(n_most, n_left);
    n_likely = std::min(n_likely, n_left);
  }
  Segment& only = *segments_[0];
  if (depth_ == 0 && only.used + n_likely > only.limit() && only.capacity < large) {
    std::uint64_t capacity = only.capacity;
    while (only.used + n_likely > Segment::limit_of(capacity) && capacity < large) {
      capacity = std::min(2 * capacity, large);
    }
    enlarge(only, capacity);
  }
  relieve_crowded(workers);
  make_spill_room(n_most);
  alone_ = workers == nullptr;
}

template <typename Line>
void LineTable<Line>::add_first_segment() {
  labeltrees::make_room(segments_, 1);
  labeltrees::make_room(crowded_, 1);
  auto made = std::make_unique<Segment>();
  made->pages = Pages(Segment::n_bytes(smallest));
  made->capacity = smallest;
  segments_.push_back(std::move(made));
  show(*segments_[0]);
}

// A segment for which there is no memory stays crowded, and is tried again the next time.
template <typename Line>
void LineTable<Line>::relieve_crowded(Workers* workers) {
  while (!crowded_.empty() || !moves_.empty() || n_spilt_ != 0) {
    try {
      while (!crowded_.empty()) {
        relieve(*crowded_.back());
        crowded_.back()->crowded = false;
        crowded_.pop_back();
      }
    } catch (...) {
      carry_all(workers);
      throw;
    }
    carry_all(workers);
    if (crowded_.empty()) take_spilt();
  }
}

template <typename Line>
void LineTable<Line>::relieve(Segment& segment) {
  if (segment.used < segment.limit()) return;
  if (segment.capacity < large) {
    enlarge(segment, std::min(2 * segment.capacity, large));
  } else if (may_split(segment)) {
    split(segment);
  } else {
    enlarge(segment, 2 * segment.capacity);
  }
}

// Not where hashes are so much alike that the directory would outgrow what it leads to.
template <typename Line>
bool LineTable<Line>::may_split(const Segment& segment) const noexcept {
  return segment.depth < depth_ || directory_.size() < most_places * segments_.size();
}

template <typename Line>
void LineTable<Line>::enlarge(Segment& segment, std::uint64_t capacity) {
  labeltrees::make_room(moves_, 1);
  Pages pages(Segment::n_bytes(capacity));
  std::swap(pages, segment.pages);
  leave(segment, std::move(pages));
  segment.capacity = capacity;
  show(segment);
}

template <typename Line>
std::uint64_t LineTable<Line>::sibling_capacity(const Segment& segment) const noexcept {
  const std::size_t n_segments = segments_.size();
  return std::max(segment.capacity, n_segments < 4 ? in_huge_pages(4 + n_segments) : 0);
}

// A table with a limit may never need it.
template <typename Line>
void LineTable<Line>::order_sibling(const Segment& segment) noexcept {
  if (segment.capacity < large || exact_limit_ != ~std::size_t{0}) return;
  stock_.order(Segment::n_bytes(sibling_capacity(segment)));
}

template <typename Line>
void LineTable<Line>::split(Segment& segment) {
  // First all the memory that it takes, for that may throw; what is only reserved costs nothing.
  labeltrees::make_room(moves_, 1);
  labeltrees::make_room(segments_, 1);
  make_room_in_all(crowded_, segments_.size() + 1);
  for (std::vector<Line>& late : late_) late.reserve(segment.used);
  std::vector<Window> doubled;
  if (segment.depth == depth_) {
    doubled.reserve(2 * directory_.size());
    for (const Window& window : directory_) doubled.insert(doubled.end(), 2, window);
  }
  auto made = std::make_unique<Segment>();
  made->capacity = sibling_capacity(segment);
  made->pages = stock_.take(Segment::n_bytes(made->capacity));
  segments_.push_back(std::move(made));
  if (segment.depth == depth_) {
    directory_ = std::move(doubled);
    ++depth_;
  }
  Segment& sibling = *segments_.back();
  leave(segment, {});
  sibling.depth = ++segment.depth;
  // The half of the segment's places with the next bit set becomes the sibling's.
  const auto first = static_cast<std::size_t>(
      std::find_if(directory_.begin(), directory_.end(),
                   [&](const Window& window) { return window.segment == &segment; }) -
      directory_.begin());
  const std::size_t n_places = std::size_t{1} << (depth_ - segment.depth);
  for (std::size_t i = 0; i < n_places; ++i) directory_[first + n_places + i].segment = &sibling;
  show(segment);
  show(sibling);
}

// Notes that the segment's lines are where they are no longer looked for.
template <typename Line>
void LineTable<Line>::leave(Segment& segment, Pages old_pages) noexcept {
  moves_.push_back({&segment, std::move(old_pages), segment.capacity});
  segment.used = 0;
}

// Moves lines to the places where they are looked up. Each move concerns distinct segments.
template <typename Line>
void LineTable<Line>::carry_all(Workers* workers) {
  n_moves_ += moves_.size();
  if (workers == nullptr) {
    for (Move& move : moves_) carry(move, late_[0]);
  } else {
    workers->run(moves_.size(), [this](std::size_t number, std::size_t worker) {
      carry(moves_[number], late_[worker]);
    });
  }
  moves_.clear();
}

template <typename Line>
void LineTable<Line>::carry(Move& move, std::vector<Line>& late) noexcept {
  if (move.old_pages.start() == nullptr) return spread(*move.segment, late);
  const Line* const lines = Segment::lines_in(move.old_pages, move.old_capacity);
  for (std::uint64_t i = 0; i < move.old_capacity; ++i) {
    if (lines[i].key != 0) put_in(lines[i]);
  }
}

// Moves the lines of a segment that has been split. Groups are emptied from the last to the first.
// Lines lie roughly in the order of their hashes, and a group has capacity for half the hashes it
// had. A line that stays therefore finds its new place in the same group or behind it, among lines
// that have moved already. The few other lines come last.
template <typename Line>
void LineTable<Line>::spread(Segment& segment, std::vector<Line>& late) noexcept {
  late.clear();
  std::array<Line, group_size> moved;
  for (std::uint64_t group = segment.capacity / group_size; group-- > 0;) {
    Line* const lines = segment.lines() + group * group_size;
    const auto end = std::copy_if(lines, lines + group_size, moved.begin(),
                                  [](const Line& line) { return line.key != 0; });
    segment.tags()[group] = {};
    std::memset(static_cast<void*>(lines), 0, group_size * sizeof(Line));
    for (auto line = moved.begin(); line != end; ++line) {
      const std::uint64_t hash = hash_of(line->key);
      const Window& window = window_of(hash);
      const bool stays = window.segment == &segment;
      if (stays && (window.home(hash) < group || !has_place_behind(window, hash))) {
        late.push_back(*line);
      } else {
        put_in(*line);
      }
    }
  }
  for (const Line& line : late) put_in(line);
}

// Whether there is an empty place before the segment's end, so that a search need not start again
// at its beginning.
template <typename Line>
bool LineTable<Line>::has_place_behind(const Window& window, std::uint64_t hash) const noexcept {
  std::uint64_t group = window.home(hash);
  while (group < window.n_groups && window.tags[group].where(0) == 0) ++group;
  return group < window.n_groups;
}

// Stores a line that the table has counted, but does not hold. There is a place, because an
// enlarged segment has more places than before, and a segment that was split, or its sibling, has
// no fewer.
template <typename Line>
void LineTable<Line>::put_in(const Line& line) noexcept {
  const std::uint64_t hash = hash_of(line.key);
  const Window& window = window_of(hash);
  take_place(window, line.key, hash) = line;
  if (window.segment->used > window.segment->limit()) crowd(*window.segment);
}

// Moves lines that were spilt to their segments, or marks these as still crowded.
template <typename Line>
void LineTable<Line>::take_spilt() noexcept {
  if (n_spilt_ == 0) return;
  ++n_moves_;
  for (const auto& spill : spills_) take_spilt(*spill);
  if (n_spilt_ == 0) spills_.clear();
}

// A line that was removed leaves its tag, so that searches for other keys continue behind it.
template <typename Line>
void LineTable<Line>::take_spilt(Segment& spill) noexcept {
  for (std::uint64_t i = 0; i < spill.capacity; ++i) {
    if (i % group_size == 0 && spill.tags()[i / group_size].where(0) == 0xffffu) {
      i += group_size - 1;  // memory not touched yet
      continue;
    }
    Line& line = spill.lines()[i];
    if (line.key == 0) continue;
    const std::uint64_t hash = hash_of(line.key);
    const Window& window = window_of(hash);
    if (window.segment->used >= window.segment->limit()) {
      crowd(*window.segment);
      continue;
    }
    take_place(window, line.key, hash) = line;
    line.key = 0;
    --n_spilt_;
  }
}

template <typename Line>
typename LineTable<Line>::Window LineTable<Line>::window_on(Segment& segment) noexcept {
  return {segment.lines(), segment.tags(), segment.capacity / group_size, &segment, segment.depth};
}

// Copies what look-ups need of a segment to its places in the directory.
template <typename Line>
void LineTable<Line>::show(Segment& segment) noexcept {
  if (depth_ == 0) directory_[0].segment = &segment;
  for (Window& window : directory_) {
    if (window.segment == &segment) window = window_on(segment);
  }
}

template <typename Line>
std::vector<const Line*> LineTable<Line>::sorted_lines() const {
  std::vector<std::pair<std::uint64_t, const Line*>> order;  // sorts without chasing pointers
  order.reserve(size_);
  for (const auto* segments : {&segments_, &spills_}) {
    for (const auto& segment : *segments) {
      for (std::uint64_t i = 0; i < segment->capacity; ++i) {
        const Line& line = segment->lines()[i];
        if (line.key != 0) order.emplace_back(line.key, &line);
      }
    }
  }
  std::sort(order.begin(), order.end());
  std::vector<const Line*> lines(order.size());
  std::transform(order.begin(), order.end(), lines.begin(), [](const auto& o) { return o.second; });
  return lines;
}

template <typename Line>
std::vector<Line> LineTable<Line>::copies_of(std::uint32_t block) const {
  std::vector<Line> lines;
  for (const auto* segments : {&segments_, &spills_}) {
    for (const auto& segment : *segments) {
      for (std::uint64_t i = 0; i < segment->capacity; ++i) {
        const Line& line = segment->lines()[i];
        if (line.key != 0 && block_of(line.key) == block) lines.push_back(line);
      }
    }
  }
  return lines;
}

template class LineTable<WeightLine>;
template class LineTable<CountedLine>;
template class LineTable<PairLine>;

}  // namespace labeltrees
