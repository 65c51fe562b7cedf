#include <random>

#include "../check.hpp"
#include "labeltrees/tree/clustering.hpp"

using namespace labeltrees;

TEST(centroids_are_means_of_directions) {
  const std::vector<std::int64_t> starts{0, 2, 3, 4, 4};
  const std::vector<std::int32_t> indices{1, 9, 1, 9};
  const std::vector<float> values{3, 4, 7, 2};  // (.6, .8), (1, 0), (0, 1), nothing
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
