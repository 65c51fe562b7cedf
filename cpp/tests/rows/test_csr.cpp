// Rows that are taken are those rows, and tidiness is refused for every way to break it.
#include <limits>

#include "../check.hpp"
#include "labeltrees/rows/csr.hpp"

using namespace labeltrees;

namespace {

const std::vector<std::int64_t> starts{0, 2, 2, 3};
const std::vector<std::int32_t> indices{1, 4, 0};
const std::vector<float> values{0.5f, -2.0f, 3.0f};

CsrView three_rows() { return {starts, indices, values}; }

}  // namespace

TEST(rows_are_taken_in_the_requested_order_and_as_often) {
  const OwnedRows taken = take_rows(three_rows(), std::vector<std::int64_t>{2, 0, 1, 0});
  CHECK((taken.row_starts == std::vector<std::int64_t>{0, 1, 3, 3, 5}));
  CHECK((taken.indices == std::vector<std::int32_t>{0, 1, 4, 1, 4}));
  CHECK((taken.values == std::vector<float>{3.0f, 0.5f, -2.0f, 0.5f, -2.0f}));
}

TEST(no_rows_taken_are_rows_too) {
  const OwnedRows taken = take_rows(three_rows(), {});
  CHECK(taken.view().n_rows() == 0 && taken.indices.empty() && taken.values.empty());
}

TEST(tidy_rows_are_those_that_kernels_may_trust) {
  CHECK(is_tidy(three_rows(), 5, false));
  CHECK(!is_tidy(three_rows(), 4, false));
  CHECK(!is_tidy({std::span(starts).first(3), indices, values}, 5, false));
  const std::vector<std::int32_t> twice{4, 4, 0}, negative{-1, 4, 0};
  CHECK(!is_tidy({starts, twice, values}, 5, false));
  CHECK(!is_tidy({starts, negative, values}, 5, false));
  const std::vector<float> missing{0.5f, std::numeric_limits<float>::quiet_NaN(), 3.0f};
  CHECK(!is_tidy({starts, indices, missing}, 5, false));
  CHECK(is_tidy({starts, indices, missing}, 5, true));
  const std::vector<float> infinite{0.5f, std::numeric_limits<float>::infinity(), 3.0f};
  CHECK(!is_tidy({starts, indices, infinite}, 5, true));
}
