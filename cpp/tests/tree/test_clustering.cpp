#include <algorithm>
#include <array>
#include <random>

#include "../check.hpp"
#include "labeltrees/tree/clustering.hpp"

using namespace labeltrees;

TEST(centroids_are_means_of_directions) {
  const std::vector<std::int64_t> starts{0, 2, 3, 4, 4};
  const std::vector<std::int32_t> indices{1, 9, 1, 9};
  const std::vector<float> values{3, 4, 7, 2};  // (0.6, 0.8), (1, 0), (0, 1), empty
  const std::vector<LabelId> labels{2, 0, 0, 1};
  const Centroids got = label_centroids({starts, indices, values}, labels, {}, 3);
  CHECK((got.row_starts == std::vector<std::int64_t>{0, 2, 2, 4}));
  CHECK((got.indices == std::vector<std::int32_t>{1, 9, 1, 9}));
  CHECK(got.values[0] == got.values[1]);
  CHECK(got.values[2] == 0.6f && got.values[3] == 0.8f);
}

TEST(every_size_and_arity_gives_a_valid_tree) {
  std::mt19937 random(5);
  for (std::int32_t n = 0; n < 40; ++n) {
    std::vector<std::int64_t> starts{0};
    std::vector<std::int32_t> indices;
    std::vector<float> values;
    std::vector<double> mass;
    for (std::int32_t label = 0; label < n; ++label) {
      for (std::int32_t f = 0; f < 5; ++f) {
        if (random() % 2 == 0) continue;
        indices.push_back(f * 1000);
        values.push_back(static_cast<float>(random() % 9) - 4);
      }
      starts.push_back(static_cast<std::int64_t>(indices.size()));
      mass.push_back(static_cast<double>(random() % 4));
    }
    for (const bool by_mass : {false, true}) {
      for (const std::int32_t arity : {2, 3, 8}) {
        const LabelTree tree = kmeans_tree(
            {starts, indices, values}, mass,
            {.arity = arity, .seed = 0, .by_mass = by_mass, .max_leaf = 1, .n_workers = 1});
        tree.validate();
        CHECK(tree.n_labels() == static_cast<std::size_t>(n));
      }
    }
  }
}

// The whole at once, and the root's children one by one after the root.
TEST(labels_are_ordered_below_a_node_as_in_the_whole_tree) {
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    const auto n = static_cast<std::int32_t>(2 + random() % 300);
    const std::int32_t gap = round % 2 == 0 ? 1 : 100'000;  // features with and without gaps
    std::vector<std::int64_t> starts{0};
    std::vector<std::int32_t> indices;
    std::vector<float> values;
    for (std::int32_t label = 0; label < n; ++label) {
      for (std::int32_t f = 0; f < 6; ++f) {
        if (random() % 2 == 0) continue;
        indices.push_back(f * gap);
        values.push_back(static_cast<float>(random() % 9) - 4);
      }
      starts.push_back(static_cast<std::int64_t>(indices.size()));
    }
    const std::int32_t arity = std::array{2, 3, 16}[random() % 3];
    const std::int32_t max_leaf = std::array{1, 5, 40}[random() % 3];
    const Clustering options{
        .arity = arity, .seed = random(), .by_mass = false, .max_leaf = max_leaf, .n_workers = 1};
    const CsrView centroids{starts, indices, values};
    const LabelTree tree = kmeans_tree(centroids, {}, options);
    const std::vector<std::int64_t> no_entries(starts.size(), 0);
    const LabelTree shape = kmeans_tree({no_entries, {}, {}}, {}, options);
    CHECK(shape.parents() == tree.parents());
    const auto expected = [&](NodeId node) {
      std::vector<LabelId> labels;
      const auto visit = [&](const auto& self, NodeId at) -> void {
        if (tree.is_leaf(at)) labels.push_back(tree.label(at));
        for (std::int32_t i = 0; i < tree.n_children(at); ++i) self(self, tree.first_child(at) + i);
      };
      visit(visit, node);
      return labels;
    };
    CHECK(kmeans_order(centroids, shape, 0, 100, options) == expected(0));
    const std::vector<LabelId> order = kmeans_order(centroids, shape, 0, 1, options);
    std::size_t begin = 0;
    for (std::int32_t i = 0; i < shape.n_children(0); ++i) {
      const NodeId child = shape.first_child(0) + i;
      const auto size = static_cast<std::size_t>(shape.n_leaves(child));
      const std::vector<std::int64_t> labels(
          order.begin() + static_cast<std::ptrdiff_t>(begin),
          order.begin() + static_cast<std::ptrdiff_t>(begin + size));
      CHECK(std::is_sorted(labels.begin(), labels.end()));
      const OwnedRows rows = take_rows(centroids, labels);
      std::vector<LabelId> found;
      for (const LabelId at : kmeans_order(rows.view(), shape, child, 100, options)) {
        found.push_back(static_cast<LabelId>(labels[static_cast<std::size_t>(at)]));
      }
      CHECK(found == expected(child));
      begin += size;
    }
    CHECK(begin == order.size());
  }
}

TEST(labels_are_ordered_below_nodes_of_the_same_arity_and_max_leaf_only) {
  const auto options = [](std::int32_t arity, std::int32_t max_leaf) {
    return Clustering{
        .arity = arity, .seed = 3, .by_mass = false, .max_leaf = max_leaf, .n_workers = 1};
  };
  const std::vector<std::int64_t> starts(81, 0);
  const CsrView labels{starts, {}, {}};
  const LabelTree shape = kmeans_tree(labels, {}, options(4, 5));
  CHECK(kmeans_order(labels, shape, 0, 100, options(4, 5)).size() == 80);
  CHECK_THROWS(kmeans_order(labels, shape, 0, 1, options(3, 5)), TreeError);   // fewer children
  CHECK_THROWS(kmeans_order(labels, shape, 0, 1, options(16, 5)), TreeError);  // more
  CHECK_THROWS(kmeans_order(labels, shape, 0, 1, options(4, 80)), TreeError);
  CHECK(kmeans_order(labels, shape, 0, 1, options(4, 1)).size() == 80);  // the root is the same
  CHECK_THROWS(kmeans_order(labels, shape, 0, 100, options(4, 1)), TreeError);
  const LabelTree uneven = LabelTree::restore(std::vector<NodeId>{none, 0, 0, 1, 1},
                                              std::vector<LabelId>{none, none, 2, 0, 1});
  const std::vector<std::int64_t> three(4, 0);
  CHECK_THROWS(kmeans_order({three, {}, {}}, uneven, 0, 1, options(2, 1)), TreeError);
}
