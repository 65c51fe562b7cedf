#include <nanobind/stl/optional.h>

#include <optional>

#include "labeltrees/tree/clustering.hpp"
#include "labeltrees/tree/label_tree.hpp"
#include "rows.hpp"

namespace labeltrees::bindings {
namespace {

template <typename T>
OwnedVector<T> copy(const std::vector<T>& values) {
  return give(std::vector<T>(values));
}

NodeId checked(const LabelTree& tree, NodeId node) {
  if (node < 0 || static_cast<std::size_t>(node) >= tree.n_nodes()) {
    throw nb::index_error("no such node");
  }
  return node;
}

LabelTree kmeans(Vector<std::int64_t> starts, Vector<std::int32_t> indices, Vector<float> values,
                 Vector<LabelId> labels, Vector<float> weights, std::size_t n_labels,
                 const Clustering& options) {
  const OwnedRows rows = copied_rows(starts, indices, values);
  const CsrView X = rows.view();
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
  const LongWork work;
  const Centroids centroids = label_centroids(X, label, weight, n_labels);
  return kmeans_tree(centroids.view(), mass, options);
}

}  // namespace

void bind_tree(nb::module_& module) {
  nb::exception<TreeError>(module, "TreeError", PyExc_ValueError);
  nb::class_<Clustering>(module, "Clustering", "How labels are clustered into a tree.")
      .def(
          "__init__",
          [](Clustering* self, std::int32_t arity, std::uint64_t seed, bool by_mass,
             std::int32_t max_leaf, std::size_t n_workers) {
            need(arity >= 2 && max_leaf >= 1 && n_workers >= 1, "no such tree");
            new (self) Clustering{arity, seed, by_mass, max_leaf, n_workers};
          },
          nb::kw_only(), nb::arg("arity"), nb::arg("seed"), nb::arg("by_mass") = false,
          nb::arg("max_leaf") = 1, nb::arg("n_workers") = 1);
  nb::class_<LabelTree>(module, "LabelTree", "A rooted tree whose leaves are labels.")
      .def_static(
          "restore",
          [](Vector<NodeId> parent, Vector<LabelId> label, std::optional<std::size_t> max_labels) {
            return LabelTree::restore(view(parent), view(label),
                                      max_labels.value_or(parent.shape(0)));
          },
          nb::arg("parent").noconvert(), nb::arg("label").noconvert(),
          nb::arg("max_labels") = nb::none(),
          "A tree of these nodes; labels are below max_labels, by default the number of nodes.")
      .def_static(
          "from_parents",
          [](Vector<NodeId> parent, Vector<LabelId> label) {
            return LabelTree::from_parents(view(parent), view(label));
          },
          nb::arg("parent").noconvert(), nb::arg("label").noconvert())
      .def_prop_ro("n_nodes", &LabelTree::n_nodes)
      .def_prop_ro("n_labels", &LabelTree::n_labels)
      .def("leaf_of", &LabelTree::leaf_of, nb::arg("label"))
      .def(
          "depth",
          [](const LabelTree& tree, NodeId node) { return tree.depth(checked(tree, node)); },
          nb::arg("node"))
      .def("parents", [](const LabelTree& tree) { return copy(tree.parents()); })
      .def("labels", [](const LabelTree& tree) { return copy(tree.labels()); })
      .def("first_children", [](const LabelTree& tree) { return copy(tree.first_children()); })
      .def("child_counts", [](const LabelTree& tree) { return copy(tree.child_counts()); })
      .def("leaf_counts", [](const LabelTree& tree) { return copy(tree.leaf_counts()); })
      .def("depths", [](const LabelTree& tree) { return give(tree.depths()); })
      .def("validate", &LabelTree::validate, nb::call_guard<Released>());
  module.def(
      "balanced_tree",
      [](Vector<LabelId> labels, std::int32_t arity) { return balanced_tree(view(labels), arity); },
      nb::arg("labels").noconvert(), nb::arg("arity"));
  module.def("random_tree", &random_tree, nb::arg("n_labels"), nb::arg("arity"), nb::arg("seed"));
  module.def(
      "huffman_tree",
      [](Vector<double> weight, std::int32_t arity) { return huffman_tree(view(weight), arity); },
      nb::arg("weight").noconvert(), nb::arg("arity"));
  module.def("kmeans_tree", &kmeans, nb::arg("starts").noconvert(), nb::arg("indices").noconvert(),
             nb::arg("values").noconvert(), nb::arg("labels").noconvert(),
             nb::arg("weights").noconvert(), nb::arg("n_labels"), nb::arg("options"));
}

}  // namespace labeltrees::bindings
