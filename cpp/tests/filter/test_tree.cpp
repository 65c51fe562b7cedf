#include <cmath>

#include "../check.hpp"
#include "../options.hpp"
#include "labeltrees/filter/tree.hpp"

using namespace labeltrees;

TEST(a_tournament_finds_its_labels_and_its_winner_is_the_most_likely) {
  std::vector<std::int64_t> starts{0};
  std::vector<std::int32_t> indices;
  std::vector<float> values;
  std::vector<LabelId> labels;
  for (std::int32_t r = 0; r < 600; ++r) {
    indices.push_back(r % 13);
    values.push_back(1);
    starts.push_back(r + 1);
    labels.push_back(r % 13);
  }
  const CsrView X{starts, indices, values};
  ConditionalTree model;
  learn_tournament(model, X, labels, {}, {}, {}, tests::conditional_learning);
  std::vector<LabelId> winners(600), top(600);
  std::vector<double> all(600 * 13), p_top(600), named(600);
  tournament_winners(model, X, tests::reading, winners);
  tournament_top(model, X, 1, tests::reading, top, p_top);
  tournament_all(model, X, 13, tests::reading, all);
  tournament_probabilities(model, X, labels, tests::reading, named);
  for (std::size_t r = 0; r < 600; ++r) {
    double sum = 0;
    for (std::size_t i = 0; i < 13; ++i) sum += all[r * 13 + i];
    CHECK(std::fabs(sum - 1) < 1e-12);
    CHECK(winners[r] == labels[r] && top[r] == labels[r]);
    CHECK(named[r] == all[r * 13 + static_cast<std::size_t>(labels[r])] && named[r] == p_top[r]);
  }
}
