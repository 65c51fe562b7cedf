#include "labeltrees/self_terminating/tree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "labeltrees/machine/attention.hpp"
#include "labeltrees/machine/index.hpp"

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
    need(std::isfinite(gain[node]) && std::isfinite(weight[node]),
         "a gain or weight that is not finite", node);
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
