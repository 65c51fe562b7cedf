#include <algorithm>
#include <bit>
#include <random>
#include <unordered_map>

#include "../check.hpp"
#include "../failing_allocator.hpp"
#include "labeltrees/online/weight_table.hpp"
#include "labeltrees/platform/workers.hpp"

using namespace labeltrees;

namespace {

bool has_exactly(const WeightTable& table, std::uint32_t n) {
  const auto lines = table.sorted_lines();
  if (table.size() != n || lines.size() != n) return false;
  for (std::uint32_t f = 0; f < n; ++f) {
    const WeightLine* const line = table.find(WeightTable::key(1, f));
    if (line != lines[f] || line->weight(0) != static_cast<float>(f)) return false;
  }
  return true;
}

// What mix_bits makes x of.
std::uint64_t unmix(std::uint64_t x) {
  constexpr std::uint64_t factor = 0xd6e8feb86659fd93ULL;
  std::uint64_t inverse = 1;
  for (int i = 0; i < 6; ++i) inverse *= 2 - factor * inverse;
  for (int i = 0; i < 2; ++i) {
    x ^= x >> 32;
    x *= inverse;
  }
  return x ^ (x >> 32);
}

}  // namespace

TEST(a_table_agrees_with_a_map_while_it_grows) {
  WeightTable table;
  std::unordered_map<std::uint64_t, float> expected;
  std::mt19937_64 random(1);
  for (int i = 0; i < 200'000; ++i) {
    const auto block = static_cast<std::uint32_t>(1 + random() % 50);
    const auto feature = static_cast<std::uint32_t>(random() % 3000);
    const std::uint64_t key = WeightTable::key(block, feature);
    table.make_room(1);
    WeightLine& line = table.obtain(key);
    line.weight(i % block_size) += 1.0f;
    line.sum(0) += 1.0f;
    expected[key] += 1.0f;
  }
  CHECK(table.size() == expected.size());
  for (const auto& [key, count] : expected) {
    const WeightLine* line = table.find(key);
    CHECK(line != nullptr && line->key == key && line->sum(0) == count);
  }
  CHECK(table.find(WeightTable::key(51, 0)) == nullptr);
  const auto lines = table.sorted_lines();
  CHECK(lines.size() == expected.size());
  for (std::size_t i = 1; i < lines.size(); ++i) CHECK(lines[i - 1]->key < lines[i]->key);
}

TEST(lines_stay_where_they_are_within_the_reserved_number) {
  WeightTable table;
  for (std::uint32_t round = 1; round < 40; ++round) {
    table.make_room(500);
    std::vector<WeightLine*> lines;
    for (std::uint32_t f = 0; f < 500; ++f) {
      lines.push_back(&table.obtain(WeightTable::key(round, f)));
    }
    for (std::uint32_t f = 0; f < 500; ++f) {
      CHECK(table.find(WeightTable::key(round, f)) == lines[f]);
    }
  }
}

TEST(a_table_of_many_segments_keeps_every_line) {
  WeightTable table;
  const std::uint32_t n = 400'000;  // four segments or more
  for (std::uint32_t f = 0; f < n; ++f) {
    table.make_room(1);
    table.obtain(WeightTable::key(1 + f % 7, f)).weight(0) = static_cast<float>(f);
  }
  CHECK(table.size() == n);
  for (std::uint32_t f = 0; f < n; ++f) {
    const std::uint64_t key = WeightTable::key(1 + f % 7, f);
    const WeightLine* line = table.find(key);
    CHECK(line != nullptr && line->weight(0) == static_cast<float>(f));
    CHECK(table.find(key, table.guess(key)) == line);
    CHECK(table.find(WeightTable::key(8, f)) == nullptr);
  }
  CHECK(table.n_bytes() < std::size_t{2} * n * sizeof(WeightLine) + (std::size_t{8} << 20));
}

