#include <nanobind/stl/tuple.h>

#include <numeric>
#include <tuple>

#include "labeltrees/extreme/lockstep.hpp"
#include "labeltrees/extreme/training.hpp"
#include "labeltrees/tree/clustering.hpp"
#include "rows.hpp"

namespace labeltrees::bindings {
namespace {

// Rows and relevance in the layouts that training takes, and the label features, made once for all
// trees of an ensemble.
struct RelevanceData {
  PreparedRows X;
  std::vector<std::int64_t> label_starts;
  std::vector<std::int32_t> label_rows;
  std::vector<float> label_values;
  std::vector<LabelId> used;  // the labels that some row has
  Centroids centroids;        // of each label used

  CsrView by_label() const { return {label_starts, label_rows, label_values}; }
};

void transpose(const CsrView& Y, std::size_t n_labels, RelevanceData& data) {
  std::vector<std::int64_t>& starts = data.label_starts;
  starts.assign(n_labels + 1, 0);
  for (const LabelId label : Y.indices) ++starts[static_cast<std::size_t>(label) + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  data.label_rows.resize(Y.indices.size());
  data.label_values.resize(Y.indices.size());
  std::vector<std::int64_t> next(starts.begin(), starts.end() - 1);
  for (std::size_t r = 0; r < Y.n_rows(); ++r) {
    const SparseRow row = Y.row(r);
    for (std::size_t k = 0; k < row.size(); ++k) {
      const auto to = static_cast<std::size_t>(next[static_cast<std::size_t>(row.indices[k])]++);
      data.label_rows[to] = static_cast<std::int32_t>(r);
      data.label_values[to] = row.values[k];
    }
  }
  for (std::size_t l = 0; l < n_labels; ++l) {
    if (starts[l] < starts[l + 1]) data.used.push_back(static_cast<LabelId>(l));
  }
}

Centroids centroids_of_used(const RelevanceData& data, std::size_t n_workers) {
  std::vector<std::int64_t> starts{0};
  for (const LabelId label : data.used) {
    starts.push_back(data.label_starts[static_cast<std::size_t>(label) + 1]);
  }
  const CsrView by_label{starts, data.label_rows, data.label_values};  // the others have no entries
  return relevance_centroids(data.X.view(), data.X.names.size(), by_label, n_workers);
}

void make_data(RelevanceData* self, Starts starts, Indices indices, Values values, Starts y_starts,
               Indices y_labels, Values y_values, std::size_t n_labels, std::size_t n_workers) {
  const OwnedRows rows = copied_rows(starts, indices, values);
  const OwnedRows relevance = copied_rows(y_starts, y_labels, y_values);
  const CsrView X = rows.view(), Y = relevance.view();
  need(X.n_rows() == Y.n_rows() && n_workers >= 1, "X and Y need as many rows");
  for (const LabelId label : Y.indices) {
    need(label >= 0 && static_cast<std::size_t>(label) < n_labels, "no such label");
  }
  for (const float y : Y.values) need(y > 0 && y <= 1, "relevance must be in (0, 1]");
  RelevanceData data;
  {
    const LongWork work;
    data.X = prepare_rows(X);
    transpose(Y, n_labels, data);
    data.centroids = centroids_of_used(data, n_workers);
  }
  new (self) RelevanceData(std::move(data));
}

LabelTree tree_of(const RelevanceData& data, std::int32_t arity, std::int32_t max_leaf,
                  std::uint64_t seed, std::size_t n_workers) {
  need(arity >= 2 && max_leaf >= 1 && !data.used.empty() && n_workers >= 1, "no such tree");
  const LongWork work;
  const auto label_bound = static_cast<std::size_t>(data.used.back()) + 1;
  if (data.used.size() == 1) {  // its regressor needs a node above it
    return LabelTree::restore(std::vector<NodeId>{none, 0}, std::vector{none, data.used[0]},
                              label_bound);
  }
  const LabelTree tree = kmeans_tree(data.centroids.view(), {},
                                     {.arity = arity,
                                      .seed = seed,
                                      .by_mass = false,
                                      .max_leaf = max_leaf,
                                      .n_workers = n_workers});
  std::vector<LabelId> labels = tree.labels();
  for (LabelId& label : labels) {
    if (label != none) label = data.used[static_cast<std::size_t>(label)];
  }
  return LabelTree::restore(tree.parents(), labels, label_bound);
}

TrainedRelevance train(const RelevanceData& data, const LabelTree& tree, Indices held,
                       NodeLoss loss, float cost, float cost_power, bool mean_error, int max_epochs,
                       double tolerance, float least_weight, float least_share,
                       double weights_per_entry, std::uint64_t seed, std::size_t n_workers) {
  need(held.shape(0) + 1 == data.X.starts.size(), "held needs one entry for every row");
  std::int32_t next = 0;
  for (const std::int32_t h : view(held)) {
    need(h == none || h == next++, "held rows must be numbered in order");
  }
  for (const std::int32_t n : tree.child_counts()) {
    need(static_cast<std::size_t>(n) <= max_children, "a node has too many children");
  }
  need(tree.label_bound() < data.label_starts.size() && tree.n_nodes() > 1, "no such tree");
  const LongWork work;
  return train_relevance(tree, data.X, data.by_label(), view(held),
                         {loss, cost, cost_power, mean_error, max_epochs, tolerance, least_weight,
                          least_share, weights_per_entry, seed, n_workers});
}

// Weights (n_features + 1, n_children), the biases last; epochs; gap; objective at zero.
std::tuple<OwnedMatrix<float>, int, double> solve_node(Starts starts, Indices indices,
                                                       Values values, std::size_t n_features,
                                                       Matrix<float> targets, Values weights,
                                                       NodeLoss loss, float cost, int max_epochs,
                                                       double tolerance) {
  const OwnedRows copy = copied_rows(starts, indices, values);
  const CsrView rows = copy.view();
  const std::size_t n_children = targets.shape(1);
  need(targets.shape(0) == rows.n_rows() && weights.shape(0) == rows.n_rows(), "rows differ");
  for (const std::int32_t f : rows.indices) {
    need(f >= 0 && static_cast<std::size_t>(f) < n_features, "no such feature");
  }
  std::vector<std::int64_t> target_starts{0};
  std::vector<std::int32_t> children;
  std::vector<float> z;
  for (std::size_t r = 0; r < rows.n_rows(); ++r) {
    for (std::size_t c = 0; c < n_children; ++c) {
      const float target = targets.data()[r * n_children + c];
      if (target == 0) continue;
      children.push_back(static_cast<std::int32_t>(c));
      z.push_back(target);
    }
    target_starts.push_back(static_cast<std::int64_t>(z.size()));
  }
  const NodeProblem problem{rows,          n_features, n_children, view(weights),
                            target_starts, children,   z,          0};
  std::vector<float> result((n_features + 1) * n_children);
  LockstepSolver solver;
  int epochs = 0;
  double gap = 0;
  const std::vector<std::size_t> panels = panel_starts(n_children);
  for (std::size_t p = 0; p + 1 < panels.size(); ++p) {
    solver.solve(problem, panels[p], panels[p + 1], {loss, cost, max_epochs, tolerance, 0});
    epochs = std::max(epochs, solver.epochs());
    gap += solver.gap();
    for (std::size_t f = 0; f <= n_features; ++f) {
      std::copy_n(solver.weights_of(f), panels[p + 1] - panels[p],
                  &result[f * n_children + panels[p]]);
    }
  }
  return {give(std::move(result), n_children), epochs, gap};
}

}  // namespace

void bind_relevance_training(nb::module_& module) {
  nb::enum_<NodeLoss>(module, "NodeLoss")
      .value("logistic", NodeLoss::logistic)
      .value("hinge", NodeLoss::hinge);
  nb::class_<HeldMargins>(module, "HeldMargins",
                          "What held-out rows were given by the regressors.");
  nb::class_<TrainedRelevance>(module, "TrainedRelevance",
                               "The regressors of a tree, just trained.")
      .def("features", [](TrainedRelevance& t) { return give(std::move(t.weights.features)); })
      .def("feature_rows",
           [](TrainedRelevance& t) { return give(std::move(t.weights.feature_rows)); })
      .def("row_parents",
           [](TrainedRelevance& t) { return give(std::move(t.weights.row_parents)); })
      .def("row_starts", [](TrainedRelevance& t) { return give(std::move(t.weights.row_starts)); })
      .def("columns", [](TrainedRelevance& t) { return give(std::move(t.weights.columns)); })
      .def("values", [](TrainedRelevance& t) { return give(std::move(t.weights.values)); })
      .def("biases", [](TrainedRelevance& t) { return give(std::move(t.weights.biases)); })
      .def("reach", [](TrainedRelevance& t) { return give(std::move(t.reach)); })
      .def("held", [](TrainedRelevance& t) { return HeldMargins(std::move(t.held)); });
  nb::class_<RelevanceData>(module, "RelevanceData", "Rows and relevance, ready for training.")
      .def("__init__", &make_data, nb::arg("starts").noconvert(), nb::arg("indices").noconvert(),
           nb::arg("values").noconvert(), nb::arg("y_starts").noconvert(),
           nb::arg("y_labels").noconvert(), nb::arg("y_values").noconvert(), nb::arg("n_labels"),
           nb::arg("n_workers"))
      .def("tree", &tree_of, nb::arg("arity"), nb::arg("max_leaf"), nb::arg("seed"),
           nb::arg("n_workers"))
      .def("train", &train, nb::arg("tree"), nb::arg("held").noconvert(), nb::arg("loss"),
           nb::arg("cost"), nb::arg("cost_power"), nb::arg("mean_error"), nb::arg("max_epochs"),
           nb::arg("tolerance"), nb::arg("least_weight"), nb::arg("least_share"),
           nb::arg("weights_per_entry"), nb::arg("seed"), nb::arg("n_workers"))
      .def(
          "worker_bytes",
          [](const RelevanceData& data, const LabelTree& tree) {
            return worker_bytes(tree, data.X, data.by_label());
          },
          nb::arg("tree"))
      .def_prop_ro("n_entries", [](const RelevanceData& data) { return data.X.indices.size(); });
  module.def("solve_node", &solve_node, nb::arg("starts").noconvert(),
             nb::arg("indices").noconvert(), nb::arg("values").noconvert(), nb::arg("n_features"),
             nb::arg("targets").noconvert(), nb::arg("weights").noconvert(), nb::arg("loss"),
             nb::arg("cost"), nb::arg("max_epochs"), nb::arg("tolerance"));
}

}  // namespace labeltrees::bindings
