// The filter tree (Beygelzimer, Langford and Ravikumar): a knock-out tournament over a fixed
// pairing of labels. The regressor of an inner node separates the winners of its two sides. A row
// updates a node only if its label has won every match below. It uses the state of the conditional
// tree, without mixing.
//
// A node thus estimates the odds of two labels, not of two sets. The probability of the label that
// lost at a node is its odds times the probability of the label that won. Hence
//
//   P(y | x) = w(y) / sum of all w,   w(y) = product over y's path of min(1, odds of y's side),
//
// which is true if every node knows its odds, and has the tournament's winner as its most likely
// label. Winners are found in O(depth nnz); the sum costs O(n_labels nnz) a row.
#pragma once

#include <span>

#include "labeltrees/conditional/tree.hpp"

namespace labeltrees {

// One gradient step at every match of the row's label up to the first it loses after the step. See
// learn of the conditional tree for the arguments. A new label is paired with the leaf that is
// reached by going to the side with fewer labels, or by coin tosses. O(depth nnz) a row, and
// O(n_labels nnz) if p_label or top are requested. One thread. Throws Diverged.
void learn_tournament(ConditionalTree& model, const CsrView& X, std::span<const LabelId> labels,
                      std::span<const float> weights, std::span<const std::int64_t> order,
                      const Prediction& prediction, const ConditionalLearning& options,
                      LearningWatch* watch = nullptr);

// winners[r]: the tournament's winner; none while there is no label.
void tournament_winners(const ConditionalTree& model, const CsrView& X, const Reading& reading,
                        std::span<LabelId> winners);
// The queries of conditional/search.hpp.
void tournament_probabilities(const ConditionalTree& model, const CsrView& X,
                              std::span<const LabelId> labels, const Reading& reading,
                              std::span<double> p);
void tournament_top(const ConditionalTree& model, const CsrView& X, std::size_t k,
                    const Reading& reading, std::span<LabelId> labels, std::span<double> p);
void tournament_all(const ConditionalTree& model, const CsrView& X, std::size_t n_columns,
                    const Reading& reading, std::span<double> p);

}  // namespace labeltrees
