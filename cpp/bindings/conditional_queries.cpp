#include <nanobind/stl/tuple.h>

#include <shared_mutex>
#include <tuple>

#include "labeltrees/conditional/queries.hpp"
#include "rows.hpp"

namespace labeltrees::bindings {
namespace {

std::tuple<OwnedMatrix<LabelId>, OwnedMatrix<double>, OwnedVector<std::uint8_t>> beam_rows(
    const ConditionalTree& model, Starts starts, Indices indices, Values values, std::size_t k,
    std::size_t beam_width, const Reading& reading) {
  const CsrView X = csr(starts, indices, values);
  std::vector<LabelId> labels(X.n_rows() * k);
  std::vector<double> p(X.n_rows() * k);
  std::vector<std::uint8_t> certified(X.n_rows());
  bool fits = false;
  {
    nb::gil_scoped_release unlocked;
    const std::shared_lock shared(model.mutex());
    fits = k >= 1 && k <= beam_width && k <= model.tree().n_labels();
    if (fits) beam_labels(model, X, k, beam_width, reading, labels, p, certified);
  }
  need(fits, "k must be at least 1, at most beam_width, at most n_labels");
  return {give(std::move(labels), k), give(std::move(p), k), give(std::move(certified))};
}

// starts, labels, p; nothing at all if there are more than max_entries
std::tuple<OwnedVector<std::int64_t>, OwnedVector<LabelId>, OwnedVector<double>> above_rows(
    const ConditionalTree& model, Starts starts, Indices indices, Values values, double threshold,
    double scale, std::size_t max_entries, const Reading& reading) {
  const CsrView X = csr(starts, indices, values);
  need(threshold > 0, "threshold must be above 0");
  SparseLabels found;
  {
    nb::gil_scoped_release unlocked;
    const std::shared_lock shared(model.mutex());
    if (!labels_above(model, X, threshold, scale, max_entries, reading, found)) found = {};
  }
  return {give(std::move(found.starts)), give(std::move(found.labels)), give(std::move(found.p))};
}

OwnedVector<LabelId> sample_rows(const ConditionalTree& model, Starts starts, Indices indices,
                                 Values values, Vector<double> uniforms, const Reading& reading) {
  const CsrView X = csr(starts, indices, values);
  need(uniforms.shape(0) == X.n_rows(), "uniforms need one entry for every row");
  std::vector<LabelId> labels(X.n_rows());
  {
    nb::gil_scoped_release unlocked;
    const std::shared_lock shared(model.mutex());
    sample_labels(model, X, view(uniforms), reading, labels);
  }
  return give(std::move(labels));
}

std::tuple<OwnedMatrix<std::int64_t>, OwnedMatrix<double>> best_rows(
    const ConditionalTree& model, Starts starts, Indices indices, Values values,
    Vector<LabelId> labels, std::size_t k, const Reading& reading) {
  const CsrView X = csr(starts, indices, values);
  need(k >= 1 && k <= X.n_rows(), "k must be at least 1 and at most the number of rows");
  std::vector<std::int64_t> rows(labels.shape(0) * k);
  std::vector<double> p(labels.shape(0) * k);
  bool known = true;
  {
    nb::gil_scoped_release unlocked;
    const std::shared_lock shared(model.mutex());
    for (const LabelId label : view(labels)) known &= model.tree().leaf_of(label) != none;
    if (known) top_rows(model, X, view(labels), k, reading, rows, p);
  }
  need(known, "a label has no leaf");
  return {give(std::move(rows), k), give(std::move(p), k)};
}

// nodes, turns, margins, p_nodes, labels on the left and on the right; features, values, weights
using Reported =
    std::tuple<OwnedVector<NodeId>, OwnedVector<std::uint8_t>, OwnedVector<float>,
               OwnedVector<double>, OwnedVector<std::int32_t>, OwnedVector<std::int32_t>,
               OwnedVector<std::uint32_t>, OwnedVector<float>, OwnedMatrix<float>>;

Reported report_row(const ConditionalTree& model, Starts starts, Indices indices, Values values,
                    LabelId label, const Reading& reading) {
  const CsrView X = csr(starts, indices, values);
  need(X.n_rows() == 1, "one row is reported at a time");
  PathReport report;
  std::vector<std::int32_t> n_left, n_right;
  bool known = false;
  {
    nb::gil_scoped_release unlocked;
    const std::shared_lock shared(model.mutex());
    const LabelTree& tree = model.tree();
    known = tree.leaf_of(label) != none;
    if (known) report = report_path(model, X.row(0), label, reading);
    for (const NodeId node : report.nodes) {
      n_left.push_back(tree.n_leaves(tree.first_child(node)));
      n_right.push_back(tree.n_leaves(tree.first_child(node) + 1));
    }
  }
  need(known, "the label has no leaf");
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

OwnedVector<std::uint8_t> which_have_leaves(const ConditionalTree& model, Vector<LabelId> labels) {
  std::vector<std::uint8_t> known;
  {
    nb::gil_scoped_release unlocked;
    const std::shared_lock shared(model.mutex());
    for (const LabelId label : view(labels)) {
      known.push_back(model.tree().leaf_of(label) == none ? 0 : 1);
    }
  }
  return give(std::move(known));
}

}  // namespace

void bind_queries(nb::module_& module) {
  module.def("beam_labels", &beam_rows, nb::arg("model"), nb::arg("starts").noconvert(),
             nb::arg("indices").noconvert(), nb::arg("values").noconvert(), nb::arg("k"),
             nb::arg("beam_width"), nb::arg("reading"));
  module.def("labels_above", &above_rows, nb::arg("model"), nb::arg("starts").noconvert(),
             nb::arg("indices").noconvert(), nb::arg("values").noconvert(), nb::arg("threshold"),
             nb::arg("scale"), nb::arg("max_entries"), nb::arg("reading"));
  module.def("sample_labels", &sample_rows, nb::arg("model"), nb::arg("starts").noconvert(),
             nb::arg("indices").noconvert(), nb::arg("values").noconvert(),
             nb::arg("uniforms").noconvert(), nb::arg("reading"));
  module.def("top_rows", &best_rows, nb::arg("model"), nb::arg("starts").noconvert(),
             nb::arg("indices").noconvert(), nb::arg("values").noconvert(),
             nb::arg("labels").noconvert(), nb::arg("k"), nb::arg("reading"));
  module.def("report_path", &report_row, nb::arg("model"), nb::arg("starts").noconvert(),
             nb::arg("indices").noconvert(), nb::arg("values").noconvert(), nb::arg("label"),
             nb::arg("reading"));
  module.def("have_leaves", &which_have_leaves, nb::arg("model"), nb::arg("labels").noconvert());
}

}  // namespace labeltrees::bindings
