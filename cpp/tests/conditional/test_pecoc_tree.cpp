#include <cmath>
#include <random>

#include "../check.hpp"
#include "../options.hpp"
#include "labeltrees/conditional/pecoc_tree.hpp"

using namespace labeltrees;

TEST(decoding_perfect_outputs_gives_the_truth) {
  const std::vector<double> truth{0.5, 0.0, 0.3, 0.2};
  std::vector<double> answers(4, 0.0);
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t s = 0; s < 4; ++s) answers[i] += code_bit(i, s) ? truth[s] : 0;
  }
  decode(answers);
  for (std::size_t s = 0; s < 4; ++s) CHECK(std::fabs(answers[s] - truth[s]) < 1e-15);
}

TEST(every_arity_learns_and_every_query_agrees) {
  std::mt19937 random(3);
  std::vector<std::int64_t> starts{0};
  std::vector<std::int32_t> indices;
  std::vector<float> values;
  std::vector<LabelId> labels;
  constexpr std::size_t n = 200, n_labels = 23;
  for (std::size_t r = 0; r < n; ++r) {
    for (std::int32_t f = 0; f < 9; ++f) {
      if (random() % 2 == 0) continue;
      indices.push_back(f);
      values.push_back(static_cast<float>(random() % 7) - 3);
    }
    starts.push_back(static_cast<std::int64_t>(indices.size()));
    labels.push_back(static_cast<LabelId>(random() % n_labels));
  }
  const CsrView X{starts, indices, values};
  for (const std::int32_t arity : {2, 3, 4, 8, 16, 32}) {
    const LabelTree tree = random_tree(n_labels, arity, 1);
    PecocTree model(tree, std::vector<double>(tree.n_nodes()), {}, {}, {});
    const Learning& options = tests::learning;
    learn(model, X, labels, {}, {}, {}, options);
    std::vector<double> all(n * n_labels), named(n), p_top(n * 3);
    std::vector<LabelId> top(n * 3);
    all_probabilities(model, X, n_labels, options.reading, all);
    label_probabilities(model, X, labels, options.reading, named);
    top_labels(model, X, 3, options.reading, top, p_top);
    for (std::size_t r = 0; r < n; ++r) {
      double sum = 0;
      for (std::size_t i = 0; i < n_labels; ++i) sum += all[r * n_labels + i];
      CHECK(std::fabs(sum - 1) < 1e-12);
      CHECK(named[r] == all[r * n_labels + static_cast<std::size_t>(labels[r])]);
      CHECK(p_top[r * 3] == all[r * n_labels + static_cast<std::size_t>(top[r * 3])]);
      CHECK(p_top[r * 3] >= p_top[r * 3 + 1]);
    }
  }
}
