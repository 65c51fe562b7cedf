// The tree of seven places per node: how labels join it, and which files it refuses.
#include <vector>

#include "../check.hpp"
#include "labeltrees/multilabel/wide_tree.hpp"

namespace labeltrees::wide_tree {
namespace {

// Labels join at the first free place of the lowest level.
void join(WideTree& tree, LabelId label) {
  tree.reserve(tree.nodes_per_label() + 1, label);
  if (tree.is_full()) tree.grow();
  NodeId node = tree.root();
  while (tree.at(node).height > 1) {
    NodeId next = none;
    for (const NodeId child : tree.children(node)) {
      if (!tree.at(child).is_leaf() && tree.at(child).room > 0) next = child;
    }
    node = next != none ? next : tree.add_child(node, none);
  }
  tree.add_child(node, label);
}

}  // namespace

TEST(wide_trees_grow_upwards_and_no_leaf_moves) {
  WideTree tree;
  std::vector<NodeId> parents;
  for (LabelId label = 0; label < 400; ++label) {
    join(tree, label);
    parents.push_back(tree.at(tree.leaf_of(label)).parent);
    const auto n = static_cast<std::int64_t>(label) + 1;
    std::int64_t capacity = 7;
    std::int32_t height = 1;
    for (; capacity < n; capacity *= 7) ++height;
    CHECK(tree.at(tree.root()).height == height);
    CHECK(tree.at(tree.root()).room == capacity - n);
    CHECK(tree.at(tree.root()).n_leaves == n);
  }
  for (LabelId label = 0; label < 400; ++label) {
    CHECK(tree.at(tree.leaf_of(label)).parent == parents[static_cast<std::size_t>(label)]);
  }
  CHECK(tree.leaf_of(400) == none && tree.leaf_of(-1) == none);
}

TEST(wide_trees_are_restored_as_they_were) {
  WideTree tree;
  for (LabelId label = 0; label < 60; ++label) join(tree, label);
  const WideTree again = WideTree::restore(tree.parents(), tree.slots(), tree.labels(), 60);
  CHECK(again.root() == tree.root() && again.n_labels() == tree.n_labels());
  for (NodeId node = 0; static_cast<std::size_t>(node) < tree.n_nodes(); ++node) {
    CHECK(again.at(node).room == tree.at(node).room);
    CHECK(again.at(node).height == tree.at(node).height);
    CHECK(again.at(node).n_leaves == tree.at(node).n_leaves);
  }
  CHECK(tree.plain().n_labels() == 60);
  CHECK(WideTree::from(balanced_tree(std::vector<LabelId>{4}, 2)).n_labels() == 1);
}

TEST(arrays_that_are_no_wide_tree_are_refused) {
  using Ids = std::vector<std::int32_t>;
  const auto restore = [](const Ids& parents, const Ids& slots, const Ids& labels) {
    return WideTree::restore(parents, slots, labels, 5);
  };
  CHECK(restore({none, 0, 0}, {0, 0, 1}, {none, 3, 4}).n_labels() == 2);
  CHECK_THROWS(restore({none, 0}, {0, 0, 1}, {none, 3}), TreeError);              // lengths
  CHECK_THROWS(restore({none, 0, 0}, {0, 0, 1}, {none, 3, 5}), TreeError);        // label
  CHECK_THROWS(restore({none, 0, 0}, {0, 0, 1}, {none, 3, 3}), TreeError);        // twice
  CHECK_THROWS(restore({none, 0, 0}, {0, 0, 0}, {none, 3, 4}), TreeError);        // place taken
  CHECK_THROWS(restore({none, 0, 0}, {0, 0, 2}, {none, 3, 4}), TreeError);        // a gap
  CHECK_THROWS(restore({none, 0, 0}, {0, 0, 7}, {none, 3, 4}), TreeError);        // no place
  CHECK_THROWS(restore({none, 0, 9}, {0, 0, 1}, {none, 3, 4}), TreeError);        // no parent
  CHECK_THROWS(restore({none, 0, 1}, {0, 0, 0}, {none, 3, 4}), TreeError);        // below a leaf
  CHECK_THROWS(restore({none, none, 1}, {0, 0, 0}, {none, none, 4}), TreeError);  // two roots
  CHECK_THROWS(restore({none, 0}, {0, 0}, {none, none}), TreeError);              // no label
  CHECK_THROWS(restore({2, 0, 1, none, 3}, {0, 0, 0, 0, 0}, {none, none, none, none, 1}),
               TreeError);                             // a circle
  CHECK_THROWS(restore({none}, {0}, {2}), TreeError);  // a lone leaf
}

}  // namespace labeltrees::wide_tree
