// Weights of very many sparse linear regressors, in cache lines of seven or one by one.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "labeltrees/platform/hash.hpp"
#include "labeltrees/platform/keyed_hash.hpp"
#include "labeltrees/platform/page_stock.hpp"
#include "labeltrees/platform/pages.hpp"
#include "labeltrees/platform/workers.hpp"

namespace labeltrees {

// A block is a binary subtree of three levels, hence seven regressors.
inline constexpr std::size_t block_size = 7;

// The place of a node's regressor: its block, and its slot within the block's seven.
struct Place {
  std::uint32_t block;
  std::uint32_t slot;
};

// The weights of one feature in the seven regressors of one block: exactly one cache line.
struct alignas(64) WeightLine {
  std::uint64_t key = 0;                      // 0 marks an empty line
  std::array<float, 2 * block_size> value{};  // weights, then the optimiser's sums

  float& weight(std::size_t slot) noexcept { return value[slot]; }
  float& sum(std::size_t slot) noexcept { return value[block_size + slot]; }
  float weight(std::size_t slot) const noexcept { return value[slot]; }
  float sum(std::size_t slot) const noexcept { return value[block_size + slot]; }
};
static_assert(sizeof(WeightLine) == 64);

// How many examples went left and right, six bits each.
using Counts = std::uint16_t;
inline constexpr std::size_t count_values = 64;  // a count is below this
constexpr Counts pack_counts(std::size_t left, std::size_t right) noexcept {
  return static_cast<Counts>(left | (right << 6));
}
constexpr std::size_t left_count(Counts counts) noexcept { return counts & 63u; }
constexpr std::size_t right_count(Counts counts) noexcept { return counts >> 6; }

// An optimiser's sum in 16 bits: no sign, 6 bits of exponent (2^-40 to 2^23, beyond which it stays)
// and 10 of fraction.
inline constexpr std::uint32_t sum_code_offset = std::uint32_t{127 - 40} << 10;
inline float decode_sum(std::uint16_t code) noexcept {
  const std::uint32_t is_stored = -std::uint32_t{code != 0};  // a mask: no loop has to branch
  return std::bit_cast<float>(((code + sum_code_offset) << 13) & is_stored);
}
// Rounds to the nearest that can be stored. sum >= 0.
inline std::uint16_t encode_sum(float sum) noexcept {
  const std::uint32_t bits = (std::bit_cast<std::uint32_t>(sum) + 0x1000u) >> 13;
  const std::uint32_t above = bits < sum_code_offset ? 0 : bits - sum_code_offset;
  return static_cast<std::uint16_t>(above < 0xffffu ? above : 0xffffu);
}

// The same with counts of the examples that went left and right, and with sums that leave space for
// them.
struct alignas(64) CountedLine {
  std::uint64_t key = 0;
  std::array<float, block_size> weight{};
  std::array<std::uint16_t, block_size> sum_code{};
  std::array<Counts, block_size> counts{};

  float sum(std::size_t slot) const noexcept { return decode_sum(sum_code[slot]); }
  void set_sum(std::size_t slot, float value) noexcept { sum_code[slot] = encode_sum(value); }
};
static_assert(sizeof(CountedLine) == 64);

// One feature's part in one regressor alone, with counts.
struct alignas(16) PairLine {
  std::uint64_t key = 0;
  float weight = 0;
  std::uint16_t sum_code = 0;
  Counts counts = 0;
};
static_assert(sizeof(PairLine) == 16);

// Prefetches the cache line at an address.
inline void prefetch_line(const void* at) noexcept {
#if defined(__GNUC__)
  __builtin_prefetch(at, 0, 3);
#else
  (void)at;
#endif
}

// Numbers that a thread may read while another writes them; which of the two it sees is all one.
#if defined(__cpp_lib_atomic_ref)
inline std::uint64_t read_shared(const std::uint64_t& number) noexcept {
  return std::atomic_ref(const_cast<std::uint64_t&>(number)).load(std::memory_order_relaxed);
}
inline void write_shared(std::uint64_t& number, std::uint64_t value) noexcept {
  std::atomic_ref(number).store(value, std::memory_order_relaxed);
}
#else  // libc++ before 19
inline std::uint64_t read_shared(const std::uint64_t& number) noexcept {
  return __atomic_load_n(&number, __ATOMIC_RELAXED);
}
inline void write_shared(std::uint64_t& number, std::uint64_t value) noexcept {
  __atomic_store_n(&number, value, __ATOMIC_RELAXED);
}
#endif

// A byte of the hash of each of sixteen lines; 0 marks an empty line.
struct alignas(16) TagGroup {
  std::array<std::uint64_t, 2> words{};

