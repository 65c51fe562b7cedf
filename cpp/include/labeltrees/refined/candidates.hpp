// The labels that conditional probability trees propose for a row.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "labeltrees/conditional/node_probability.hpp"
#include "labeltrees/conditional/tree.hpp"

namespace labeltrees {

// Trees over the same labels. The probability of a label is the arithmetic mean of the trees'
// probabilities, summed in their order.
using Trees = std::vector<std::shared_ptr<ConditionalTree>>;

struct Candidate {
  LabelId label;
  double p_trees;  // the trees' probability
  double mass;     // examples of the label, by weight
};

// Maximum number of candidates of a row, and their least probability as a share of the largest.
struct Shortlist {
  std::size_t most;
  double least_share;  // in [0, 1]
};

// The candidates of a row, most likely first, and what is known of all other labels.
struct Proposal {
  std::vector<Candidate> candidates;
  double rest = 1;          // the trees' probability of all others together
  double most_outside = 1;  // no other label has more

  // Its place among the candidates, or their number if it is none of them.
  std::size_t find(LabelId label) const noexcept;
};

// P(label given row) of one tree, multiplied as in every query.
class PathQuery {
 public:
  // 0 if the label has no leaf. O(depth nnz).
  double evaluate(const ConditionalTree& tree, const PreparedRow& row, LabelId label,
                  const Reading& reading);
  // The mean over trees.
  double evaluate(const Trees& trees, const PreparedRow& row, LabelId label,
                  const Reading& reading);

 private:
  std::vector<NodeId> path_;
  BlockLines lines_;
};

// Finds candidates by a beam. It keeps the k most likely inner nodes of every level, the k most
// likely of all leaves met, and with several trees the k labels with the largest mean. A path is
// dropped if it has less than the least share of the most likely node of its level or of the most
// likely leaf so far. With fewer than three labels there are no candidates. Keeps its memory from
// row to row.
//
// Blocks begin at every third level, and the lines of all blocks of a level are prefetched
// together. A row thus waits for memory once in three levels, not once for each node.
class CandidateSearch {
 public:
  // O(n_trees k depth nnz), k being shortlist.most. If the least share is 0, of three labels or
  // more k are candidates, or all.
  void run(const Trees& trees, const PreparedRow& row, const Shortlist& shortlist,
           const Reading& reading, Proposal& proposal);

 private:
  struct Reached {
    double p_path;
    NodeId node;
    std::uint32_t block;  // its number among the blocks of this search
  };
  static bool comes_first(const Reached& a, const Reached& b) noexcept;
  double search(const ConditionalTree& tree, const PreparedRow& row, std::size_t k,
                const Reading& reading, double least);
  void open_blocks(const ConditionalTree& tree, const PreparedRow& row);
  void grow(std::size_t n);
  void confirm(const CountedTable& table, const PreparedRow& row, std::size_t block);
  void keep_first(std::vector<Reached>& nodes, std::size_t n, double& most_outside);
  void drop_unlikely(double least, double& most_outside);
  void drop_hopeless(std::size_t k, double& most_outside);

  std::vector<Reached> level_, next_, leaves_;
  // By block and feature; of each block those features come first that have a line.
  std::vector<std::uint64_t> keys_;
  std::vector<CountedTable::Home> homes_;
  std::vector<const CountedLine*> lines_;
  std::vector<float> values_;
  std::vector<std::size_t> n_found_;  // lines, by block
  PathQuery paths_;
  std::vector<std::vector<Found>> found_;  // by each tree
};

}  // namespace labeltrees
