#include "labeltrees/baselines/ndcg_trees.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "labeltrees/baselines/l1_logistic.hpp"
#include "labeltrees/platform/attention.hpp"
#include "labeltrees/platform/elementary.hpp"
#include "labeltrees/platform/hash.hpp"
#include "labeltrees/platform/index.hpp"
#include "labeltrees/platform/workers.hpp"

namespace labeltrees {
namespace {

constexpr int max_turns = 100;            // of ranks and signs; each turn raises the sum of nDCG
constexpr std::int32_t max_depth = 1000;  // deeper nodes are leaves, regardless of their rows

double discount(std::size_t rank) { return 1 / elementary::log2(1.0 + static_cast<double>(rank)); }

// A row as an array over all features, zero but for the row's.
class ScatteredRow {
 public:
  explicit ScatteredRow(std::size_t n_features) : values_(n_features, 0.0f) {}
  void put(const SparseRow& row) {
    for (const std::int32_t feature : present_) values_[index(feature)] = 0;
    present_.assign(row.indices.begin(), row.indices.end());
    for (std::size_t k = 0; k < row.size(); ++k) values_[index(row.indices[k])] = row.values[k];
  }
  double margin(const NdcgTrees& trees, std::size_t node) const {
    double sum = trees.biases[node];
    const auto end = static_cast<std::size_t>(trees.weight_starts[node + 1]);
    for (auto e = static_cast<std::size_t>(trees.weight_starts[node]); e < end; ++e) {
      sum += double{trees.weights[e]} * values_[index(trees.features[e])];
    }
    return sum;
  }

 private:
  std::vector<float> values_;
  std::vector<std::int32_t> present_;
};

// Grows one tree after another, keeping its memory.
class Grower {
 public:
  Grower(const CsrView& X, std::size_t n_features, const CsrView& Y, std::size_t n_labels,
         const NdcgTreeOptions& options)
      : X_(X), Y_(Y), options_(options), solver_(n_features), row_(n_features) {
    for (auto& side : discounts_) side.assign(n_labels, 0);
    for (auto& side : sums_) side.assign(n_labels, 0);
    is_met_.assign(n_labels, 0);
    std::size_t most = 0;
    for (std::size_t r = 0; r < Y.n_rows(); ++r) most = std::max(most, Y.row(r).size());
    ideal_.assign(most + 1, 0);
    for (std::size_t n = 1; n <= most; ++n) ideal_[n] = ideal_[n - 1] + discount(n);
  }

  NdcgTrees grow(std::size_t number) {
    seed_ = combine_hashes(options_.seed, number);
    tree_ = {};
    tree_.roots = {0};
    std::vector<std::int32_t> all(X_.n_rows());
    std::iota(all.begin(), all.end(), 0);
    add_node(0, std::move(all));
    // Nodes are visited in order of their numbers, and separators and labels are appended in that
    // order.
    for (std::size_t node = 0; node < pending_.size(); ++node) {
      look_up();
      std::vector<std::int32_t> rows = std::move(pending_[node].rows);
      if (!split(node, rows)) end(rows);
    }
    pending_.clear();
    return std::move(tree_);
  }

 private:
  struct Pending {
    std::int32_t depth;
    std::vector<std::int32_t> rows;
  };

  void add_node(std::int32_t depth, std::vector<std::int32_t> rows) {
    pending_.push_back({depth, std::move(rows)});
    tree_.left.push_back(none);
  }

  void end(const std::vector<std::int32_t>& rows) {
    meet_labels(rows);
    for (const LabelId label : met_) sums_[0][index(label)] = 0;
    for (const std::int32_t row : rows) {
      const SparseRow y = Y_.row(index(row));
      for (std::size_t k = 0; k < y.size(); ++k) sums_[0][index(y.indices[k])] += y.values[k];
    }
    const std::vector<double>& sums = sums_[0];
    std::stable_sort(met_.begin(), met_.end(),
                     [&](LabelId a, LabelId b) { return sums[index(a)] > sums[index(b)]; });
    if (met_.size() > options_.leaf_labels) met_.resize(options_.leaf_labels);
    std::sort(met_.begin(), met_.end());
    for (const LabelId label : met_) {
      tree_.labels.push_back(label);
      tree_.relevances.push_back(
          static_cast<float>(sums[index(label)] / static_cast<double>(rows.size())));
    }
    tree_.label_starts.push_back(static_cast<std::int64_t>(tree_.labels.size()));
    tree_.biases.push_back(0);
    tree_.weight_starts.push_back(static_cast<std::int64_t>(tree_.features.size()));
  }

