#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "../check.hpp"
#include "labeltrees/self_terminating/tree.hpp"

using namespace labeltrees;

namespace {

struct Data {
  std::vector<std::int64_t> starts{0};
  std::vector<std::int32_t> indices;
  std::vector<float> values;
  std::vector<LabelId> labels;
  CsrView view() const { return {starts, indices, values}; }
};

Data noisy_rows(std::size_t n_rows, std::int32_t n_features, unsigned seed) {
  Data data;
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (std::size_t r = 0; r < n_rows; ++r) {
    float sum = 0;
    for (std::int32_t f = 0; f < n_features; ++f) {
      if (random() % 3 == 0) continue;
      float value = normal(random);
      sum += value;
      if (random() % 20 == 0) value = std::numeric_limits<float>::quiet_NaN();
      data.indices.push_back(f);
      data.values.push_back(value);
    }
    data.starts.push_back(static_cast<std::int64_t>(data.indices.size()));
    data.labels.push_back(sum < -1 ? 0 : sum < 1 ? 1 : 2);
  }
  return data;
}

BinnedColumns binned(const Data& data) {
  Workers workers(1);
  return bin_columns(data.view(), 255, workers);
}

Growing paper(double penalty) {
  return {{penalty}, 0.0, 0.0, Norm::l1, Criterion::entropy, false, 1};
}

const std::vector<double> thirds{1.0 / 3, 1.0 / 3, 1.0 / 3};

}  // namespace

TEST(a_tree_splits_where_labels_change) {
  Data data;
  for (int i = 0; i < 40; ++i) {
    data.indices.push_back(0);
    data.values.push_back(static_cast<float>(i - 10));
    data.starts.push_back(i + 1);
    data.labels.push_back(i < 30 ? 0 : 1);
  }
  const std::vector<double> root{0.75, 0.25};
  const auto tree = grow(binned(data), {{}, data.labels, {}}, root, paper(1.0));
  CHECK(tree.n_nodes() == 3 && tree.feature[0] == 0);
  CHECK(tree.threshold[0] == 19.5f);
  CHECK(std::abs(probability_at(tree, 1, 1) - 0.5 / 30) < 1e-12);
  CHECK(std::abs(probability_at(tree, 2, 0) - 0.5 / 10) < 1e-12);
}

TEST(trees_do_not_depend_on_threads_and_probabilities_sum_to_one) {
  const Data data = noisy_rows(3000, 30, 3);  // the root is shared out, its children are not
  for (const auto& [norm, criterion] :
       std::vector<std::pair<Norm, Criterion>>{{Norm::l1, Criterion::entropy},
                                               {Norm::linf, Criterion::entropy},
                                               {Norm::l1, Criterion::gini}}) {
    const Growing one{{2.0}, 0.5, 1.0, norm, criterion, true, 1},
        four{{2.0}, 0.5, 1.0, norm, criterion, true, 4};
    const auto a = grow(binned(data), {{}, data.labels, {}}, thirds, one);
    const auto b = grow(binned(data), {{}, data.labels, {}}, thirds, four);
    CHECK(a.n_nodes() > 3);
    CHECK(a.left == b.left && a.threshold == b.threshold && a.feature == b.feature);
    CHECK(a.p == b.p && a.gain == b.gain && a.factor == b.factor);
    const auto leaves = find_leaves(a, data.view());
    std::vector<double> p(3);
    for (std::size_t r = 0; r < 100; ++r) {
      distribution_at(a, leaves[r], p);
      CHECK(std::abs(p[0] + p[1] + p[2] - 1) < 1e-12);
      for (LabelId label = 0; label < 3; ++label) {
        CHECK(probability_at(a, leaves[r], label) == p[static_cast<std::size_t>(label)]);
      }
    }
  }
}

TEST(rows_end_where_they_were_put_while_growing) {
  const Data data = noisy_rows(500, 4, 5);
  const auto tree = grow(binned(data), {{}, data.labels, {}}, thirds, paper(0.5));
  std::vector<double> weight(tree.n_nodes(), 0.0);
  for (NodeId node : find_leaves(tree, data.view())) {
    for (; node != none; node = tree.parent[static_cast<std::size_t>(node)]) {
      weight[static_cast<std::size_t>(node)] += 1;
    }
  }
  CHECK(weight == tree.weight);
}