TEST(lines_stay_where_they_are_even_beyond_the_reserved_number) {
  WeightTable table;
  for (std::uint32_t round = 1; round < 4; ++round) {
    table.make_room(1);
    const std::size_t moves = table.n_moves();
    std::vector<WeightLine*> lines;
    for (std::uint32_t f = 0; f < 50'000; ++f) {
      lines.push_back(&table.obtain(WeightTable::key(round, f)));
      lines.back()->weight(1) = static_cast<float>(f);
    }
    CHECK(table.n_moves() == moves);
    for (std::uint32_t f = 0; f < 50'000; ++f) {
      const std::uint64_t key = WeightTable::key(round, f);
      CHECK(&table.obtain(key) == lines[f] && table.find(key) == lines[f]);
    }
  }
  table.make_room(1);
  CHECK(table.size() == 150'000 && table.sorted_lines().size() == 150'000);
  CHECK(table.find(WeightTable::key(2, 49'999))->weight(1) == 49'999.0f);
}

TEST(threads_add_separate_lines_and_all_are_counted) {
  WeightTable table;
  Workers workers(2);
  const std::uint32_t n = 30'000;
  for (std::uint32_t round = 0; round < 4; ++round) {  // the later ones split segments
    table.make_room(2 * n, &workers);
    workers.run(2, [&](std::size_t task, std::size_t) {
      for (std::uint32_t f = 0; f < n; ++f) {
        const auto block = static_cast<std::uint32_t>(1 + 2 * round + task);
        table.obtain(WeightTable::key(block, f)).weight(0) = static_cast<float>(f);
      }
    });
    table.count_lines();
    CHECK(table.size() == std::size_t{2} * n * (round + 1));
  }
  table.make_room(1, &workers);
  CHECK(table.size() == 8 * n && table.sorted_lines().size() == 8 * n);
  for (std::uint32_t f = 0; f < n; ++f) {
    for (std::uint32_t block = 1; block <= 8; ++block) {
      CHECK(table.find(WeightTable::key(block, f))->weight(0) == static_cast<float>(f));
    }
  }
}

TEST(a_limited_table_shares_lines_and_keeps_to_its_limit) {
  for (const std::size_t limit : {std::size_t{1} << 20, std::size_t{40} << 20}) {
    WeightTable table;
    table.limit_bytes(limit);
    for (std::uint32_t f = 0; f < 600'000; ++f) {
      table.make_room(1);
      table.obtain(WeightTable::key(1, f)).weight(0) += 1.0f;
      CHECK(table.n_bytes() <= limit);
    }
    CHECK(table.is_sharing());
    float sum = 0;
    for (const WeightLine* line : table.sorted_lines()) sum += line->weight(0);
    CHECK(sum == 600'000.0f);
    CHECK(table.find(WeightTable::key(1, 0))->weight(0) == 1.0f);  // came before the limit
    CHECK(WeightTable::block_of(table.find(WeightTable::key(1, 599'999))->key) ==
          WeightTable::shared_block);
    // What is shared does not depend on the order in which the lines of a copy come.
    WeightTable copy;
    copy.limit_bytes(limit);
    for (const WeightLine* line : table.sorted_lines()) {
      copy.make_room(1);
      copy.put_back(*line);
    }
    CHECK(copy.find(WeightTable::key(1, 599'999))->weight(0) ==
          table.find(WeightTable::key(1, 599'999))->weight(0));
  }
}

// Some of the keys have separate lines, some share lines, and some have never been added.
TEST(guesses_in_a_full_table_lead_to_the_lines_that_searches_find) {
  WeightTable table;
  table.limit_bytes(std::size_t{1} << 20);
  std::mt19937_64 random(3);
  for (std::uint32_t f = 0; f < 8'000; ++f) {
    table.make_room(1);
    table.obtain(WeightTable::key(1, f));
  }
  CHECK(table.is_sharing());
  std::array<std::size_t, 3> n_found{};  // none, the key's own, shared
  for (int round = 0; round < 200; ++round) {
    std::vector<std::uint64_t> keys(1 + random() % 40);
    for (std::uint64_t& key : keys) {
      key = WeightTable::key(1, static_cast<std::uint32_t>(random() % 40'000));
    }
    std::vector<WeightTable::Home> homes(keys.size());
    std::vector<const WeightLine*> guesses(keys.size()), to_add(keys.size());
    table.guess_all(keys, homes, guesses);
    table.guess_all<true>(keys, homes, to_add);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const WeightLine* const line = table.find(keys[i]);
      table.prefetch_tags(keys[i]);
      for (const WeightLine* guess : {guesses[i], to_add[i], table.guess(keys[i])}) {
        CHECK(table.find(keys[i], guess) == line);
        if (line != nullptr) CHECK(&table.obtain(keys[i], guess) == line);
      }
      ++n_found[line == nullptr ? 0 : line->key == keys[i] ? 1 : 2];
    }
    if (round % 4 != 0) continue;
    table.make_room(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      WeightLine& line = table.obtain(keys[i], to_add[i]);
      CHECK(&line == table.find(keys[i]));
    }
  }
  CHECK(*std::min_element(n_found.begin(), n_found.end()) > 50);
}

// Splits put lines in another order. The shared line of a key may then come before its line, with
// the same tag. That is rare, so many keys of tables that have split are looked up.
TEST(a_guess_in_a_full_table_is_never_the_shared_line_of_a_key_with_its_own) {
  const std::size_t limit = std::size_t{20} << 20;
  const auto n = static_cast<std::uint32_t>(limit / 80);
  std::size_t n_own = 0;
  for (std::uint32_t block = 1; block <= 40; ++block) {
    WeightTable table;
    table.limit_bytes(limit);
    for (std::uint32_t f = 0; f < n; ++f) {
      table.make_room(1);
      table.obtain(WeightTable::key(block, f));
    }
    CHECK(table.is_sharing());
    for (std::uint32_t f = 0; f < n; ++f) {
      const std::uint64_t key = WeightTable::key(block, f);
      const WeightLine* const line = table.find(key);
      CHECK(table.find(key, table.guess(key)) == line);
      n_own += line->key == key;
    }
  }
  CHECK(n_own > 2'000'000);
}

TEST(an_empty_table_finds_nothing_and_costs_nothing) {
  const WeightTable table;
  CHECK(table.find(WeightTable::key(1, 0)) == nullptr);
  CHECK(table.size() == 0 && table.n_bytes() == 0 && !table.is_sharing());
  table.prefetch(WeightTable::key(1, 0));
}

TEST(the_largest_block_and_feature_fit_in_a_key) {
  const std::uint64_t key = WeightTable::key(0xffffffffu, 0xfffffffeu);
  CHECK(WeightTable::block_of(key) == 0xffffffffu && WeightTable::feature_of(key) == 0xfffffffeu);
}

TEST(a_table_whose_every_allocation_fails_once_loses_no_line_and_keeps_growing) {
  WeightTable table;
  const std::uint32_t n = 260'000;  // several splits
  long n_failed = 0;
  for (std::uint32_t f = 0; f < n; ++f) {
    const auto add = [&] {
      table.make_room(1);
      table.obtain(WeightTable::key(1, f)).weight(0) = static_cast<float>(f);
    };
    for (long k = 0; tests::runs_out_of_memory(k, k % 2 == 1, add); ++k, ++n_failed) {
      CHECK(has_exactly(table, f));
    }
  }
  CHECK(n_failed > (tests::pages_can_fail() ? 20 : 15));
  CHECK(has_exactly(table, n));
  CHECK(table.n_bytes() < std::size_t{2} * n * sizeof(WeightLine) + (std::size_t{8} << 20));
}

TEST(reserved_memory_is_there_when_there_is_no_more_memory) {
  for (const std::uint32_t n : {10u, 3'000u, 150'000u}) {  // the last more than a segment holds
    WeightTable table;
    for (std::uint32_t round = 0; round < 2; ++round) {
      table.make_room(n);
      const auto add = [&] {
        for (std::uint32_t f = round * n; f < (round + 1) * n; ++f) {
          table.obtain(WeightTable::key(1, f)).weight(0) = static_cast<float>(f);
        }
      };
      CHECK(!tests::runs_out_of_memory(0, true, add));
      CHECK(has_exactly(table, (round + 1) * n));
    }
  }
}

TEST(workers_that_run_out_of_memory_leave_a_table_that_counts_right) {
  WeightTable table;
  Workers workers(2);
  const std::uint32_t n = 70'000;
  for (std::uint32_t round = 0; round < 4; ++round) {
    const auto make_room = [&] { table.make_room(n, &workers); };
    for (long k = 0; tests::runs_out_of_memory(k, false, make_room); ++k) {
      CHECK(has_exactly(table, round * n));
    }
    workers.run(2, [&](std::size_t task, std::size_t) {
      for (auto f = static_cast<std::uint32_t>(round * n + task); f < (round + 1) * n; f += 2) {
        table.obtain(WeightTable::key(1, f)).weight(0) = static_cast<float>(f);
      }
    });
    table.count_lines();
  }
  CHECK(has_exactly(table, 4 * n));
}

// The leading bits of their hashes were the same, and the directory doubled with every split.
TEST(keys_chosen_against_mix_bits_do_not_make_a_table_larger_than_others) {
  const std::uint32_t n = 150'000;
  WeightTable chosen, ordinary;
  for (std::uint32_t f = 0; f < n; ++f) {
    chosen.make_room(1);
    chosen.obtain(unmix(0x123456789abULL << 20 | (f + 1)));
    ordinary.make_room(1);
    ordinary.obtain(WeightTable::key(1, f));
  }
  CHECK(chosen.size() == n && ordinary.size() == n);
  CHECK(chosen.n_bytes() <= ordinary.n_bytes());
}
