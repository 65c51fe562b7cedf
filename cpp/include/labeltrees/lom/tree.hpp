// The logarithmic online multiclass tree (LOMtree), a decision tree that chooses its partitions
// while it learns. Every inner node has a linear regressor whose sign sends a row left or right. It
// learns to send a label's rows where they make the split pure and balanced. Leaves that few rows
// reach are recycled where they are needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "labeltrees/lom/back_off.hpp"
#include "labeltrees/lom/common_labels.hpp"
#include "labeltrees/lom/ledger.hpp"
#include "labeltrees/online/learning_watch.hpp"
#include "labeltrees/online/prediction.hpp"
#include "labeltrees/online/regression.hpp"
#include "labeltrees/online/weight_table.hpp"
#include "labeltrees/platform/turn_lock.hpp"
#include "labeltrees/rows/csr.hpp"
#include "labeltrees/tree/label_tree.hpp"

namespace labeltrees {

// The loss that a node's regressor minimises; its target is -1 (left) or 1 (right).
enum class PartitionLoss { hinge, logistic, squared, absolute };

// With `again`, rows give no measure of trust.
struct LomLearning : Learning {
  PartitionLoss loss;
  double max_splits;        // T: the tree may have this many inner nodes,
  double splits_per_label;  // or this many for every label seen, whichever is more
  double swap_resistance;   // R_S >= 1
  bool training_path_only;  // histograms count only a row's training path: the paper's l_v
};

struct LomNode {
  NodeId parent = none, left = none, right = none;  // a leaf has no children
  std::uint32_t ledger = 0;                         // what it knows of every label
  Place place{0, 0};                                // of its regressor, once it has children
  double least = 0;                // C_v, the least weight of examples that reached a leaf below
  std::uint32_t leaf_labels = 0;   // number of distinct labels it learned as a leaf,
  float leaf_top = 0;              // and the largest count of one
  float mean = 0;                  // E_v, mean score since the split,
  float mean_weight = 0;           // of examples with this weight
  double weight = 0;               // of the examples in its histogram,
  std::uint32_t n_labels = 0;      // their different labels,
  CommonLabels common;             // and the most frequent of them
  std::uint32_t n_recycled = 0;    // how often it was taken from one place of the tree to another
  std::uint32_t split_number = 0;  // its split was the tree's so-many-th
};

// The saved state of a tree without weights and ledgers, one entry for every node.
struct LomArrays {
  std::vector<NodeId> parent, left, right;
  std::vector<std::uint32_t> ledger, block, leaf_labels, n_labels, n_recycled, split_number;
  std::vector<std::uint8_t> slot;
  std::vector<double> least, weight;
  std::vector<float> leaf_top, top, mean, mean_weight;
};

// The whole state of learning. A new tree is one leaf.
//
// Invariants: every node is reached once from the root; least is the minimum over the leaves below;
// the ledger of every node is open; no two regressors share a place, and no place is used twice.
class LomTree {
 public:
  LomTree();
  // Restores a saved state; throws TreeError if it does not fit together. totals: the weight of
  // every label's examples. used_slots: a mask of the places in use, by block from 1. again: the
  // part of the totals that was learned again.
  LomTree(const LomArrays& arrays, NodeId root, std::span<const std::uint8_t> used_slots,
          std::span<const double> totals, Ledgers ledgers, std::span<const std::uint64_t> keys,
          std::span<const float> weights, std::span<const float> sums, const BackOff& trust,
          double again);

  NodeId root() const noexcept { return root_; }
  std::size_t n_nodes() const noexcept { return nodes_.size(); }
  const LomNode& node(NodeId id) const noexcept { return nodes_[static_cast<std::size_t>(id)]; }
  LomNode& node(NodeId id) noexcept { return nodes_[static_cast<std::size_t>(id)]; }
  bool is_leaf(NodeId id) const noexcept { return node(id).left == none; }
  std::size_t n_splits() const noexcept { return nodes_.size() / 2; }
  // Splits made at the cost of another leaf.
  std::uint64_t n_recyclings() const noexcept { return n_made_ - n_splits(); }

  const WeightTable& table() const noexcept { return table_; }
  WeightTable& table() noexcept { return table_; }
  const Ledgers& ledgers() const noexcept { return ledgers_; }
  const std::vector<std::uint8_t>& used_slots() const noexcept { return used_slots_; }

  // Labels that were learned at least once.
  std::size_t n_labels() const noexcept { return n_labels_; }
  const std::vector<double>& masses() const noexcept { return totals_; }
  double total(LabelId label) const noexcept {
    return label >= 0 && static_cast<std::size_t>(label) < totals_.size()
               ? totals_[static_cast<std::size_t>(label)]
               : 0.0;
  }
  double total_weight() const noexcept { return total_weight_; }
  // The label with the largest total, the first of them; none before anything is learned.
  LabelId top_total() const noexcept { return top_total_; }
  // How often a label is in a node's histogram.
  double count(const LomNode& node, LabelId label) const noexcept {
    return ledgers_.count(node.ledger, label);
  }
  // The mean score of a label's examples at a node; 0 before there are any.
  float mean_score(const LomNode& node, LabelId label) const noexcept {
    const LedgerEntry* entry = ledgers_.find(node.ledger, label);
    return entry == nullptr ? 0.0f : entry->mean;
  }
  // Calls visit(label) for every label in a node's histogram.
  template <typename Visit>
  void for_labels(const LomNode& node, Visit visit) const {
    ledgers_.for_labels(node.ledger, visit);
  }

