// Moments cover whole rows, zeros included, and rows are scaled by them.
#include "../check.hpp"
#include "labeltrees/rows/standardize.hpp"

using namespace labeltrees;

namespace {

// (4, 7), (0, 7), (8, 7)
OwnedRows table() { return {{0, 2, 3, 5}, {0, 1, 1, 0, 1}, {4.0f, 7.0f, 7.0f, 8.0f, 7.0f}}; }

Moments fresh() { return {0, {0, 0}, {0, 0}}; }

}  // namespace

TEST(moments_count_zeros_that_are_not_stored_and_weights) {
  Moments moments = fresh();
  const OwnedRows rows = table();
  observe(moments, rows.view(), std::vector<float>{0.0f, 1.0f, 1.0f});
  CHECK(moments.total == 2);
  CHECK((moments.mean == std::vector<double>{4, 7}));
  CHECK((moments.squares == std::vector<double>{32, 0}));
}

TEST(a_constant_column_becomes_zero) {
  const OwnedRows rows = table();
  const Moments moments{2, {4, 7}, {32, 0}};
  CHECK((standardize(moments, rows.view()) == std::vector<float>{0, 0, -1, 0, 1, 0}));
}

TEST(a_row_of_a_stream_is_scaled_by_those_before_it) {
  Moments moments = fresh(), whole = fresh();
  const OwnedRows rows = table();
  const std::vector<float> scaled = standardize_and_observe(moments, rows.view(), {});
  CHECK((scaled == std::vector<float>{0, 0, 0, 0, 3, 0}));  // of 4 and 0: mean 2, deviation 2
  observe(whole, rows.view(), {});
  CHECK(moments.mean == whole.mean && moments.squares == whole.squares);
}
