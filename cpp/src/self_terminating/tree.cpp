#include "labeltrees/self_terminating/tree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "labeltrees/platform/attention.hpp"
#include "labeltrees/platform/elementary.hpp"
#include "labeltrees/platform/index.hpp"

namespace labeltrees {
namespace {

void need(bool holds, const char* what, std::size_t node) {
  if (!holds) throw TreeError(what + (" at node " + std::to_string(node)));
}

// The listed probability of a label at a node, or a negative number.
double listed(const SelfTerminatingTree& tree, NodeId node, LabelId label) noexcept {
  const auto begin = tree.labels.begin() + tree.starts[index(node)];
  const auto end = tree.labels.begin() + tree.starts[index(node) + 1];
  const auto found = std::lower_bound(begin, end, label);
  if (found == end || *found != label) return -1.0;
  return tree.p[static_cast<std::size_t>(found - tree.labels.begin())];
}

float value_of(const SparseRow& row, std::int32_t feature) noexcept {
  const auto found = std::lower_bound(row.indices.begin(), row.indices.end(), feature);
  if (found == row.indices.end() || *found != feature) return 0.0f;
  return row.values[static_cast<std::size_t>(found - row.indices.begin())];
}

bool is_probability(double p) noexcept { return p >= 0.0 && p <= 1.0 + 1e-9; }

// The sum of every node's distribution, from its parent's and the labels listed. Goes down and up
// the tree with one number for each label, its last listed p, and the factors since.
class DistributionSums {
 public:
  explicit DistributionSums(const SelfTerminatingTree& tree) : tree_(tree) {
    for (const double p : tree.root) last_.push_back({p, {}});
  }

  // Throws TreeError if a sum is not 1. O(nodes + listed).
  void check() {
    const double sum = std::accumulate(tree_.root.begin(), tree_.root.end(), 0.0);
    need(is_one(sum), "a distribution that does not sum to 1", 0);
    std::vector<Step> way;
    push_children(0, sum, {}, way);
    while (!way.empty()) {
      Step& step = way.back();
      if (step.n_undone != none_yet) {
        undo(step.n_undone);
        way.pop_back();
        continue;
      }
      step.n_undone = undone_.size();
      const Step here = step;  // children move the steps
      const Shrinking now = here.above.and_then(tree_.factor[index(here.node)]);
      const double below = enter(here, now);
      need(is_one(below), "a distribution that does not sum to 1", index(here.node));
      push_children(here.node, below, now, way);
    }
  }

 private:
  static constexpr std::size_t none_yet = static_cast<std::size_t>(-1);
  // The product of factors: a factor of 0 has no logarithm.
  struct Shrinking {
    double log = 0;
    std::size_t n_zeros = 0;
    Shrinking and_then(double factor) const {
      return factor > 0 ? Shrinking{log + elementary::log(factor), n_zeros}
                        : Shrinking{log, n_zeros + 1};
    }
  };
  struct Last {
    double p;
    Shrinking at;  // when it was listed
  };
  struct Step {
    NodeId node;
    double sum_above;
    Shrinking above;
    std::size_t n_undone;
  };
  struct Undo {
    LabelId label;
    Last last;
  };

  static bool is_one(double sum) { return std::abs(sum - 1.0) <= 1e-6; }

  void push_children(NodeId node, double sum, const Shrinking& now, std::vector<Step>& way) const {
    const NodeId left = tree_.left[index(node)];
    if (left == none) return;
    way.push_back({left, sum, now, none_yet});
    way.push_back({left + 1, sum, now, none_yet});
  }

  double enter(const Step& step, const Shrinking& now) {
    double unlisted = step.sum_above, listed = 0;
    for (std::int64_t i = tree_.starts[index(step.node)]; i < tree_.starts[index(step.node) + 1];
         ++i) {
      const LabelId label = tree_.labels[static_cast<std::size_t>(i)];
      Last& last = last_[index(label)];
      if (last.at.n_zeros == step.above.n_zeros) {
        unlisted -= last.p * elementary::exp(step.above.log - last.at.log);
      }
      undone_.push_back({label, last});
      last = {tree_.p[static_cast<std::size_t>(i)], now};
      listed += last.p;
    }
    return tree_.factor[index(step.node)] * std::max(unlisted, 0.0) + listed;
  }

  void undo(std::size_t n_kept) {
    for (; undone_.size() > n_kept; undone_.pop_back()) {
      last_[index(undone_.back().label)] = undone_.back().last;
    }
  }