  // Whether the node was split; it has no children and no separator otherwise.
  bool split(std::size_t node, const std::vector<std::int32_t>& rows) {
    const std::int32_t depth = pending_[node].depth;
    if (rows.size() <= options_.max_leaf || depth >= max_depth) return false;
    choose_signs(node, rows);
    if (!weigh_sides()) return false;
    solver_.solve(X_, rows, signs_, costs_, options_.tolerance, options_.max_passes);
    const std::size_t n_weights = tree_.features.size();
    for (std::size_t f = 0; f < solver_.features().size(); ++f) {
      const auto weight = static_cast<float>(solver_.weights()[f]);
      if (weight == 0) continue;
      tree_.features.push_back(solver_.features()[f]);
      tree_.weights.push_back(weight);
    }
    tree_.biases.push_back(static_cast<float>(solver_.bias()));
    tree_.weight_starts.push_back(static_cast<std::int64_t>(tree_.features.size()));
    std::vector<std::int32_t> sides[2];
    for (const std::int32_t row : rows) {
      row_.put(X_.row(index(row)));
      sides[row_.margin(tree_, node) > 0 ? 1 : 0].push_back(row);
    }
    if (sides[0].empty() || sides[1].empty()) {
      tree_.features.resize(n_weights);
      tree_.weights.resize(n_weights);
      tree_.biases.pop_back();
      tree_.weight_starts.pop_back();
      return false;
    }
    tree_.label_starts.push_back(static_cast<std::int64_t>(tree_.labels.size()));
    tree_.left[node] = static_cast<NodeId>(tree_.left.size());
    for (auto& side : sides) add_node(depth + 1, std::move(side));
    return true;
  }

  void meet_labels(const std::vector<std::int32_t>& rows) {
    met_.clear();
    for (const std::int32_t row : rows) {
      for (const LabelId label : Y_.row(index(row)).indices) {
        if (is_met_[index(label)] == 0) met_.push_back(label);
        is_met_[index(label)] = 1;
      }
    }
    std::sort(met_.begin(), met_.end());
    for (const LabelId label : met_) is_met_[index(label)] = 0;
  }

  void choose_signs(std::size_t node, const std::vector<std::int32_t>& rows) {
    meet_labels(rows);
    signs_.resize(rows.size());
    const std::uint64_t of_node = combine_hashes(seed_, node);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      signs_[i] = (combine_hashes(of_node, i) >> 63) != 0 ? 1 : -1;
    }
    for (int turn = 0; turn < max_turns; ++turn) {
      rank_sides(rows);
      if (!choose_sides(rows)) return;
    }
  }

  // Each side's discounts of the labels met; of equal sums the smaller label comes first.
  void rank_sides(const std::vector<std::int32_t>& rows) {
    for (const LabelId label : met_) sums_[0][index(label)] = sums_[1][index(label)] = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const SparseRow y = Y_.row(index(rows[i]));
      std::vector<double>& sums = sums_[signs_[i] > 0 ? 1 : 0];
      for (std::size_t k = 0; k < y.size(); ++k) {
        sums[index(y.indices[k])] += double{y.values[k]} / ideal_[y.size()];
      }
    }
    for (int side = 0; side < 2; ++side) {
      const std::vector<double>& sums = sums_[side];
      ranked_ = met_;
      std::stable_sort(ranked_.begin(), ranked_.end(),
                       [&](LabelId a, LabelId b) { return sums[index(a)] > sums[index(b)]; });
      for (std::size_t rank = 0; rank < ranked_.size(); ++rank) {
        discounts_[side][index(ranked_[rank])] = discount(rank + 1);
      }
    }
  }

  // Whether a row has changed its side.
  bool choose_sides(const std::vector<std::int32_t>& rows) {
    bool changed = false;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const SparseRow y = Y_.row(index(rows[i]));
      double low = 0, high = 0;
      for (std::size_t k = 0; k < y.size(); ++k) {
        low += y.values[k] * discounts_[0][index(y.indices[k])];
        high += y.values[k] * discounts_[1][index(y.indices[k])];
      }
      const std::int8_t sign = high > low ? 1 : (high < low ? -1 : signs_[i]);
      changed = changed || sign != signs_[i];
      signs_[i] = sign;
    }
    return changed;
  }

  // Both sides cost as much as half of the rows would; false if one has no rows.
  bool weigh_sides() {
    const auto n = static_cast<double>(signs_.size());
    const auto high = static_cast<double>(std::count(signs_.begin(), signs_.end(), 1));
    if (high == 0 || high == n) return false;
    costs_.resize(signs_.size());
    for (std::size_t i = 0; i < signs_.size(); ++i) {
      costs_[i] = options_.cost * n / (signs_[i] > 0 ? high : n - high);
    }
    return true;
  }

  const CsrView X_, Y_;
  const NdcgTreeOptions options_;
  L1Logistic solver_;
  ScatteredRow row_;
  std::uint64_t seed_ = 0;
  NdcgTrees tree_;
  std::vector<Pending> pending_;
  std::vector<double> ideal_;  // by number of labels; DCG of a row with all of them, each of
                               // relevance 1, first
  std::vector<LabelId> met_, ranked_;
  std::vector<std::uint8_t> is_met_;
  std::vector<double> sums_[2], discounts_[2];
  std::vector<std::int8_t> signs_;
  std::vector<double> costs_;
};