TEST(categories_have_separate_branches_and_null_children) {
  Data data = noisy_rows(3000, 6, 9);
  for (std::size_t i = 0; i < data.values.size(); ++i) {
    if (data.indices[i] != 0 || std::isnan(data.values[i])) continue;
    data.values[i] = static_cast<float>(i % 3 + 4 * (i % 2));  // 0, 1, 2, 4, 5, 6
  }
  for (const Criterion criterion : {Criterion::entropy, Criterion::gini}) {
    Growing one{{0.2}, 0.5, 0.1, Norm::l1, criterion, true, 1, {0}}, four = one;
    four.n_workers = 4;
    const auto tree = grow(binned(data), {{}, data.labels, {}}, thirds, one);
    const auto same = grow(binned(data), {{}, data.labels, {}}, thirds, four);
    CHECK(tree.left == same.left && tree.threshold == same.threshold && tree.p == same.p);
    CHECK(std::find(tree.feature.begin(), tree.feature.end(), 0) != tree.feature.end());
    tree.check_sums();
    std::vector<double> weight(tree.n_nodes(), 0.0);
    for (NodeId node : find_leaves(tree, data.view())) {
      for (; node != none; node = tree.parent[static_cast<std::size_t>(node)]) {
        weight[static_cast<std::size_t>(node)] += 1;
      }
    }
    CHECK(weight == tree.weight);
    CHECK(std::find(weight.begin(), weight.end(), 0.0) != weight.end());  // above 6
  }
}

TEST(one_hot_distributions_are_labels) {
  const Data data = noisy_rows(400, 5, 7);
  std::vector<std::int64_t> starts;
  for (std::size_t r = 0; r <= data.labels.size(); ++r) {
    starts.push_back(static_cast<std::int64_t>(r));
  }
  const std::vector<double> ones(data.labels.size(), 1.0);
  const auto a = grow(binned(data), {{}, data.labels, {}}, thirds, paper(1.0));
  const auto b = grow(binned(data), {starts, data.labels, ones}, thirds, paper(1.0));
  CHECK(a.left == b.left && a.threshold == b.threshold);
}

TEST(bins_keep_their_order_and_never_outnumber_their_limit) {
  const Data data = noisy_rows(3000, 3, 9);
  Workers workers(2);
  const BinnedColumns columns = bin_columns(data.view(), 20, workers);
  CHECK(columns.columns.size() == 3);
  for (const Column& column : columns.columns) {
    CHECK(column.lows.size() <= 20);
    for (std::size_t bin = 0; bin < column.lows.size(); ++bin) {
      CHECK(column.lows[bin] <= column.highs[bin]);
      CHECK(bin == 0 || column.highs[bin - 1] < column.lows[bin]);
    }
    for (std::size_t e = column.begin + 1; !column.dense && e < column.end; ++e) {
      CHECK(columns.bins[e - 1] <= columns.bins[e]);
    }
  }
}

TEST(an_exception_in_a_worker_reaches_the_caller) {
  Workers workers(3);
  const auto fail = [](std::size_t task, std::size_t) {
    if (task == 7) throw TreeError("seven");
  };
  CHECK_THROWS(workers.run(20, fail), TreeError);
  std::atomic<int> sum{0};
  workers.run(100, [&](std::size_t task, std::size_t) { sum += static_cast<int>(task); });
  CHECK(sum == 4950);
}

TEST(arrays_that_are_no_self_terminating_tree_throw) {
  const Data data = noisy_rows(100, 3, 11);
  const auto sound = grow(binned(data), {{}, data.labels, {}}, thirds, paper(1.0));
  CHECK(sound.n_nodes() > 1);
  auto tree = sound;
  tree.left[0] = 0;
  CHECK_THROWS(tree.link(3), TreeError);
  tree = sound;
  tree.feature[0] = 3;
  CHECK_THROWS(tree.link(3), TreeError);
  tree = sound;
  tree.starts.pop_back();
  CHECK_THROWS(tree.link(3), TreeError);
  tree = sound;
  tree.weight[0] = -1;
  CHECK_THROWS(tree.link(3), TreeError);
  tree = sound;
  tree.link(3);
}

