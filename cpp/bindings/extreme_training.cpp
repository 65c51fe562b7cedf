#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <numeric>
#include <optional>
#include <tuple>

#include "labeltrees/extreme/lockstep.hpp"
#include "labeltrees/extreme/training.hpp"
#include "labeltrees/rows/read_ahead.hpp"
#include "labeltrees/tree/clustering.hpp"
#include "rows.hpp"

namespace labeltrees::bindings {
namespace {

// Rows and relevance in the layouts that training takes.
struct RelevanceData {
  PreparedRows X;
  std::vector<std::int64_t> label_starts;
  std::vector<std::int32_t> label_rows;
  std::vector<float> label_values;
  std::optional<TrainingRows> mapped;  // rows in files, which Python keeps alive; used instead of X
                                       // if set
  std::string folder;                  // where more is spilled

  TrainingRows rows() const { return mapped ? *mapped : TrainingRows(X); }
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
}

std::tuple<OwnedVector<std::int64_t>, OwnedVector<std::int32_t>, OwnedVector<float>> give_rows(
    OwnedRows&& rows) {
  return {give(std::move(rows.row_starts)), give(std::move(rows.indices)),
          give(std::move(rows.values))};
}

auto unit_rows_of(Starts starts, Indices indices, Values values) {
  const OwnedRows copy = copied_rows(starts, indices, values);
  OwnedRows unit;
  {
    const LongWork work;
    unit = unit_rows(copy.view());
  }
  return give_rows(std::move(unit));
}

OwnedRows checked_relevance(Starts y_starts, Indices y_labels, Values y_values,
                            std::size_t n_labels) {
  OwnedRows relevance = copied_rows(y_starts, y_labels, y_values);
  for (const LabelId label : relevance.indices) {
    need(label >= 0 && static_cast<std::size_t>(label) < n_labels, "no such label");
  }
  for (const float y : relevance.values) need(y > 0 && y <= 1, "relevance must be in (0, 1]");
  return relevance;
}

void make_data(RelevanceData* self, Starts starts, Indices indices, Values values, Starts y_starts,
               Indices y_labels, Values y_values, std::size_t n_labels, bool are_unit) {
  OwnedRows rows = copied_rows(starts, indices, values);
  const OwnedRows relevance = checked_relevance(y_starts, y_labels, y_values, n_labels);
  const CsrView Y = relevance.view();
  need(rows.view().n_rows() == Y.n_rows(), "X and Y need as many rows");
  RelevanceData data;
  {
    const LongWork work;
    data.X = are_unit ? number_features(std::move(rows)) : prepare_rows(rows.view());
    transpose(Y, n_labels, data);
  }
  new (self) RelevanceData(std::move(data));
}

// Makes training data from unit rows whose features are numbered without gaps. The arrays are
// mapped from files that no other process writes. Training spills what it copies into the folder.
RelevanceData mapped_data(Starts starts, Indices indices, Values values, Indices names,
                          Starts y_starts, Indices y_labels, Values y_values, std::size_t n_labels,
                          const std::string& folder) {
  const HeldRows rows(starts, indices, values);  // checks the starts
  const OwnedRows relevance = checked_relevance(y_starts, y_labels, y_values, n_labels);
  need(rows.n_rows() == relevance.view().n_rows(), "X and Y need as many rows");
  RelevanceData data;
  const LongWork work;
  for (const std::int32_t f : view(indices)) {
    need(f >= 0 && static_cast<std::size_t>(f) < names.shape(0), "a feature has no name");
  }
  transpose(relevance.view(), n_labels, data);
  data.mapped.emplace(CsrView{view(starts), view(indices), view(values)}, view(names));
  data.folder = folder;
  return data;
}

// The labels in [first, last) that some row has, and the mean features of each.
auto label_features(const RelevanceData& data, std::size_t n_workers, std::size_t first,
                    std::optional<std::size_t> last) {
  const std::size_t end =
      std::min(last.value_or(data.label_starts.size()), data.label_starts.size() - 1);
  need(n_workers >= 1 && first <= end, "no such labels");
  std::vector<LabelId> used;
  std::vector<std::int64_t> starts{0};
  Centroids centroids;
  {
    const LongWork work;
    const TrainingRows X = data.rows();
    const auto begin = data.label_starts[first], n = data.label_starts[end] - begin;
    for (std::size_t l = first; l < end; ++l) {
      if (data.label_starts[l] == data.label_starts[l + 1]) continue;
      used.push_back(static_cast<LabelId>(l));
      starts.push_back(data.label_starts[l + 1] - begin);
    }
    const auto rows = std::span(data.label_rows)
                          .subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(n));
    const auto relevance =
        std::span(data.label_values).subspan(static_cast<std::size_t>(begin), rows.size());
    if (X.is_mapped) read_ahead<std::int32_t>(X.rows, rows);
    centroids = relevance_centroids(X.rows, X.names.size(), {starts, rows, relevance}, n_workers);
    for (std::int32_t& f : centroids.indices) f = X.names[static_cast<std::size_t>(f)];
  }
  return std::tuple{give(std::move(used)), give(std::move(centroids.row_starts)),
                    give(std::move(centroids.indices)), give(std::move(centroids.values))};
}

void check_centroids(std::span<const LabelId> labels, const CsrView& centroids) {
  need(!labels.empty() && labels.size() == centroids.n_rows(), "each label needs mean features");
  for (std::size_t i = 0; i < labels.size(); ++i) {
    need(labels[i] > (i == 0 ? -1 : labels[i - 1]), "labels must increase");
  }
  for (const std::int32_t f : centroids.indices) need(f >= 0, "a feature is negative");
}

LabelTree tree_of(Indices used, Starts starts, Indices features, Values values,
                  const Clustering& options) {
  const HeldRows held(starts, features, values);  // they may be mapped, and larger than memory
  const CsrView centroids = held.all();
  const auto labels_used = view(used);
  check_centroids(labels_used, centroids);
  const LongWork work;
  const auto label_bound = static_cast<std::size_t>(labels_used.back()) + 1;
  if (labels_used.size() == 1) {  // its regressor needs a node above it
    return LabelTree::restore(std::vector<NodeId>{none, 0}, std::vector{none, labels_used[0]},
                              label_bound);
  }
  const LabelTree tree = kmeans_tree(centroids, {}, options);
  std::vector<LabelId> labels = tree.labels();
  for (LabelId& label : labels) {
    if (label != none) label = labels_used[static_cast<std::size_t>(label)];
  }
  return LabelTree::restore(tree.parents(), labels, label_bound);
}

// The labels below a node in the order of their leaves, of which n_levels are divided.
auto order_of(Indices used, Starts starts, Indices features, Values values, const LabelTree& shape,
              NodeId node, std::size_t n_levels, const Clustering& options) {
  const HeldRows held(starts, features, values);
  const auto labels_used = view(used);
  check_centroids(labels_used, held.all());
  need(node >= 0 && static_cast<std::size_t>(node) < shape.n_nodes() &&
           static_cast<std::size_t>(shape.n_leaves(node)) == labels_used.size(),
       "the node has another number of labels");
  std::vector<LabelId> order;
  {
    const LongWork work;
    order = kmeans_order(held.all(), shape, node, n_levels, options);
    for (LabelId& label : order) label = labels_used[static_cast<std::size_t>(label)];
  }
  return give(std::move(order));
}

TrainedNodes train(const RelevanceData& data, const LabelTree& tree, Indices nodes, Indices held,
                   RelevanceTraining options) {
  const TrainingRows X = data.rows();
  const std::size_t n_here = X.rows.n_rows();
  need(held.shape(0) == n_here, "held needs one entry for every row");
  std::int32_t last = none;
  for (const std::int32_t h : view(held)) {
    need(h == none || h > last, "held rows must be numbered in order");
    last = std::max(last, h);
  }
  NodeId before = none;
  for (const NodeId node : view(nodes)) {
    need(node > before && static_cast<std::size_t>(node) < tree.n_nodes() && !tree.is_leaf(node),
         "nodes must be inner nodes of the tree, increasing");
    need(node > 0 || n_here == options.n_rows, "the root needs all rows");
    need(static_cast<std::size_t>(tree.n_children(node)) <= max_children,
         "a node has too many children");
    before = node;
  }
  need(options.n_rows >= n_here, "a part has no more rows than the whole");
  need(tree.label_bound() < data.label_starts.size() && tree.n_nodes() > 1, "no such tree");
  const std::vector<NodeId> selected(view(nodes).begin(), view(nodes).end());
  const std::vector<std::int32_t> held_rows(view(held).begin(), view(held).end());
  options.folder = data.folder;
  const LongWork work;
  return train_nodes(tree, selected, X, data.by_label(), held_rows, options);
}

TrainedRelevance join(const LabelTree& tree, const std::vector<TrainedNodes*>& parts,
                      std::size_t n_held) {
  std::vector<TrainedNodes> taken;
  for (TrainedNodes* part : parts) {
    for (const HeldNode& node : part->held) {
      for (const std::int32_t h : node.held) {
        need(h >= 0 && static_cast<std::size_t>(h) < n_held, "a held-out row has no such number");
      }
    }
    taken.push_back(std::move(*part));
    *part = {};
  }
  const LongWork work;
  return join_nodes(tree, std::move(taken), n_held);
}

template <typename T>
void extend(std::vector<T>& all, const std::vector<T>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

// Trained nodes as arrays, one node after the other, to be sent to another process.
auto state_of(const TrainedNodes& trained) {
  std::vector<std::int32_t> n_features, features, n_held, held, n_margins;
  std::vector<std::uint32_t> row_starts;
  std::vector<std::uint8_t> columns;
  std::vector<std::uint16_t> values;
  std::vector<float> margins;
  for (std::size_t i = 0; i < trained.nodes.size(); ++i) {
    const NodeWeights& weights = trained.weights[i];
    n_features.push_back(static_cast<std::int32_t>(weights.features.size()));
    n_held.push_back(static_cast<std::int32_t>(trained.held[i].held.size()));
    n_margins.push_back(static_cast<std::int32_t>(trained.held[i].margins.size()));
    extend(features, weights.features);
    extend(row_starts, weights.row_starts);
    extend(columns, weights.columns);
    extend(values, weights.values);
    extend(held, trained.held[i].held);
    extend(margins, trained.held[i].margins);
  }
  return std::make_tuple(give(std::vector(trained.nodes)), give(std::move(n_features)),
                         give(std::move(features)), give(std::move(row_starts)),
                         give(std::move(columns)), give(std::move(values)), give(std::move(n_held)),
                         give(std::move(held)), give(std::move(n_margins)),
                         give(std::move(margins)), give(std::vector(trained.biases)),
                         give(std::vector(trained.reach)));
}

// Cuts the next n numbers off an array.
template <typename T>
std::vector<T> next_of(std::span<const T>& left, std::size_t n) {
  need(n <= left.size(), "trained nodes that end too early");
  std::vector<T> part(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(n));
  left = left.subspan(n);
  return part;
}

using TrainedState =
    std::tuple<Indices, Indices, Indices, Vector<std::uint32_t>, Vector<std::uint8_t>,
               Vector<std::uint16_t>, Indices, Indices, Indices, Values, Values, Values>;

void restore_nodes(TrainedNodes* self, const TrainedState& state) {
  const auto& [nodes, n_features, features, row_starts, columns, values, n_held, held, n_margins,
               margins, biases, reach] = state;
  TrainedNodes trained;
  trained.nodes.assign(view(nodes).begin(), view(nodes).end());
  trained.biases.assign(view(biases).begin(), view(biases).end());
  trained.reach.assign(view(reach).begin(), view(reach).end());
  const std::size_t n = trained.nodes.size();
  need(n_features.shape(0) == n && n_held.shape(0) == n && n_margins.shape(0) == n,
       "trained nodes do not fit together");
  auto features_left = view(features);
  auto starts_left = view(row_starts);
  auto columns_left = view(columns);
  auto values_left = view(values);
  auto held_left = view(held);
  auto margins_left = view(margins);
  for (std::size_t i = 0; i < n; ++i) {
    const auto wide = static_cast<std::size_t>(n_features.data()[i]);
    NodeWeights weights;
    weights.features = next_of(features_left, wide);
    weights.row_starts = next_of(starts_left, wide + 1);
    need(weights.row_starts[0] == 0 &&
             std::is_sorted(weights.row_starts.begin(), weights.row_starts.end()),
         "trained rows do not follow");
    for (const std::int32_t f : weights.features) need(f >= 0, "a feature is negative");
    weights.columns = next_of(columns_left, weights.row_starts.back());
    weights.values = next_of(values_left, weights.row_starts.back());
    trained.weights.push_back(std::move(weights));
    trained.held.push_back({next_of(held_left, static_cast<std::size_t>(n_held.data()[i])),
                            next_of(margins_left, static_cast<std::size_t>(n_margins.data()[i]))});
  }
  new (self) TrainedNodes(std::move(trained));
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
  nb::class_<RelevanceTraining>(module, "RelevanceTraining", "How the nodes of a tree are trained.")
      .def(
          "__init__",
          [](RelevanceTraining* self, NodeLoss loss, float cost, float cost_power, bool mean_error,
             int max_epochs, double tolerance, float least_weight, float least_share,
             double weights_per_entry, std::uint64_t seed, std::size_t n_workers,
             std::size_t n_rows) {
            new (self) RelevanceTraining{
                loss,         cost,        cost_power,        mean_error, max_epochs, tolerance,
                least_weight, least_share, weights_per_entry, seed,       n_workers,  n_rows};
          },
          nb::kw_only(), nb::arg("loss"), nb::arg("cost"), nb::arg("cost_power"),
          nb::arg("mean_error"), nb::arg("max_epochs"), nb::arg("tolerance"),
          nb::arg("least_weight"), nb::arg("least_share"), nb::arg("weights_per_entry"),
          nb::arg("seed"), nb::arg("n_workers"), nb::arg("n_rows"));
  nb::class_<HeldMargins>(module, "HeldMargins", "Margins of held-out rows.");
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
  nb::class_<TrainedNodes>(module, "TrainedNodes", "The regressors of some nodes of a tree.")
      .def("__getstate__", &state_of)
      .def("__setstate__", &restore_nodes);
  nb::class_<RelevanceData>(module, "RelevanceData", "Rows and relevance, ready for training.")
      .def("__init__", &make_data, nb::arg("starts").noconvert(), nb::arg("indices").noconvert(),
           nb::arg("values").noconvert(), nb::arg("y_starts").noconvert(),
           nb::arg("y_labels").noconvert(), nb::arg("y_values").noconvert(), nb::arg("n_labels"),
           nb::arg("are_unit") = false)
      .def_static("mapped", &mapped_data, nb::arg("starts").noconvert(),
                  nb::arg("indices").noconvert(), nb::arg("values").noconvert(),
                  nb::arg("names").noconvert(), nb::arg("y_starts").noconvert(),
                  nb::arg("y_labels").noconvert(), nb::arg("y_values").noconvert(),
                  nb::arg("n_labels"), nb::arg("folder"), nb::keep_alive<0, 1>(),
                  nb::keep_alive<0, 2>(), nb::keep_alive<0, 3>(), nb::keep_alive<0, 4>())
      .def("label_features", &label_features, nb::arg("n_workers"), nb::arg("first") = 0,
           nb::arg("last") = nb::none())
      .def("train", &train, nb::arg("tree"), nb::arg("nodes").noconvert(),
           nb::arg("held").noconvert(), nb::arg("options"))
      .def_prop_ro("n_features", [](const RelevanceData& data) { return data.rows().names.size(); })
      .def_prop_ro("n_entries",
                   [](const RelevanceData& data) { return data.rows().rows.indices.size(); });
  module.def("unit_rows", &unit_rows_of, nb::arg("starts").noconvert(),
             nb::arg("indices").noconvert(), nb::arg("values").noconvert());
  module.def("relevance_tree", &tree_of, nb::arg("used").noconvert(), nb::arg("starts").noconvert(),
             nb::arg("features").noconvert(), nb::arg("values").noconvert(), nb::arg("options"));
  module.def("relevance_order", &order_of, nb::arg("used").noconvert(),
             nb::arg("starts").noconvert(), nb::arg("features").noconvert(),
             nb::arg("values").noconvert(), nb::arg("shape"), nb::arg("node"), nb::arg("n_levels"),
             nb::arg("options"));
  module.def("join_nodes", &join, nb::arg("tree"), nb::arg("parts"), nb::arg("n_held"));
  module.def(
      "training_worker_bytes",
      [](const LabelTree& tree, std::size_t n_rows, std::size_t n_features, std::size_t n_entries,
         std::size_t n_targets) {
        return worker_bytes(tree, {n_rows, n_features, n_entries, n_targets});
      },
      nb::arg("tree"), nb::arg("n_rows"), nb::arg("n_features"), nb::arg("n_entries"),
      nb::arg("n_targets"));
  module.def("solve_node", &solve_node, nb::arg("starts").noconvert(),
             nb::arg("indices").noconvert(), nb::arg("values").noconvert(), nb::arg("n_features"),
             nb::arg("targets").noconvert(), nb::arg("weights").noconvert(), nb::arg("loss"),
             nb::arg("cost"), nb::arg("max_epochs"), nb::arg("tolerance"));
}

}  // namespace labeltrees::bindings
