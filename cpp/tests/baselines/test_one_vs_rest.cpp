#include <cmath>
#include <random>

#include "../check.hpp"
#include "labeltrees/baselines/one_vs_rest.hpp"

using namespace labeltrees;

namespace {

struct RandomProblem {
  OwnedRows rows, labels;
  std::size_t n_features, n_labels;

  RandomProblem(std::size_t n_rows, std::size_t features, std::size_t label_count)
      : n_features(features), n_labels(label_count) {
    std::mt19937 random(7);
    for (std::size_t r = 0; r < n_rows; ++r) {
      fill(rows, n_features, random, 3);
      fill(labels, n_labels, random, 10);
    }
  }

  OneVsRestProblem view() const { return {rows.view(), n_features, labels.view(), n_labels}; }

 private:
  static void fill(OwnedRows& into, std::size_t width, std::mt19937& random, unsigned one_in) {
    for (std::size_t i = 0; i < width; ++i) {
      if (random() % one_in != 0) continue;
      into.indices.push_back(static_cast<std::int32_t>(i));
      into.values.push_back(static_cast<float>(1 + random() % 8) / 8.0f);
    }
    into.row_starts.push_back(static_cast<std::int64_t>(into.indices.size()));
  }
};

bool same(const OneVsRestWeights& a, const OneVsRestWeights& b) {
  return a.starts == b.starts && a.labels == b.labels && a.values == b.values &&
         a.biases == b.biases && a.epochs == b.epochs;
}

}  // namespace

// Row 0 has the feature and the label, row 1 neither: |w| + (1 - w - b)^2 + (1 + b)^2 is least at
// w = 1, b = -1/2.
TEST(a_lasso_of_two_rows_by_hand) {
  const OwnedRows rows{{0, 1, 1}, {0}, {1.0f}}, labels{{0, 1, 1}, {0}, {1.0f}};
  const OneVsRestWeights found =
      train_lasso({rows.view(), 1, labels.view(), 1}, {1.0f, 1000, 1e-6}, 1);
  CHECK(found.values.size() == 1 && found.labels[0] == 0);
  CHECK(std::fabs(found.values[0] - 1.0f) < 1e-4f);
  CHECK(std::fabs(found.biases[0] + 0.5f) < 1e-4f);
  CHECK(found.gaps[0] <= 1e-6);
}

TEST(one_vs_rest_weights_do_not_depend_on_threads) {
  const RandomProblem problem(60, 20, 150);
  const RidgeOptions ridge{NodeLoss::hinge, 1.0f, 20, 1e-3, 0.01f, 0};
  CHECK(same(train_ridge(problem.view(), ridge, 1), train_ridge(problem.view(), ridge, 3)));
  const LassoOptions lasso{1.0f, 20, 1e-3};
  CHECK(same(train_lasso(problem.view(), lasso, 1), train_lasso(problem.view(), lasso, 3)));
}

TEST(one_vs_rest_weights_are_by_feature_and_label) {
  const RandomProblem problem(40, 12, 100);
  const OneVsRestWeights found = train_lasso(problem.view(), {1.0f, 20, 1e-3}, 2);
  CHECK(found.starts.size() == 13 && found.biases.size() == 100);
  for (std::size_t f = 0; f < 12; ++f) {
    for (std::int64_t k = found.starts[f] + 1; k < found.starts[f + 1]; ++k) {
      CHECK(found.labels[static_cast<std::size_t>(k) - 1] <
            found.labels[static_cast<std::size_t>(k)]);
    }
  }
}