TEST(distributions_that_do_not_sum_to_one_are_noticed_at_any_node) {
  const Data data = noisy_rows(300, 3, 12);
  const auto sound = grow(binned(data), {{}, data.labels, {}}, thirds, paper(0.5));
  sound.check_sums();
  CHECK(sound.n_nodes() > 5);
  for (std::size_t node = 1; node < sound.n_nodes(); ++node) {
    auto tree = sound;
    const auto begin = static_cast<std::size_t>(tree.starts[node]);
    if (begin == static_cast<std::size_t>(tree.starts[node + 1])) {
      tree.factor[node] *= 0.99;
    } else {
      tree.p[begin] = tree.p[begin] < 0.5 ? tree.p[begin] + 0.01 : tree.p[begin] - 0.01;
    }
    CHECK_THROWS(tree.check_sums(), TreeError);
  }
  auto tree = sound;
  std::fill(tree.p.begin(), tree.p.end(), 0.0);
  std::fill(tree.factor.begin(), tree.factor.end(), 0.0);
  CHECK_THROWS(tree.check_sums(), TreeError);
}

namespace {

// Rows that store every entry of a dense matrix that is not NaN, zeros included.
Data stored(const std::vector<std::vector<float>>& matrix) {
  Data data;
  for (const auto& row : matrix) {
    for (std::size_t f = 0; f < row.size(); ++f) {
      if (std::isnan(row[f])) continue;
      data.indices.push_back(static_cast<std::int32_t>(f));
      data.values.push_back(row[f]);
    }
    data.starts.push_back(static_cast<std::int64_t>(data.indices.size()));
  }
  return data;
}

Data without_zeros(const Data& data) {
  Data tidy;
  for (std::size_t r = 0; r + 1 < data.starts.size(); ++r) {
    const SparseRow row = data.view().row(r);
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (row.values[i] == 0.0f) continue;
      tidy.indices.push_back(row.indices[i]);
      tidy.values.push_back(row.values[i]);
    }
    tidy.starts.push_back(static_cast<std::int64_t>(tidy.indices.size()));
  }
  return tidy;
}

bool same_columns(const BinnedColumns& a, const BinnedColumns& b) {
  if (a.columns.size() != b.columns.size()) return false;
  for (std::size_t c = 0; c < a.columns.size(); ++c) {
    const Column &x = a.columns[c], &y = b.columns[c];
    if (x.feature != y.feature || x.dense != y.dense || x.begin != y.begin || x.end != y.end ||
        x.zero_bin != y.zero_bin || x.lows != y.lows || x.highs != y.highs) {
      return false;
    }
  }
  return a.rows == b.rows && a.bins == b.bins && a.dense_bins == b.dense_bins;
}

}  // namespace

TEST(stored_zeros_change_no_column) {
  const float no = std::numeric_limits<float>::quiet_NaN();  // not stored
  const std::vector<std::vector<std::vector<float>>> matrices{
      {{0, 3}, {no, no}},        // as many entries as columns that are not zero times rows
      {{0, 1, 2}, {0, no, no}},  // rows of unequal length
      {{0, 0, 1}, {no, no, no}, {no, no, no}},
      {{1, 0, no}, {1, no, 0}},  // every row as long, of other features
      {{0, 1}, {2, 0}},          // all stored, which takes the fast path
      {{0, 0}, {0, 0}},
      {{no, 0, 5, no}, {0, no, no, 5}, {no, 0, 5, no}},
  };
  for (const auto& matrix : matrices) {
    const Data data = stored(matrix);
    CHECK(same_columns(binned(data), binned(without_zeros(data))));
  }
}

TEST(stored_zeros_of_many_and_of_wide_rows_change_no_column) {
  std::mt19937 random(5);
  for (const std::int32_t stride : {1, 100'000}) {  // a table of features, or a search among them
    for (const std::size_t n_rows : {2u, 3u, 10u, 200u}) {
      Data data;
      for (std::size_t r = 0; r < n_rows; ++r) {
        // One row stores as many zeros as there are rows, so that counts alone look complete.
        const std::size_t n = r == 0 ? n_rows : 0;
        for (std::size_t f = 0; f < n; ++f) {
          data.indices.push_back(static_cast<std::int32_t>(f) * stride);
          data.values.push_back(f + 1 == n ? 1.0f + static_cast<float>(random() % 9) : 0.0f);
        }
        data.starts.push_back(static_cast<std::int64_t>(data.indices.size()));
      }
      const BinnedColumns columns = binned(data);
      CHECK(columns.columns.size() == 1);
      CHECK(same_columns(columns, binned(without_zeros(data))));
    }
  }
}