  // Allocates all memory for learning an example of the label, including one split, if n_greedy
  // nodes count it in addition to the nodes of its training path. The functions below then do not
  // throw.
  void make_room(LabelId label, std::size_t n_greedy);
  // No path from the root has more nodes.
  std::size_t max_path() const noexcept { return max_path_; }

  void add_total(LabelId label, double weight);
  // Adds to the part of the totals that was learned again.
  void add_again(double weight) noexcept { again_ += weight; }
  // Adds an example to a node's histogram; returns the node's entry for the label, valid until the
  // next call. A row belongs to every node of its training path. Unless training_path_only is set,
  // it also belongs to every node of its greedy path, which it would have taken before the update.
  // Without the greedy path, leaves look purer than they are for rows whose label is unknown.
  LedgerEntry& count_histogram(NodeId id, LabelId label, float weight);
  // A node's entry for a label, made of zeros if there is none; valid until the next call.
  LedgerEntry& entry(NodeId id, LabelId label) { return ledgers_.obtain(node(id).ledger, label); }
  // Returns whether the leaf should be split before it counts an example. entry: the leaf's entry
  // for the example's label.
  bool wants_split(NodeId leaf, const LedgerEntry& entry, float weight,
                   const LomLearning& options) const;
  // Gives the leaf two children. These are new nodes or, at the limit, the tree's smallest leaf and
  // its parent, whose other child takes the parent's place (also where the parent is the root).
  void split(NodeId leaf, const LomLearning& options);
  // Makes a leaf of the node that was split last, by new children of which nothing is known yet,
  // and forgets what it learned since. Needs make_room before.
  void undo_split(NodeId inner);
  // Counts an example that ends at the leaf.
  void count_at_leaf(NodeId leaf, LedgerEntry& entry, float weight);
  // Counts an example with this score at an inner node.
  void count_score(NodeId inner, LedgerEntry& entry, float score, float weight);

  // The node where the label's last example ended; any node or none. Used only to prefetch memory.
  NodeId last_leaf(LabelId label) const noexcept;
  void remember_leaf(LabelId label, NodeId leaf);
  void prefetch_entry(NodeId id, LabelId label) const noexcept {
    ledgers_.prefetch(node(id).ledger, label);
  }

  LomArrays arrays() const;
  // Weight of the parent's distribution, in examples of the node's histogram: back_off times the
  // weight that the learned trust gives. 0 for a node without examples.
  double kappa(const LomNode& node) const noexcept;
  std::size_t trust_class(const LomNode& node) const noexcept {
    return BackOff::class_of(node.left == none, node.weight / n_rounds(), node.n_labels);
  }
  const BackOff& trust() const noexcept { return trust_; }
  BackOff& trust() noexcept { return trust_; }
  double back_off() const noexcept { return back_off_; }
  void set_back_off(double value) noexcept { back_off_ = value; }
  // The weight of the examples that were learned again, in later passes.
  double again() const noexcept { return again_; }
  // How often each example was learned, on average; >= 1. In float, so that it does not depend on
  // the order in which weights were summed.
  double n_rounds() const noexcept {
    const double first = total_weight_ - again_;
    return again_ > 0 && first > 0 ? static_cast<double>(static_cast<float>(total_weight_ / first))
                                   : 1.0;
  }
  // Held shared by queries, alone by learning.
  TurnLock& mutex() const noexcept { return mutex_; }

 private:
  bool has_room(const LomLearning& options) const noexcept;
  void reset(NodeId id);
  NodeId smallest_leaf() const noexcept;
  std::size_t path_size(NodeId id) const noexcept;
  void recycle(NodeId smallest);
  void update_least(NodeId id) noexcept;
  Place new_place(NodeId id);
  void check_shape();
  void check_places() const;
  void check_counts() const;
  void check_histogram(const LomNode& node) const;

  std::vector<LomNode> nodes_;
  NodeId root_ = 0;
  std::size_t max_path_ = 1;
  std::uint64_t n_made_ = 0;  // splits, recyclings included
  WeightTable table_;
  Ledgers ledgers_;
  std::vector<std::uint8_t> used_slots_;
  std::vector<double> totals_;
  double total_weight_ = 0;
  std::size_t n_labels_ = 0;
  LabelId top_total_ = none;
  std::vector<NodeId> last_leaf_;
  BackOff trust_;
  double back_off_ = 1, again_ = 0;
  mutable TurnLock mutex_;
};

// Algorithm 1 of the paper, with corrections; see learn of the conditional tree for the arguments.
// Only the requested parts of the prediction are computed. O(depth nnz) a row. One thread. Throws
// Diverged and std::bad_alloc; the model is then as after the last whole row.
void learn(LomTree& model, const CsrView& X, std::span<const LabelId> labels,
           std::span<const float> weights, std::span<const std::int64_t> order,
           const Prediction& prediction, const LomLearning& options,
           LearningWatch* watch = nullptr);

// The construction of Theorem 1, for a model that has learned no rows. It splits the leaf with the
// largest weight of rows, among leaves with two labels or more, until the tree has as many splits
// as options allow. Only a split's regressor learns its rows, n_passes times in their order, by the
// rule of Algorithm 1. Then its sign divides them. A leaf whose rows all go to one side stays a
// leaf. At last every row is counted once in the histograms on its path, in the given order. Throws
// Diverged and std::bad_alloc; the model must be discarded then. O(n_passes depth nnz) a row.
void fit_heaviest(LomTree& model, const CsrView& X, std::span<const LabelId> labels,
                  std::span<const float> weights, std::span<const std::int64_t> order,
                  std::size_t n_passes, const LomLearning& options);

}  // namespace labeltrees