  static std::uint8_t of(std::uint64_t hash) noexcept {
    const auto byte = static_cast<std::uint8_t>(hash);
    return byte == 0 ? 1 : byte;
  }
  // Bit i is set where tag i has this value.
  std::uint32_t where(std::uint8_t value) const noexcept { return matches(value).fits; }
  struct Matches {
    std::uint32_t fits, free;  // where a tag has the value, where it is 0
  };
  Matches matches(std::uint8_t value) const noexcept {
#if defined(__SSE2__)
    const __m128i tags = _mm_set_epi64x(static_cast<std::int64_t>(read_shared(words[1])),
                                        static_cast<std::int64_t>(read_shared(words[0])));
    const auto where = [&](std::uint8_t each) {
      return static_cast<std::uint32_t>(
          _mm_movemask_epi8(_mm_cmpeq_epi8(tags, _mm_set1_epi8(static_cast<char>(each)))));
    };
    return {where(value), where(0)};
#else
    Matches found{0, 0};
    for (std::size_t i = 0; i < 16; ++i) {
      const auto tag = static_cast<std::uint8_t>(read_shared(words[i / 8]) >> (8 * (i % 8)));
      found.fits |= std::uint32_t{tag == value} << i;
      found.free |= std::uint32_t{tag == 0} << i;
    }
    return found;
#endif
  }
  // Needs tag i to be 0.
  void set(std::size_t i, std::uint8_t value) noexcept {
    std::uint64_t& word = words[i / 8];
    write_shared(word, read_shared(word) | std::uint64_t{value} << (8 * (i % 8)));
  }
};

// An exact, growing hash table from (block, feature) to a line. No two keys share a line, unless
// the table has a byte limit and has reached it. Keys that come later then share lines among them.
//
// The table is cut into segments by the leading bits of a key's hash (extendible hashing). A
// segment that is full splits in two, so growing needs no second copy of the table. Within a
// segment there is open addressing by groups of sixteen lines. The tags of a group, a byte of the
// hash each, lie together. A search reads tags, which mostly stay in the processor's cache, and
// then usually the one line it needs, or none if there is none. Lines lie roughly in the order of
// their hashes, so a split reads and writes memory in order. The hash has a secret, so no choice of
// keys makes the table larger or searches longer than others do.
//
// Calls that throw leave every line unchanged and where it is found.
//
// Threads: any number may call the const functions while none calls the others. From a make_room
// with workers until count_lines, any number of threads may also call obtain with distinct keys,
// unless lines are shared.
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
  // The block of shared lines; no block of a tree has this number.
  static constexpr std::uint32_t shared_block = 0xffffffffu;

  std::size_t size() const noexcept { return size_; }
  // Memory held, in bytes.
  std::size_t n_bytes() const noexcept;
  // Limits the table to this number of bytes from now on. n_bytes >= 2^20.
  void limit_bytes(std::size_t n_bytes) noexcept;
  // Whether keys not seen before share lines.
  bool is_sharing() const noexcept { return size() >= exact_limit_; }
  // Returns whether lines would be shared if this number of lines were added.
  bool would_share(std::size_t n) const noexcept { return size() + n >= exact_limit_; }

