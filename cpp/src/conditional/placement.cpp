#include "labeltrees/conditional/placement.hpp"

#include <algorithm>

#include "labeltrees/platform/elementary.hpp"

namespace labeltrees {

NodeId Placement::of_new(LabelId label, const PreparedRow& row, HeardOutputs& heard) {
  const LabelTree& tree = model_.tree();
  const bool uses_regressors = options_.insertion == Insertion::objective && options_.alpha < 1;
  const double bound = options_.balance == Balance::examples
                           ? depth_bound(static_cast<double>(tree.n_labels()) + 1, options_.alpha)
                           : depth_bound(1, 0);
  NodeId node = 0;
  std::uint32_t block = 0;
  for (std::int32_t depth = 0; !tree.is_leaf(node); ++depth) {
    double p_right = 0.5;
    if (uses_regressors) {
      const auto at = static_cast<std::size_t>(depth);
      if (at < heard.size() && heard[at].node != node) heard.resize(at);
      if (at == heard.size()) {
        if (model_.place(node).block != block) {
          block = model_.place(node).block;
          find_lines(model_.table(), block, row, lines_);
        }
        const NodeOutput output = evaluate_node(model_, node, lines_, row, options_.reading);
        heard.push_back({node, static_cast<double>(unsharpened(output, options_.reading))});
      }
      p_right = heard[at].p_right;
    }
    const NodeId left = tree.first_child(node);
    const bool right =
        options_.insertion == Insertion::random ? toss(label, depth) : objective(node, p_right) > 0;
    node = within(bound, depth, right ? left + 1 : left, right ? left : left + 1);
  }
  return node;
}

// obj(p, L, R, alpha) of the paper; positive means right.
double Placement::objective(NodeId node, double p_right) const {
  const double alpha = options_.alpha;
  const NodeId left = model_.tree().first_child(node);
  double value = (1 - alpha) * 2 * (p_right - 0.5);
  if (alpha > 0) value += alpha * (size_of(left) - size_of(left + 1));
  return value;
}

// A label of a given tree may have no examples yet; two such sides count as equal.
double Placement::size_of(NodeId node) const {
  return elementary::log2(options_.balance == Balance::labels
                              ? static_cast<double>(model_.tree().n_leaves(node))
                              : std::max(model_.mass(node), 1e-300));
}

// The preferred child, unless every leaf below it is so deep that a split would break the depth
// bound. The nearest leaf of the whole tree is never deeper than log2 n, so one side always fits.
NodeId Placement::within(double bound, std::int32_t depth, NodeId preferred, NodeId other) const {
  const bool fits = depth + 1 + model_.shallowest(preferred) + 1 <= bound;
  return fits ? preferred : other;
}

bool Placement::toss(LabelId label, std::int32_t depth) const {
  const auto which = (static_cast<std::uint64_t>(label) << 32) | static_cast<std::uint32_t>(depth);
  return (combine_hashes(options_.seed, which) >> 63) != 0;
}

}  // namespace labeltrees
