#include <cmath>

#include "../check.hpp"
#include "../options.hpp"
#include "labeltrees/baselines/one_against_all.hpp"

using namespace labeltrees;

TEST(labels_get_regressors_as_they_come) {
  std::vector<std::int64_t> starts{0};
  std::vector<std::int32_t> indices;
  std::vector<float> values;
  std::vector<LabelId> labels;
  for (std::int32_t r = 0; r < 300; ++r) {
    indices.push_back(r % 17);
    values.push_back(1);
    starts.push_back(r + 1);
    labels.push_back(r % 17);
  }
  const CsrView X{starts, indices, values};
  OneAgainstAll model;
  std::vector<std::uint8_t> is_new(300);
  std::vector<LabelId> top(300);
  std::vector<double> p_top(300), all(300 * 17), named(300);
  learn(model, X, labels, {}, {}, {{}, is_new, top, p_top}, tests::learning);
  CHECK(top[0] == none && top[299] == labels[299]);
  for (std::size_t r = 0; r < 300; ++r) CHECK(is_new[r] == (r < 17 ? 1 : 0));
  all_probabilities(model, X, 17, tests::reading, all);
  label_probabilities(model, X, labels, tests::reading, named);
  for (std::size_t r = 0; r < 300; ++r) {
    double sum = 0;
    for (std::size_t i = 0; i < 17; ++i) sum += all[r * 17 + i];
    CHECK(std::fabs(sum - 1) < 1e-12);
    CHECK(named[r] == all[r * 17 + static_cast<std::size_t>(labels[r])]);
  }
  CHECK_THROWS(OneAgainstAll(std::vector<double>{-1.0}, {}, {}, {}), TreeError);
}
