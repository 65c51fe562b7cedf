#include <cmath>

#include "../check.hpp"
#include "labeltrees/baselines/l1_logistic.hpp"
#include "labeltrees/baselines/ndcg_trees.hpp"

using namespace labeltrees;

namespace {

// Row r has the features r % 3 and 3, and the label r % 3.
struct ThreeKinds {
  std::vector<std::int64_t> starts{0}, label_starts{0};
  std::vector<std::int32_t> indices, labels;
  std::vector<float> values, relevances;

  explicit ThreeKinds(std::int32_t n) {
    for (std::int32_t r = 0; r < n; ++r) {
      indices.insert(indices.end(), {r % 3, 3});
      values.insert(values.end(), {0.8f, 0.6f});
      starts.push_back(2 * (r + 1));
      labels.push_back(r % 3);
      relevances.push_back(1);
      label_starts.push_back(r + 1);
    }
  }
  CsrView X() const { return {starts, indices, values}; }
  CsrView Y() const { return {label_starts, labels, relevances}; }
};

NdcgTreeOptions options(std::size_t n_workers) {
  NdcgTreeOptions of;
  of.n_trees = 4;
  of.max_leaf = 2;
  of.cost = 100;
  of.n_workers = n_workers;
  return of;
}

}  // namespace

TEST(separators_of_one_row_and_none_are_flat) {
  const ThreeKinds rows(3);
  L1Logistic solver(4);
  const std::vector<std::int32_t> first{0};
  const std::vector<std::int8_t> sign{1};
  solver.solve(rows.X(), first, sign, std::vector{0.5}, 1e-6, 100);
  CHECK(solver.features().size() == 2 && solver.bias() == 0 && solver.weights()[0] == 0);
  // |b| + 3 log(1 + exp(-b)) has its least value where the slope is 0: 3 / (1 + e^b) = 1.
  solver.solve(rows.X(), first, sign, std::vector{3.0}, 1e-9, 1000);
  CHECK(std::fabs(solver.bias() - std::log(2)) < 1e-6);
}

TEST(trees_lead_rows_of_one_kind_to_leaves_of_their_label) {
  const ThreeKinds rows(60);
  const NdcgTrees trees = grow_ndcg_trees(rows.X(), 4, rows.Y(), 3, options(1));
  trees.check(4, 3);
  CHECK(trees.roots.size() == 4);
  std::vector<NodeId> leaves(60 * 4), again(60 * 4);
  ndcg_leaves(trees, rows.X(), 4, 1, leaves);
  ndcg_leaves(trees, rows.X(), 4, 3, again);
  CHECK(leaves == again);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const auto leaf = static_cast<std::size_t>(leaves[i]);
    CHECK(trees.left[leaf] == none);
    const auto first = static_cast<std::size_t>(trees.label_starts[leaf]);
    const auto end = static_cast<std::size_t>(trees.label_starts[leaf + 1]);
    bool found = false;
    for (std::size_t e = first; e < end; ++e) found |= trees.labels[e] == rows.labels[i / 4];
    CHECK(found);
  }
  const NdcgTrees by_three = grow_ndcg_trees(rows.X(), 4, rows.Y(), 3, options(3));
  CHECK(trees.left == by_three.left && trees.weights == by_three.weights &&
        trees.biases == by_three.biases && trees.relevances == by_three.relevances);
}

TEST(forged_trees_are_refused) {
  const ThreeKinds rows(60);
  const NdcgTrees good = grow_ndcg_trees(rows.X(), 4, rows.Y(), 3, options(1));
  const auto refused = [&](auto change) {
    NdcgTrees bad = good;
    change(bad);
    CHECK_THROWS(bad.check(4, 3), TreeError);
  };
  refused([](NdcgTrees& t) { t.left[0] = 0; });
  refused([](NdcgTrees& t) { t.left.back() = static_cast<NodeId>(t.n_nodes()) - 1; });
  refused([](NdcgTrees& t) { t.roots[0] = -2; });
  refused([](NdcgTrees& t) { t.roots.clear(); });
  refused([](NdcgTrees& t) { t.weight_starts[1] = -1; });
  refused([](NdcgTrees& t) { t.label_starts.back() += 1; });
  refused([](NdcgTrees& t) { t.labels[0] = 3; });
  refused([](NdcgTrees& t) { t.features[0] = 4; });
  refused([](NdcgTrees& t) { t.biases[0] = std::nanf(""); });
  refused([](NdcgTrees& t) { t.relevances[0] = 2; });
}
