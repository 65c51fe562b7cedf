#include <random>
#include <unordered_map>

#include "check.hpp"
#include "labeltrees/weight_table.hpp"

using namespace labeltrees;

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

TEST(lines_stay_where_they_are_while_there_is_room) {
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

TEST(an_empty_table_finds_nothing_and_costs_nothing) {
  const WeightTable table;
  CHECK(table.find(WeightTable::key(1, 0)) == nullptr);
  CHECK(table.size() == 0 && table.n_bytes() == 0);
  table.prefetch(WeightTable::key(1, 0));
}

TEST(the_largest_block_and_feature_fit_in_a_key) {
  const std::uint64_t key = WeightTable::key(0xffffffffu, 0xfffffffeu);
  CHECK(WeightTable::block_of(key) == 0xffffffffu && WeightTable::feature_of(key) == 0xfffffffeu);
}