  // The line of a key, or nullptr. Expected O(1).
  const Line* find(std::uint64_t key) const noexcept;
  // The line of a key if it has one, as far as its tag shows. Prefetches the line.
  const Line* guess(std::uint64_t key) const noexcept {
    return is_sharing() ? guess_sharing(key) : guess_exact(key);
  }
  // As guess, but if there is no line, prefetches the place where obtain would put one.
  const Line* guess_place(std::uint64_t key) const noexcept {
    return is_sharing() ? guess_sharing(key) : guess_exact<true>(key);
  }
  // Prefetches the memory that guess and find read first.
  void prefetch_tags(std::uint64_t key) const noexcept {
    (void)home_of(key);
    if (is_sharing()) (void)home_of(shared_key(key));
  }
  void prefetch(std::uint64_t key) const noexcept { (void)guess(key); }
  // The place where a search begins.
  struct Home {
    const TagGroup* tags;
    const Line* lines;
    std::uint8_t tag;
  };
  // Guesses for many keys at once, so that they wait for memory together. Prefetches the tags of
  // all, then the lines, and places as guess_place does if is_to_add is set. guesses[i] belongs to
  // keys[i]. homes: scratch memory of the same size.
  template <bool is_to_add = false>
  void guess_all(std::span<const std::uint64_t> keys, std::span<Home> homes,
                 std::span<const Line*> guesses) const noexcept;
  // Grows whenever lines move, which makes guesses void.
  std::size_t n_moves() const noexcept { return n_moves_; }
  // As find, if guess returned `guessed` and no lines have moved since.
  const Line* find(std::uint64_t key, const Line* guessed) const noexcept {
    return guessed == nullptr || is_line_of(key, *guessed) ? guessed : find(key);
  }
  // Prepares for n new lines. Calls of obtain then leave every line where it is, regardless of
  // their number, and do not throw before there are n new lines. Amortised O(n), which the workers
  // share, if there are any. Throws std::bad_alloc.
  void make_room(std::size_t n, Workers* workers = nullptr) { make_room(n, n, workers); }
  // The same where usually far fewer lines are new, about n_likely.
  void make_room(std::size_t n_likely, std::size_t n_most, Workers* workers = nullptr);
  // Ends what make_room began for several threads.
  void count_lines() noexcept;
  // The line of a key, made of zeros if there was none. Throws std::bad_alloc if there are more new
  // lines than make_room allowed.
  Line& obtain(std::uint64_t key);
  // The same, if guess returned `guessed` and no lines have moved since.
  Line& obtain(std::uint64_t key, const Line* guessed) {
    const bool right = guessed != nullptr && is_line_of(key, *guessed);
    return right ? const_cast<Line&>(*guessed) : obtain(key);
  }

  // While there is one, another thread makes memory ready for lines to come.
  class Growing {
   public:
    explicit Growing(LineTable& table) noexcept : table_(table) { table_.is_growing_ = true; }
    ~Growing() {
      table_.is_growing_ = false;
      table_.stock_.stop();
    }
    Growing(const Growing&) = delete;
    Growing& operator=(const Growing&) = delete;

   private:
    LineTable& table_;
  };

  // Puts a line back that sorted_lines gave, shared or not.
  void put_back(const Line& line) { obtain_exact(line.key) = line; }
  // Every line, in order of its key. O(n log n).
  std::vector<const Line*> sorted_lines() const;
  // Copies of a block's lines, in any order. O(n).
  std::vector<Line> copies_of(std::uint32_t block) const;

 private:
  static constexpr std::size_t group_size = 16;

  // Tags and then lines, in the same pages.
  struct Segment {
    Pages pages;
    std::uint64_t capacity = 0;
    std::uint64_t used = 0;
    unsigned depth = 0;    // leading bits that all its keys share
    bool crowded = false;  // waits for make_room
    std::atomic_flag adding;

    static constexpr std::size_t n_bytes(std::uint64_t n_lines) noexcept {
      return n_lines * (sizeof(Line) + 1);
    }
    TagGroup* tags() const noexcept { return static_cast<TagGroup*>(pages.start()); }
    Line* lines() const noexcept { return lines_in(pages, capacity); }
    static Line* lines_in(const Pages& pages, std::uint64_t capacity) noexcept {
      return reinterpret_cast<Line*>(static_cast<char*>(pages.start()) + capacity);
    }
    // The fill at which the pages of a sibling are ordered.
    std::uint64_t prediction() const noexcept { return limit() - capacity / 3; }
    // Searches stay short below fifteen sixteenths full.
    std::uint64_t limit() const noexcept { return limit_of(capacity); }
    static constexpr std::uint64_t limit_of(std::uint64_t capacity) noexcept {
      return capacity - capacity / 16;
    }
    // Until make_room has done something about it, half of the rest may be used.
    std::uint64_t brim() const noexcept { return brim_of(capacity); }
    static constexpr std::uint64_t brim_of(std::uint64_t capacity) noexcept {
      return capacity - capacity / 32;
    }
  };
  // A segment that has got other pages or been split, and where its lines still are.
  struct Move {
    Segment* segment;
    Pages old_pages;  // none if the segment keeps its pages
    std::uint64_t old_capacity;
  };
  // What a search needs of a segment.
  struct Window {
    Line* lines = nullptr;
    TagGroup* tags = nullptr;
    std::uint64_t n_groups = 0;
    Segment* segment = nullptr;
    unsigned depth = 0;  // of the segment

    // The group where a search begins, by the bits that follow the bits all its keys share.
    std::uint64_t home(std::uint64_t hash) const noexcept {
      return (((hash << depth) >> 32) * n_groups) >> 32;
    }
    std::uint64_t after(std::uint64_t group) const noexcept {
      return group + 1 == n_groups ? 0 : group + 1;
    }
  };

