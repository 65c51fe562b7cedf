// The queries that a tree of regressors and refined trees have in common.
#pragma once

#include "labeltrees/conditional/queries.hpp"
#include "labeltrees/conditional/search.hpp"
#include "labeltrees/refined/queries.hpp"
#include "online_model.hpp"

namespace labeltrees::bindings {

template <typename Model>
std::tuple<OwnedMatrix<LabelId>, OwnedMatrix<double>, OwnedVector<std::uint8_t>> beam_rows(
    const Model& model, Starts starts, Indices indices, Values values, std::size_t k,
    std::size_t beam_width, const Reading& reading) {
  const HeldRows rows(starts, indices, values);
  std::vector<LabelId> labels(rows.n_rows() * k);
  std::vector<double> p(rows.n_rows() * k);
  std::vector<std::uint8_t> certified(rows.n_rows());
  query_in_parts(model, rows, [&](const CsrView& X, std::size_t begin) {
    need(k >= 1 && k <= beam_width && k <= model.tree().n_labels(),
         "k must be at least 1, at most beam_width, at most n_labels");
    beam_labels(model, X, k, beam_width, reading, rows_of(labels, begin, X, k),
                rows_of(p, begin, X, k), rows_of(certified, begin, X));
  });
  return {give(std::move(labels), k), give(std::move(p), k), give(std::move(certified))};
}

// starts, labels, p; nothing at all if there are more than max_entries
template <typename Model>
std::tuple<OwnedVector<std::int64_t>, OwnedVector<LabelId>, OwnedVector<double>> above_rows(
    const Model& model, Starts starts, Indices indices, Values values, double threshold,
    double scale, std::size_t max_entries, const Reading& reading) {
  const HeldRows rows(starts, indices, values);
  need(threshold > 0, "threshold must be above 0");
  SparseLabels found{{0}, {}, {}};
  query_in_parts(model, rows, [&](const CsrView& X, std::size_t) {
    if (found.starts.empty()) return;  // there were too many
    SparseLabels more;
    const std::size_t room = max_entries - found.labels.size();
    if (labels_above(model, X, threshold, scale, room, reading, more)) {
      append(more, found);
    } else {
      found = {};
    }
  });
  return {give(std::move(found.starts)), give(std::move(found.labels)), give(std::move(found.p))};
}

template <typename Model>
OwnedVector<LabelId> sample_rows(const Model& model, Starts starts, Indices indices, Values values,
                                 Vector<double> uniforms, const Reading& reading) {
  const HeldRows rows(starts, indices, values);
  need(uniforms.shape(0) == rows.n_rows(), "uniforms need one entry for every row");
  std::vector<LabelId> labels(rows.n_rows());
  query_in_parts(model, rows, [&](const CsrView& X, std::size_t begin) {
    sample_labels(model, X, view(uniforms).subspan(begin, X.n_rows()), reading,
                  rows_of(labels, begin, X));
  });
  return give(std::move(labels));
}

template <typename Model>
std::tuple<OwnedMatrix<std::int64_t>, OwnedMatrix<double>> best_rows(
    const Model& model, Starts starts, Indices indices, Values values, Vector<LabelId> labels,
    std::size_t k, const Reading& reading) {
  const HeldRows held(starts, indices, values);
  need(k >= 1 && k <= held.n_rows(), "k must be at least 1 and at most the number of rows");
  std::vector<std::int64_t> rows(labels.shape(0) * k);
  std::vector<double> p(labels.shape(0) * k);
  {
    const LongWork work;
    const std::shared_lock shared(model.mutex());
    for (const LabelId label : view(labels)) {
      need(model.tree().leaf_of(label) != none, "a label has no leaf");
    }
    top_rows(model, held.all(), view(labels), k, reading, rows, p);
  }
  return {give(std::move(rows), k), give(std::move(p), k)};
}

// The tree whose path explains a label.
inline const ConditionalTree& path_tree(const ConditionalTree& model) { return model; }
inline const ConditionalTree& path_tree(const RefinedTrees& model) { return model.first(); }

// nodes, turns, margins, p_nodes, labels on the left and on the right; features, values, weights
using Reported =
    std::tuple<OwnedVector<NodeId>, OwnedVector<std::uint8_t>, OwnedVector<float>,
               OwnedVector<double>, OwnedVector<std::int32_t>, OwnedVector<std::int32_t>,
               OwnedVector<std::uint32_t>, OwnedVector<float>, OwnedMatrix<float>>;

template <typename Model>
Reported report_row(const Model& model, Starts starts, Indices indices, Values values,
                    LabelId label, const Reading& reading) {
  const HeldRows rows(starts, indices, values);
  need(rows.n_rows() == 1, "one row is reported at a time");
  PathReport report;
  std::vector<std::int32_t> n_left, n_right;
  {
    const Released released;
    const std::shared_lock shared(model.mutex());
    const LabelTree& tree = model.tree();
    need(tree.leaf_of(label) != none, "the label has no leaf");
    report = report_path(path_tree(model), rows.all().row(0), label, reading);
    for (const NodeId node : report.nodes) {
      n_left.push_back(tree.n_leaves(tree.first_child(node)));
      n_right.push_back(tree.n_leaves(tree.first_child(node) + 1));
    }
  }
  const std::size_t n_features = report.features.size();
  return {give(std::move(report.nodes)),
          give(std::move(report.turns)),
          give(std::move(report.margins)),
          give(std::move(report.p_nodes)),
          give(std::move(n_left)),
          give(std::move(n_right)),
          give(std::move(report.features)),
          give(std::move(report.values)),
          give(std::move(report.weights), n_features)};
}

template <typename Model>
OwnedVector<std::uint8_t> which_have_leaves(const Model& model, Vector<LabelId> labels) {
  std::vector<std::uint8_t> known;
  {
    const Released released;
    const std::shared_lock shared(model.mutex());
    for (const LabelId label : view(labels)) {
      known.push_back(model.tree().leaf_of(label) == none ? 0 : 1);
    }
  }
  return give(std::move(known));
}

template <typename Model>
void def_tree_queries(nb::module_& module) {
  module.def("beam_labels", &beam_rows<Model>, nb::arg("model"), nb::arg("starts").noconvert(),
             nb::arg("indices").noconvert(), nb::arg("values").noconvert(), nb::arg("k"),
             nb::arg("beam_width"), nb::arg("reading"));
  module.def("labels_above", &above_rows<Model>, nb::arg("model"), nb::arg("starts").noconvert(),
             nb::arg("indices").noconvert(), nb::arg("values").noconvert(), nb::arg("threshold"),
             nb::arg("scale"), nb::arg("max_entries"), nb::arg("reading"));
  module.def("sample_labels", &sample_rows<Model>, nb::arg("model"), nb::arg("starts").noconvert(),
             nb::arg("indices").noconvert(), nb::arg("values").noconvert(),
             nb::arg("uniforms").noconvert(), nb::arg("reading"));
  module.def("top_rows", &best_rows<Model>, nb::arg("model"), nb::arg("starts").noconvert(),
             nb::arg("indices").noconvert(), nb::arg("values").noconvert(),
             nb::arg("labels").noconvert(), nb::arg("k"), nb::arg("reading"));
  module.def("report_path", &report_row<Model>, nb::arg("model"), nb::arg("starts").noconvert(),
             nb::arg("indices").noconvert(), nb::arg("values").noconvert(), nb::arg("label"),
             nb::arg("reading"));
  module.def("have_leaves", &which_have_leaves<Model>, nb::arg("model"),
             nb::arg("labels").noconvert());
}

// The methods of the model's class: learning, and the queries that every model has.
template <typename Model>
void def_tree_model(nb::class_<Model>& cls) {
  const auto update = [](Model& tree, auto&&... arguments) { learn(tree, arguments...); };
  const auto named = [](const Model& tree, auto&&... arguments) {
    label_probabilities(tree, arguments...);
  };
  const auto top = [](const Model& tree, auto&&... arguments) { top_labels(tree, arguments...); };
  const auto all = [](const Model& tree, auto&&... arguments) {
    all_probabilities(tree, arguments...);
  };
  cls.def("learn", learner_of<Model, ConditionalLearning>(AnyLabel{}, update),
          nb::arg("starts").noconvert(), nb::arg("indices").noconvert(),
          nb::arg("values").noconvert(), nb::arg("labels").noconvert(),
          nb::arg("weights").noconvert(), nb::arg("order").noconvert(), nb::arg("progress"),
          nb::arg("predict_top"), nb::arg("options"), nb::arg("predict_label"))
      .def("label_probabilities", named_of<Model, std::size_t>(named),
           nb::arg("starts").noconvert(), nb::arg("indices").noconvert(),
           nb::arg("values").noconvert(), nb::arg("labels").noconvert(), nb::arg("reading"),
           nb::arg("n_threads"))
      .def("top_labels", top_of<Model, std::size_t>(top), nb::arg("starts").noconvert(),
           nb::arg("indices").noconvert(), nb::arg("values").noconvert(), nb::arg("k"),
           nb::arg("reading"), nb::arg("n_threads"))
      .def("all_probabilities", all_of<Model>(all), nb::arg("starts").noconvert(),
           nb::arg("indices").noconvert(), nb::arg("values").noconvert(), nb::arg("n_columns"),
           nb::arg("reading"))
      .def("tree", &tree_of<Model>)
      .def("tree_and_masses", &tree_and_masses<Model>)
      .def_prop_ro("n_labels", number_of<Model>([](const Model& m) { return m.tree().n_labels(); }))
      .def_prop_ro("n_nodes", number_of<Model>([](const Model& m) { return m.tree().n_nodes(); }));
}

}  // namespace labeltrees::bindings