// Appends the nodes of a tree to the nodes of others.
void append(NdcgTrees& all, const NdcgTrees& tree) {
  const auto first = static_cast<NodeId>(all.n_nodes());
  const auto n_weights = static_cast<std::int64_t>(all.features.size());
  const auto n_labels = static_cast<std::int64_t>(all.labels.size());
  all.roots.push_back(first);
  for (const NodeId left : tree.left) all.left.push_back(left == none ? none : first + left);
  for (std::size_t n = 0; n < tree.n_nodes(); ++n) {
    all.weight_starts.push_back(n_weights + tree.weight_starts[n + 1]);
    all.label_starts.push_back(n_labels + tree.label_starts[n + 1]);
  }
  const auto extend = [](auto& to, const auto& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  extend(all.features, tree.features);
  extend(all.weights, tree.weights);
  extend(all.biases, tree.biases);
  extend(all.labels, tree.labels);
  extend(all.relevances, tree.relevances);
}

void need_that(bool fits, const char* what) {
  if (!fits) throw TreeError(what);
}

bool are_starts(const std::vector<std::int64_t>& starts, std::size_t n, std::size_t n_entries) {
  return starts.size() == n + 1 && starts.front() == 0 &&
         std::is_sorted(starts.begin(), starts.end()) &&
         static_cast<std::size_t>(starts.back()) == n_entries;
}

}  // namespace

void NdcgTrees::check(std::size_t n_features, std::size_t n_labels) const {
  const std::size_t n = n_nodes();
  need_that(!roots.empty() && biases.size() == n && weights.size() == features.size() &&
                relevances.size() == labels.size() &&
                are_starts(weight_starts, n, features.size()) &&
                are_starts(label_starts, n, labels.size()),
            "the arrays of the trees do not fit together");
  for (const NodeId root : roots) {
    need_that(root >= 0 && index(root) < n, "a root is no node");
  }
  for (std::size_t node = 0; node < n; ++node) {
    const NodeId child = left[node];
    need_that(child == none || (child > 0 && index(child) > node && index(child) + 1 < n),
              "a node's children do not come after it");
    for (auto e = label_starts[node] + 1; e < label_starts[node + 1]; ++e) {
      const auto at = static_cast<std::size_t>(e);
      need_that(labels[at - 1] < labels[at], "the labels of a leaf do not increase");
    }
  }
  for (const std::int32_t f : features) {
    need_that(f >= 0 && index(f) < n_features, "a separator has a feature out of range");
  }
  for (const LabelId l : labels) {
    need_that(l >= 0 && index(l) < n_labels, "a leaf has a label out of range");
  }
  const auto is_finite = [](float x) { return x > -1e30f && x < 1e30f; };
  need_that(std::all_of(weights.begin(), weights.end(), is_finite) &&
                std::all_of(biases.begin(), biases.end(), is_finite),
            "a weight is not finite");
  const auto is_relevance = [](float x) { return x >= 0 && x <= 1; };
  need_that(std::all_of(relevances.begin(), relevances.end(), is_relevance),
            "a leaf's relevance is not in [0, 1]");
}

NdcgTrees grow_ndcg_trees(const CsrView& X, std::size_t n_features, const CsrView& Y,
                          std::size_t n_labels, const NdcgTreeOptions& options) {
  Workers workers(std::min(options.n_workers, options.n_trees));
  std::vector<Grower> growers(workers.size(), Grower(X, n_features, Y, n_labels, options));
  std::vector<NdcgTrees> grown(options.n_trees);
  workers.run(options.n_trees, [&](std::size_t number, std::size_t worker) {
    grown[number] = growers[worker].grow(number);
  });
  NdcgTrees all;
  for (const NdcgTrees& tree : grown) append(all, tree);
  return all;
}

void ndcg_leaves(const NdcgTrees& trees, const CsrView& X, std::size_t n_features,
                 std::size_t n_workers, std::span<NodeId> leaves) {
  constexpr std::size_t rows_of_a_task = 64;
  const std::size_t n_trees = trees.roots.size(), n = X.n_rows();
  const std::size_t n_tasks = (n + rows_of_a_task - 1) / rows_of_a_task;
  Workers workers(std::max<std::size_t>(1, std::min(n_workers, n_tasks)));
  std::vector<ScatteredRow> scratch(workers.size(), ScatteredRow(n_features));
  workers.run(n_tasks, [&](std::size_t task, std::size_t worker) {
    const std::size_t end = std::min(n, (task + 1) * rows_of_a_task);
    for (std::size_t r = task * rows_of_a_task; r < end; ++r) {
      look_up();
      scratch[worker].put(X.row(r));
      for (std::size_t t = 0; t < n_trees; ++t) {
        NodeId node = trees.roots[t];
        while (trees.left[index(node)] != none) {
          node = trees.left[index(node)] + (scratch[worker].margin(trees, index(node)) > 0 ? 1 : 0);
        }
        leaves[r * n_trees + t] = node;
      }
    }
  });
}

}  // namespace labeltrees