  // Capacities double up to four huge pages. Larger segments split into two of the same capacity.
  // The first segments have four, five, six and seven huge pages, so that they do not all split at
  // the same time, which would double the table.
  static constexpr std::uint64_t smallest = 64;
  static constexpr std::uint64_t in_huge_pages(std::uint64_t n) noexcept {
    return n * Pages::huge / (sizeof(Line) + 1) / 64 * 64;
  }
  static constexpr std::uint64_t large = in_huge_pages(4);
  // Maximum length of the directory as a multiple of the number of segments, for any keys.
  static constexpr std::size_t most_places = 8;

  static std::uint64_t hash_of(std::uint64_t key) noexcept {
    return keyed_hash(key, process_secret);
  }

  std::size_t place_of(std::uint64_t hash) const noexcept { return (hash >> 1) >> (63 - depth_); }
  const Window& window_of(std::uint64_t hash) const noexcept { return directory_[place_of(hash)]; }
  std::uint64_t shared_key(std::uint64_t key) const noexcept {
    return LineTable::key(shared_block, static_cast<std::uint32_t>(mix_bits(~key) % n_shared_));
  }
  // The place where a search for the key begins. Prefetches its tags.
  Home home_of(std::uint64_t key) const noexcept {
    const std::uint64_t hash = hash_of(key);
    const Window& window = directory_[place_of(hash)];
    const std::uint64_t group = window.home(hash);
    prefetch_line(window.tags + group);
    return {window.tags + group, window.lines + group * group_size, TagGroup::of(hash)};
  }
  // Returns whether a guessed line surely belongs to the key, or is the line it shares. A line with
  // another tag is returned only for a key that has no line. A line with the same tag may lie
  // before the key's line.
  bool is_line_of(std::uint64_t key, const Line& guessed) const noexcept {
    const std::uint64_t found = read_shared(guessed.key);
    if (found == key) return true;
    return is_sharing() && found == shared_key(key) &&
           TagGroup::of(hash_of(found)) != TagGroup::of(hash_of(key));
  }
  static const Line* search(const Window& window, std::uint64_t key, std::uint64_t hash) noexcept;
  const Line* find_exact(std::uint64_t key, std::uint64_t hash) const noexcept;
  const Line* find_exact(std::uint64_t key) const noexcept { return find_exact(key, hash_of(key)); }
  const Line* find_spilt(std::uint64_t key, std::uint64_t hash) const noexcept;
  template <bool is_to_add>
  static const Line* pick(const TagGroup& tags, const TagGroup::Matches& matches,
                          const Line* lines) noexcept;
  template <bool is_to_add = false>
  const Line* guess_exact(std::uint64_t key) const noexcept;
  const Line* guess_sharing(std::uint64_t key) const noexcept;
  template <bool is_to_add>
  const Line* guess_at(const Home& home, std::uint64_t key) const noexcept;
  template <bool is_to_add>
  void guess_all_sharing(std::span<const std::uint64_t> keys, std::span<Home> homes,
                         std::span<const Line*> guesses) const noexcept;
  Line& obtain_exact(std::uint64_t key);
  Line& add(const Window& window, std::uint64_t key, std::uint64_t hash);
  static Line& take_place(const Window& window, std::uint64_t key, std::uint64_t hash) noexcept;
  Line& spill(std::uint64_t key, std::uint64_t hash);
  void make_spill_room(std::size_t n);
  void add_spill(std::size_t n);
  void crowd(Segment& segment) noexcept;
  void order_sibling(const Segment& segment) noexcept;
  std::uint64_t sibling_capacity(const Segment& segment) const noexcept;
  void add_first_segment();
  void relieve_crowded(Workers* workers);
  void relieve(Segment& segment);
  bool may_split(const Segment& segment) const noexcept;
  void enlarge(Segment& segment, std::uint64_t capacity);
  void split(Segment& segment);
  void leave(Segment& segment, Pages old_pages) noexcept;
  void carry_all(Workers* workers);
  void carry(Move& move, std::vector<Line>& late) noexcept;
  void spread(Segment& segment, std::vector<Line>& late) noexcept;
  bool has_place_behind(const Window& window, std::uint64_t hash) const noexcept;
  void put_in(const Line& line) noexcept;
  void take_spilt() noexcept;
  void take_spilt(Segment& spill) noexcept;
  static Window window_on(Segment& segment) noexcept;
  void show(Segment& segment) noexcept;

