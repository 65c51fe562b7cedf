// The labels that conditional probability trees propose for a row.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "labeltrees/conditional/node_probability.hpp"
#include "labeltrees/conditional/tree.hpp"

namespace labeltrees {

// Trees over the same labels. A label's probability is the arithmetic mean of what they say, summed
// in their order.
using Trees = std::vector<std::shared_ptr<ConditionalTree>>;

struct Candidate {
  LabelId label;
  double p_trees;  // the trees' probability
  double mass;     // examples of the label, by weight
};

// How many labels may be candidates of a row, and how likely they must be by the likeliest.
struct Shortlist {
  std::size_t most;
  double least_share;  // in [0, 1]
};

// The candidates of a row, likeliest first, and what is known of all other labels.
struct Proposal {
  std::vector<Candidate> candidates;
  double rest = 1;          // the trees' probability of all others together
  double most_outside = 1;  // no other label has more

  // Its place among the candidates, or their number if it is none of them.
  std::size_t find(LabelId label) const noexcept;
};

// P(label given row) of one tree, as every question multiplies it.
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

// Candidates by a beam: of every level the k likeliest inner nodes, of all leaves met the k
// likeliest, of several trees those k that are likeliest on average. Paths are given up that have
// less than the least share of the likeliest node of their level or leaf met so far. Of fewer than
// three labels none is a candidate. Keeps its memory from row to row.
//
// Blocks begin at every third level, so that the lines of all blocks of a level are asked for
// together: a row waits for memory once in three levels, not once for each node.
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
