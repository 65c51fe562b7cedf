// The distribution of labels at one node of a LOMtree: its histogram, backed off to its parent's
// distribution,
//
//   p_node(y) = (count(y) + kappa p_parent(y)) / (n + kappa),
//
// where n is the number of examples in the node's histogram, kappa = back_off n (1 - trust) /
// trust, and trust is estimated from rows before they are learned at similar nodes (back_off.hpp).
// Above the root are the shares of the labels among all examples, which also make up one millionth
// of every prediction. Every label that was learned is thus above 0, and all sum to 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "labeltrees/lom/tree.hpp"
#include "labeltrees/online/prediction.hpp"

namespace labeltrees {

// The distribution of one node; keeps its scratch memory from node to node.
class NodeDistribution {
 public:
  // Reads the path from the root to a node. O(depth).
  void assign(const LomTree& model, NodeId node);
  void assign(const LomTree& model, std::span<const NodeId> path);
  // O(depth); 0 for a label never learned.
  double probability(LabelId label) const noexcept;
  // The k most likely labels, most likely first, ties by label; returns how many there are. Checks
  // the most frequent labels of the path's nodes from the bottom up, then if necessary all labels,
  // but only as long as others may still be more likely.
  std::size_t top(std::span<Found> answers);
  // Every label with probability >= threshold > 0, by label; stops when it has more than max_found.
  void above(double threshold, std::size_t max_found, std::vector<Found>& answers);
  // p[y] for every label id below p.size(). O(n_labels depth).
  void all(std::span<double> p) const;
  // The label at a place u in [0, 1) of the distribution.
  LabelId draw(double u);

 private:
  // A node of the path. The last node's p(y) is a sum over the path: share * count(y), and what is
  // left of the shares of all labels.
  struct Step {
    const LomNode* node;
    double kappa;       // of the back-off
    double bound;       // no label is more likely here
    double passed;      // this much of the distribution here is in the last node's,
    double share;       // and this much of a count here
    double rest_above;  // a label that is not common anywhere above has no more from there
  };
  void weigh_steps();
  bool is_below(double p, std::size_t i, double floor) const noexcept;
  template <typename Count>
  double through_path(double total, Count count) const noexcept;
  double probability_above(LabelId label, double floor);
  template <typename Floor, typename Offer>
  bool visit_common(Floor floor, Offer offer) const;
  template <typename Floor, typename Take>
  void visit_likely(Floor floor, Take take);
  const std::vector<LabelId>& by_total();

  const LomTree* model_ = nullptr;
  std::vector<NodeId> nodes_;  // the path, if it was not given
  std::vector<Step> path_;     // from the root down
  bool is_weighed_ = false;    // whether bounds and shares are known
  struct {
    double most, passed;  // the largest share of a label; what of it is in the last node's
  } base_{};
  std::vector<double> counts_;       // of the label looked at, by place in path_; -1 if not known
  std::vector<double> most_;         // scratch of probability_above
  std::vector<std::uint32_t> seen_;  // by label; the last query it was looked at for
  std::uint32_t query_ = 0;
  std::vector<LabelId> by_total_;  // labels, the largest total first,
  double by_total_weight_ = -1;    // when all examples weighed this much
};

}  // namespace labeltrees
