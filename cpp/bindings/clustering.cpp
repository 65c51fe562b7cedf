#include "labeltrees/tree/clustering.hpp"

#include "views.hpp"

namespace labeltrees::bindings {
namespace {

LabelTree kmeans(Vector<std::int64_t> starts, Vector<std::int32_t> indices, Vector<float> values,
                 Vector<LabelId> labels, Vector<float> weights, std::size_t n_labels,
                 std::int32_t arity, std::uint64_t seed, bool by_mass) {
  const CsrView X = csr_view(starts, indices, values);
  const std::span<const LabelId> label = view(labels);
  const std::span<const float> weight = view(weights);
  need(label.size() == X.n_rows(), "labels need one entry for every row");
  need(weight.empty() || weight.size() == X.n_rows(), "weights need one entry for every row");
  std::vector<double> mass(n_labels, 0.0);
  for (std::size_t r = 0; r < label.size(); ++r) {
    if (!weight.empty() && !(weight[r] > 0)) continue;
    need(label[r] >= 0 && static_cast<std::size_t>(label[r]) < n_labels,
         "labels must be in [0, n_labels)");
    mass[static_cast<std::size_t>(label[r])] += weight.empty() ? 1.0 : double{weight[r]};
  }
  nb::gil_scoped_release unlocked;
  const Centroids centroids = label_centroids(X, label, weight, n_labels);
  return kmeans_tree(
      centroids.view(), mass,
      {.arity = arity, .seed = seed, .by_mass = by_mass, .max_leaf = 1, .n_workers = 1});
}

}  // namespace

void bind_clustering(nb::module_& module) {
  module.def("kmeans_tree", &kmeans, nb::arg("starts").noconvert(), nb::arg("indices").noconvert(),
             nb::arg("values").noconvert(), nb::arg("labels").noconvert(),
             nb::arg("weights").noconvert(), nb::arg("n_labels"), nb::arg("arity"), nb::arg("seed"),
             nb::arg("by_mass"));
}

}  // namespace labeltrees::bindings