  std::vector<std::unique_ptr<Segment>> segments_;
  std::vector<Window> directory_ = std::vector<Window>(1);  // by leading bits of the hash
  unsigned depth_ = 0;                                      // how many
  std::vector<Segment*> crowded_;                           // has capacity for all segments
  std::vector<std::unique_ptr<Segment>> spills_;  // lines of segments without a free place
  std::atomic<std::size_t> n_spilt_{0};           // how many
  mutable std::mutex rare_;                       // guards the three above
  std::vector<Move> moves_;
  std::vector<std::vector<Line>> late_;  // of each worker: lines that wait for the others to move
  std::size_t size_ = 0;
  bool alone_ = true;  // no other thread calls obtain
  bool is_growing_ = false;
  PageStock stock_;  // for siblings of segments to come
  std::size_t n_moves_ = 0;
  std::size_t exact_limit_ = ~std::size_t{0};
  std::size_t n_shared_ = 1;
};

using WeightTable = LineTable<WeightLine>;
using CountedTable = LineTable<CountedLine>;
using PairTable = LineTable<PairLine>;

// The first of a group's lines that match, nullptr if none does. Prefetches all that match, or else
// the place where one would be added. The outcome is unpredictable, so masks are used and no branch
// depends on it.
template <typename Line>
template <bool is_to_add>
inline const Line* LineTable<Line>::pick(const TagGroup& tags, const TagGroup::Matches& matches,
                                         const Line* lines) noexcept {
  const auto [fits, free] = matches;
  for (std::uint32_t more = fits & (fits - 1); more != 0; more &= more - 1) {
    prefetch_line(lines + std::countr_zero(more));
  }
  const std::uintptr_t found = -std::uintptr_t{fits != 0};
  const std::uint32_t place =
      is_to_add ? fits | (free & ~static_cast<std::uint32_t>(found)) : fits | 0x10000u;
  const auto line = reinterpret_cast<std::uintptr_t>(lines + std::countr_zero(place));
  const auto otherwise = is_to_add ? line : reinterpret_cast<std::uintptr_t>(&tags);
  prefetch_line(reinterpret_cast<const void*>((line & found) | (otherwise & ~found)));
  return reinterpret_cast<const Line*>(line & found);
}

template <typename Line>
template <bool is_to_add>
inline const Line* LineTable<Line>::guess_exact(std::uint64_t key) const noexcept {
  const std::uint64_t hash = hash_of(key);
  const Window& window = window_of(hash);
  if (window.n_groups == 0) return nullptr;
  if (n_spilt_.load(std::memory_order_relaxed) != 0) return find_exact(key, hash);
  const std::uint8_t tag = TagGroup::of(hash);
  for (std::uint64_t group = window.home(hash);; group = window.after(group)) {
    const TagGroup::Matches matches = window.tags[group].matches(tag);
    if ((matches.fits | matches.free) == 0) continue;
    return pick<is_to_add>(window.tags[group], matches, window.lines + group * group_size);
  }
}

// As guess_exact, with tags that have been prefetched.
template <typename Line>
template <bool is_to_add>
inline const Line* LineTable<Line>::guess_at(const Home& home, std::uint64_t key) const noexcept {
  const TagGroup::Matches matches = home.tags->matches(home.tag);
  if ((matches.fits | matches.free) == 0) return guess_exact<is_to_add>(key);
  return pick<is_to_add>(*home.tags, matches, home.lines);
}

template <typename Line>
template <bool is_to_add>
inline void LineTable<Line>::guess_all(std::span<const std::uint64_t> keys, std::span<Home> homes,
                                       std::span<const Line*> guesses) const noexcept {
  if (segments_.empty() || n_spilt_.load(std::memory_order_relaxed) != 0) {
    for (std::size_t i = 0; i < keys.size(); ++i) guesses[i] = guess(keys[i]);
    return;
  }
  for (std::size_t i = 0; i < keys.size(); ++i) homes[i] = home_of(keys[i]);
  if (is_sharing()) return guess_all_sharing<is_to_add>(keys, homes, guesses);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    guesses[i] = guess_at<is_to_add>(homes[i], keys[i]);
  }
}

// Keys without a line look among the shared lines next, again together.
template <typename Line>
template <bool is_to_add>
inline void LineTable<Line>::guess_all_sharing(std::span<const std::uint64_t> keys,
                                               std::span<Home> homes,
                                               std::span<const Line*> guesses) const noexcept {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    guesses[i] = guess_at<false>(homes[i], keys[i]);
    if (guesses[i] == nullptr) homes[i] = home_of(shared_key(keys[i]));
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (guesses[i] == nullptr) {
      guesses[i] = guess_at<is_to_add>(homes[i], shared_key(keys[i]));
    }
  }
}

extern template class LineTable<WeightLine>;
extern template class LineTable<CountedLine>;
extern template class LineTable<PairLine>;

}  // namespace labeltrees
