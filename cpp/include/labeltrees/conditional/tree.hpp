// The conditional probability tree: a label tree with a regressor at every inner node.
//
// Node i's regressor estimates p_node = P(the label is below i's right child | it is below i, x). A
// label's probability is the product of p_node or 1 - p_node along its path (eq. 2 of the paper),
// so the probabilities of all labels sum to 1.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "labeltrees/online/learning_watch.hpp"
#include "labeltrees/online/prediction.hpp"
#include "labeltrees/online/regression.hpp"
#include "labeltrees/online/weight_table.hpp"
#include "labeltrees/platform/turn_lock.hpp"
#include "labeltrees/rows/csr.hpp"
#include "labeltrees/tree/label_tree.hpp"

namespace labeltrees {

// How a label not seen before finds its place: by rule (5) of the paper, or by coin tosses.
enum class Insertion { objective, random };
// The quantity that rule (5) balances: the labels of the two sides (the paper), or their examples.
enum class Balance { labels, examples };

struct ConditionalLearning : Learning {
  Insertion insertion;
  Balance balance;
  double alpha;        // aggressiveness of balancing, in [0, 1]
  std::uint64_t seed;  // of the coin tosses
  // Above one, rows are learned in batches, and any free thread learns the next part of the tree's
  // blocks. The model is the same for any number of threads above one, but differs from the model
  // of one thread. A new label is placed by the counts of all rows before it, but by regressors and
  // mixtures as of the batch's start.
  std::size_t n_threads;
};

// The inputs from which a node's log-odds are mixed. First the votes: for every feature of the row,
// its value times the log-odds of the counts of examples with it that went right and left. Votes
// are summed within classes of equal trust, which depend on how often the feature was seen and on
// whether its examples ever went both ways. Then the regressor's margin, and the log-odds of all
// examples that went right and left.
inline constexpr std::size_t n_vote_classes = 16;
inline constexpr std::size_t n_mixed = n_vote_classes + 2;
// Nodes that have seen about as many examples (by powers of two) share the weights of the mixture.
inline constexpr std::size_t n_mixtures = 24;
using Mixture = std::array<float, n_mixed>;
using Mixtures = std::array<Mixture, n_mixtures>;
// The mixture of a node with this mass: the exponent of mass + 1, mass >= 0.
inline std::size_t mixture_of(double mass) noexcept {
  const std::uint64_t power = (std::bit_cast<std::uint64_t>(mass + 1) >> 52) - 1023;
  return std::min<std::size_t>(power, n_mixtures - 1);
}

// The whole state of learning. Trees are binary.
class ConditionalTree {
 public:
  ConditionalTree();

  // Restores a saved state; throws TreeError if it does not fit together. Lines have strictly
  // increasing keys that name blocks of the tree. mass: one per node. mixtures: n_mixtures x
  // n_mixed.
  ConditionalTree(LabelTree tree, std::span<const double> mass, std::span<const CountedLine> lines,
                  std::span<const float> mixtures);

  const LabelTree& tree() const noexcept { return tree_; }
  const CountedTable& table() const noexcept { return table_; }
  CountedTable& table() noexcept { return table_; }
  // The mixture for a node that has seen this much.
  Mixture& mixture(NodeId node) noexcept { return mixtures_[mixture_of(mass(node))]; }
  const Mixture& mixture(NodeId node) const noexcept { return mixtures_[mixture_of(mass(node))]; }
  const Mixtures& mixtures() const noexcept { return mixtures_; }
  Mixtures& mixtures() noexcept { return mixtures_; }
  Place place(NodeId node) const noexcept { return places_[static_cast<std::size_t>(node)]; }
  // The summed weight of the examples that went through or to a node.
  double mass(NodeId node) const noexcept { return mass_[static_cast<std::size_t>(node)]; }
  const std::vector<double>& masses() const noexcept { return mass_; }
  // Edges from a node to the nearest leaf below it.
  std::int32_t shallowest(NodeId node) const noexcept {
    return shallowest_[static_cast<std::size_t>(node)];
  }

  // See LabelTree. The new leaf starts with mass 0.
  void add_root(LabelId label);
  NodeId split_leaf(NodeId leaf, LabelId new_label);
  void undo_split() noexcept;
  void add_mass(NodeId node, double weight) noexcept {
    mass_[static_cast<std::size_t>(node)] += weight;
  }
  void set_mass(NodeId node, double mass) noexcept { mass_[static_cast<std::size_t>(node)] = mass; }

  // Held shared by queries, exclusively by learning, so that threads may query while another
  // learns.
  TurnLock& mutex() const noexcept { return mutex_; }

 private:
  Place place_below(NodeId parent, NodeId child) const noexcept;
  void make_room(std::size_t n_nodes);
  void measure_up(NodeId node) noexcept;
  void derive_from_tree();

  LabelTree tree_;
  CountedTable table_;
  Mixtures mixtures_;
  std::vector<Place> places_;
  std::vector<double> mass_;
  std::vector<std::int32_t> shallowest_;
  mutable TurnLock mutex_;
};

// kappa of the paper: no side of a node gets more than about this share of its labels. alpha must
// be in (0, 1].
double balance_share(double alpha) noexcept;
// Theorem 7 with its sign mended: log n / log(1 / kappa) + 2; infinite for alpha = 0.
double depth_bound(double n_labels, double alpha) noexcept;

// Algorithm 3. Learns from rows `order` of X (all rows in turn if order is empty). labels[r] is the
// label of row r, and weights[r] > 0 its weight (1 if weights is empty; rows of weight 0 are
// skipped). New labels get leaves when they first occur. `prediction` is indexed by position in the
// order.
//
// O(depth * nnz) per row, plus an exact search if prediction.top is requested. Throws Diverged;
// with several threads other rows of its batch may have been learned. Throws std::bad_alloc; the
// model is then as after the last whole row, or the last whole batch.
void learn(ConditionalTree& model, const CsrView& X, std::span<const LabelId> labels,
           std::span<const float> weights, std::span<const std::int64_t> order,
           const Prediction& prediction, const ConditionalLearning& options,
           LearningWatch* watch = nullptr);

}  // namespace labeltrees