  const SelfTerminatingTree& tree_;
  std::vector<Last> last_;  // by label
  std::vector<Undo> undone_;
};

}  // namespace

double shrink(double p, double factor) noexcept {
  // A label that shrinks at every node of a long path must not underflow to 0.
  const double least = p > 0 && factor > 0 ? std::numeric_limits<double>::min() : 0.0;
  return std::max(p * factor, least);
}

void SelfTerminatingTree::link(std::int32_t n_features) {
  const std::size_t n = n_nodes();
  if (n == 0 || feature.size() != n || threshold.size() != n || missing_left.size() != n ||
      gain.size() != n || weight.size() != n || factor.size() != n || starts.size() != n + 1 ||
      labels.size() != p.size() || starts.front() != 0 ||
      !std::is_sorted(starts.begin(), starts.end()) ||
      static_cast<std::size_t>(starts.back()) != labels.size()) {
    throw TreeError("the tree's arrays do not fit together");
  }
  if (root.empty() || !std::all_of(root.begin(), root.end(), is_probability)) {
    throw TreeError("the root's distribution has an entry that is no probability");
  }
  parent.assign(n, none);
  for (std::size_t node = 0; node < n; ++node) {
    need(is_probability(factor[node]) || node == 0, "a factor outside [0, 1]", node);
    need(std::isfinite(gain[node]) && std::isfinite(weight[node]) && weight[node] >= 0,
         "a gain or weight that is not finite, or a weight below 0", node);
    const auto begin = static_cast<std::size_t>(starts[node]),
               end = static_cast<std::size_t>(starts[node + 1]);
    for (std::size_t i = begin; i < end; ++i) {
      need(labels[i] >= 0 && index(labels[i]) < root.size() &&
               (i == begin || labels[i - 1] < labels[i]),
           "labels that do not increase or are not there", node);
      need(is_probability(p[i]), "a probability outside [0, 1]", node);
    }
    if (left[node] == none) continue;
    need(left[node] > 0 && index(left[node]) > node && index(left[node]) + 1 < n,
         "a child that is not there", node);
    need(parent[index(left[node])] == none && parent[index(left[node]) + 1] == none,
         "a child with another parent", node);
    parent[index(left[node])] = parent[index(left[node]) + 1] = static_cast<NodeId>(node);
    need(feature[node] >= 0 && feature[node] < n_features, "a feature that is not there", node);
    need(!std::isnan(threshold[node]), "a threshold that is no number", node);
  }
  for (std::size_t node = 1; node < n; ++node) need(parent[node] != none, "no parent", node);
}

void SelfTerminatingTree::check_sums() const { DistributionSums(*this).check(); }

std::vector<NodeId> find_leaves(const SelfTerminatingTree& tree, const CsrView& X) {
  std::vector<NodeId> leaves(X.n_rows());
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    look_up();
    const SparseRow row = X.row(r);
    NodeId node = 0;
    while (tree.left[index(node)] != none) {
      const float value = value_of(row, tree.feature[index(node)]);
      const bool goes_left = std::isnan(value) ? tree.missing_left[index(node)] != 0
                                               : value <= tree.threshold[index(node)];
      node = tree.left[index(node)] + (goes_left ? 0 : 1);
    }
    leaves[r] = node;
  }
  return leaves;
}

void distribution_at(const SelfTerminatingTree& tree, NodeId node, std::span<double> p) {
  std::vector<NodeId> path;
  for (; node != 0; node = tree.parent[index(node)]) path.push_back(node);
  std::copy(tree.root.begin(), tree.root.end(), p.begin());
  for (auto step = path.rbegin(); step != path.rend(); ++step) {
    const double factor = tree.factor[index(*step)];
    for (double& value : p) value = shrink(value, factor);
    for (std::int64_t i = tree.starts[index(*step)]; i < tree.starts[index(*step) + 1]; ++i) {
      p[index(tree.labels[static_cast<std::size_t>(i)])] = tree.p[static_cast<std::size_t>(i)];
    }
  }
}

double probability_at(const SelfTerminatingTree& tree, NodeId node, LabelId label) {
  std::vector<NodeId> path;
  double p = -1.0;
  for (; node != 0 && (p = listed(tree, node, label)) < 0; node = tree.parent[index(node)]) {
    path.push_back(node);
  }
  if (node == 0) p = tree.root[index(label)];
  for (auto step = path.rbegin(); step != path.rend(); ++step) {
    p = shrink(p, tree.factor[index(*step)]);
  }
  return p;
}

void top_labels_at(const SelfTerminatingTree& tree, NodeId node, std::span<LabelId> labels,
                   std::span<double> p) {
  std::vector<double> all(tree.n_labels());
  distribution_at(tree, node, all);
  std::vector<LabelId> order(all.size());
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(labels.size()),
                    order.end(), [&](LabelId a, LabelId b) {
                      return all[index(a)] != all[index(b)] ? all[index(a)] > all[index(b)] : a < b;
                    });
  for (std::size_t i = 0; i < labels.size(); ++i) {
    labels[i] = order[i];
    p[i] = all[index(order[i])];
  }
}

}  // namespace labeltrees
