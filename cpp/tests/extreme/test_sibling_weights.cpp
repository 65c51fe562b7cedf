// Weights of a file. For any contents of their arrays, validate reads no element that does not
// exist.
#include <random>

#include "../check.hpp"
#include "labeltrees/extreme/sibling_weights.hpp"

using namespace labeltrees;

namespace {

// The weights of a root with three leaves: two features, the first with two weights.
OwnedSiblingWeights three_leaves() {
  return {{0, 4}, {0, 1, 2}, {0, 0}, {0, 2, 3}, {0, 2, 1}, {1, 2, 3}, {0, 0, 0, 0}};
}

SiblingWeights view(const OwnedSiblingWeights& w) {
  return {w.features, w.feature_rows, w.row_parents, w.row_starts, w.columns, w.values, w.biases};
}

const std::vector<LabelId> labels{0, 1, 2};

}  // namespace

TEST(weights_that_fit_the_tree_are_valid) {
  view(three_leaves()).validate(balanced_tree(labels, 3));
}

TEST(rows_past_the_weights_are_refused_before_they_are_read) {
  OwnedSiblingWeights weights = three_leaves();
  weights.row_starts = {0, 0xffffff00u, 3};
  CHECK_THROWS(view(weights).validate(balanced_tree(labels, 3)), TreeError);
  // Enough rows for each to have no more weights than there are children.
  weights = three_leaves();
  weights.feature_rows = {0, 100, 101};
  weights.row_parents.assign(101, 0);
  weights.row_starts.assign(102, 3);
  for (std::uint32_t r = 0; r < 100; ++r) weights.row_starts[r] = 3 * r;
  CHECK_THROWS(view(weights).validate(balanced_tree(labels, 3)), TreeError);
}

TEST(no_damage_to_the_weights_makes_validation_read_elsewhere) {
  std::mt19937 random(1);
  const LabelTree tree = balanced_tree(labels, 3);
  std::size_t n_refused = 0;
  for (int i = 0; i < 3000; ++i) {
    OwnedSiblingWeights weights = three_leaves();
    const auto value = static_cast<std::uint32_t>(random() >> random() % 32);
    switch (random() % 6) {
      case 0:
        weights.features[random() % 2] = static_cast<std::int32_t>(value);
        break;
      case 1:
        weights.feature_rows[random() % 3] = value;
        break;
      case 2:
        weights.row_parents[random() % 2] = static_cast<std::int32_t>(value);
        break;
      case 3:
        weights.row_starts[random() % 3] = value;
        break;
      case 4:
        weights.columns[random() % 3] = static_cast<std::uint8_t>(value);
        break;
      case 5:
        weights.row_starts.resize(1 + random() % 5, value);
        break;
    }
    try {
      view(weights).validate(tree);
    } catch (const TreeError&) {
      ++n_refused;
    }
  }
  CHECK(n_refused > 1000);
}
