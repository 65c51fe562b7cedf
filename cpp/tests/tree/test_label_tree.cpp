#include "../check.hpp"
#include "labeltrees/tree/label_tree.hpp"

using namespace labeltrees;

TEST(a_tree_grows_by_splitting_leaves) {
  LabelTree tree;
  CHECK(tree.empty());
  CHECK(tree.add_root(0) == 0);
  CHECK(tree.split_leaf(0, 1) == 1);
  CHECK(tree.split_leaf(tree.leaf_of(1), 2) == 3);
  CHECK(tree.n_nodes() == 5 && tree.n_labels() == 3);
  CHECK(tree.leaf_of(0) == 1 && tree.leaf_of(1) == 3 && tree.leaf_of(2) == 4);
  CHECK(tree.n_leaves(0) == 3 && tree.n_leaves(2) == 2 && tree.depth(4) == 2);
  tree.validate();
}

TEST(splitting_what_is_not_a_leaf_or_twice_for_a_label_throws) {
  LabelTree tree;
  tree.add_root(0);
  tree.split_leaf(0, 1);
  CHECK_THROWS(tree.split_leaf(0, 2), TreeError);
  CHECK_THROWS(tree.split_leaf(1, 1), TreeError);
  CHECK_THROWS(tree.add_root(5), TreeError);
}

TEST(labels_past_2_to_24_keep_their_ids) {
  const std::vector<LabelId> labels{(1 << 24) + 1, (1 << 24) + 3, 7};
  const LabelTree tree = balanced_tree(labels, 2);
  for (const LabelId label : labels) CHECK(tree.label(tree.leaf_of(label)) == label);
  CHECK(tree.leaf_of((1 << 24) + 2) == none);
}

TEST(arrays_that_are_no_tree_throw) {
  using Nodes = std::vector<NodeId>;
  CHECK_THROWS(LabelTree::restore(Nodes{0}, Nodes{0}), TreeError);                // own parent
  CHECK_THROWS(LabelTree::restore(Nodes{-1, 0, 0}, Nodes{-1, 0, 0}), TreeError);  // label twice
  CHECK_THROWS(LabelTree::restore(Nodes{-1, 0}, Nodes{3, 0}), TreeError);  // inner with label
  CHECK_THROWS(LabelTree::restore(Nodes{-1, 0, 0}, Nodes{-1, 0, -1}), TreeError);
  CHECK_THROWS(LabelTree::restore(Nodes{-1}, Nodes{-7}), TreeError);
  CHECK_THROWS(LabelTree::restore(Nodes{-1, 0, 1, 0}, Nodes{-1, -1, 0, 1}), TreeError);
  CHECK_THROWS(LabelTree::from_parents(Nodes{1, 0}, Nodes{-1, 0}), TreeError);   // cycle
  CHECK_THROWS(LabelTree::from_parents(Nodes{-1, -1}, Nodes{0, 1}), TreeError);  // two roots
  CHECK_THROWS(LabelTree::from_parents(Nodes{-1, 9}, Nodes{-1, 1}), TreeError);
}

TEST(huffman_puts_heavy_labels_high) {
  const std::vector<double> weight{8, 4, 2, 1, 1};
  const LabelTree tree = huffman_tree(weight, 2);
  CHECK(tree.depth(tree.leaf_of(0)) == 1 && tree.depth(tree.leaf_of(1)) == 2);
  CHECK(tree.depth(tree.leaf_of(2)) == 3 && tree.depth(tree.leaf_of(4)) == 4);
  CHECK(huffman_tree(std::vector<double>{}, 2).empty());
  CHECK(huffman_tree(std::vector<double>{3.0}, 4).n_nodes() == 1);
}

TEST(a_label_above_the_bound_is_refused_before_it_takes_memory) {
  const std::vector<NodeId> parent{none, 0, 0};
  const std::vector<LabelId> label{none, 0, 1'500'000'000};
  CHECK_THROWS(LabelTree::restore(parent, label), TreeError);
  CHECK_THROWS(LabelTree::restore(parent, label, 1'500'000'000), TreeError);
  CHECK(LabelTree::restore(parent, std::vector<LabelId>{none, 0, 70}, 71).leaf_of(70) == 2);
}

TEST(a_split_can_be_taken_back) {
  LabelTree tree;
  tree.add_root(3);
  tree.split_leaf(0, 9);
  const LabelTree before = tree;
  tree.split_leaf(1, 40);
  tree.undo_split();
  tree.validate();
  CHECK(tree.parents() == before.parents() && tree.labels() == before.labels());
  CHECK(tree.leaf_counts() == before.leaf_counts() && tree.label_bound() == before.label_bound());
  CHECK(tree.n_labels() == 2 && tree.leaf_of(3) == 1 && tree.leaf_of(40) == none);
  tree.undo_split();
  tree.undo_split();
  CHECK(tree.empty() && tree.n_labels() == 0 && tree.label_bound() == 0);
  tree.add_root(0);
  tree.validate();
}
