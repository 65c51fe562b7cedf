#include <nanobind/stl/tuple.h>

#include <deque>
#include <memory>
#include <tuple>

#include "labeltrees/extreme/calibration.hpp"
#include "labeltrees/extreme/labelwise.hpp"
#include "labeltrees/extreme/search.hpp"
#include "rows.hpp"

namespace labeltrees::bindings {
namespace {

constexpr std::int32_t max_depth = 60;  // what a path is kept in

// Trees over arrays that Python owns, or maps from a file.
class Forest {
 public:
  Forest(NodeLoss loss, std::size_t n_labels, double inner_power, bool fill_missing)
      : forest_{{}, loss, n_labels, inner_power, fill_missing} {
    if (!(inner_power > 0 && inner_power <= 1)) throw TreeError("inner_power must be in (0, 1]");
  }

  void add(const LabelTree& tree, Indices features, Vector<std::uint32_t> feature_rows,
           Indices row_parents, Vector<std::uint32_t> row_starts, Vector<std::uint8_t> columns,
           Vector<std::uint16_t> values, Values biases, Values reach, const HeldMargins* held) {
    need(pool_ == nullptr, "the forest is in use: add all trees before the first query");
    need(feature_rows.shape(0) > 0 && row_starts.shape(0) > 0, "arrays of starts are empty");
    const SiblingWeights weights{view(features),   view(feature_rows), view(row_parents),
                                 view(row_starts), view(columns),      view(values),
                                 view(biases)};
    weights.validate(tree);
    if (tree.label_bound() > forest_.n_labels || tree.n_nodes() < 2 ||
        reach.shape(0) != tree.n_nodes()) {
      throw TreeError("the tree does not fit the labels");
    }
    for (const std::int32_t depth : tree.depths()) {
      if (depth > max_depth) throw TreeError("the tree is too deep");
    }
    for (const std::int32_t n : tree.child_counts()) {
      if (static_cast<std::size_t>(n) > max_children) throw TreeError("too many children");
    }
    for (const float bias : view(biases)) {
      if (!(bias > -1e30f && bias < 1e30f)) throw TreeError("a bias is not finite");
    }
    for (const float share : view(reach)) {
      if (!(share >= 0 && share <= 1)) throw TreeError("a share of the rows is not in [0, 1]");
    }
    trees_.push_back(tree);
    owners_.push_back(nb::make_tuple(features, feature_rows, row_parents, row_starts, columns,
                                     values, biases, reach));
    if (held != nullptr) held_.push_back(*held);
    forest_.trees.push_back(
        {&trees_.back(), weights, view(reach), held == nullptr ? nullptr : &held_.back()});
  }

  QueryPool& pool() {
    need(!forest_.trees.empty(), "the forest has no tree");
    if (pool_ == nullptr) pool_ = std::make_unique<QueryPool>(forest_);
    return *pool_;
  }

  const LabelTree& tree(std::size_t t) const {
    need(t < trees_.size(), "no such tree");
    return trees_[t];
  }
  std::size_t n_trees() const { return trees_.size(); }
  std::size_t n_labels() const { return forest_.n_labels; }

 private:
  std::deque<LabelTree> trees_;
  std::deque<HeldMargins> held_;
  std::vector<nb::object> owners_;
  RelevanceForest forest_;
  std::unique_ptr<QueryPool> pool_;
};

void check_held(const Indices& held, std::size_t n_rows) {
  need(held.shape(0) == 0 || held.shape(0) == n_rows, "held needs one entry for every row");
}

// Labels, probabilities, and masses unless mass_width is 0.
std::tuple<OwnedMatrix<LabelId>, OwnedMatrix<double>, OwnedVector<double>> top_labels(
    Forest& forest, Starts starts, Indices indices, Values values, std::size_t k,
    RelevanceSearch search, std::size_t beam_width, Indices held, std::size_t mass_width,
    std::size_t n_workers) {
  const HeldRows held_rows(starts, indices, values);
  const CsrView X = held_rows.all();
  need(k >= 1 && beam_width >= 1 && n_workers >= 1, "k, beam_width and n_workers must be >= 1");
  check_held(held, X.n_rows());
  QueryPool& pool = forest.pool();
  std::vector<LabelId> labels(X.n_rows() * k);
  std::vector<double> p(labels.size()), masses(mass_width == 0 ? 0 : X.n_rows());
  {
    const LongWork work;
    relevance_top_labels(pool, X, k, search, beam_width, view(held), mass_width, n_workers, labels,
                         p, masses);
  }
  return {give(std::move(labels), k), give(std::move(p), k), give(std::move(masses))};
}

OwnedVector<double> of_labels(Forest& forest, Starts starts, Indices indices, Values values,
                              Indices labels, Indices held, std::size_t n_workers) {
  const HeldRows held_rows(starts, indices, values);
  const CsrView X = held_rows.all();
  need(labels.shape(0) == X.n_rows() && n_workers >= 1, "labels need one entry for every row");
  check_held(held, X.n_rows());
  QueryPool& pool = forest.pool();
  std::vector<double> p(X.n_rows());
  {
    const LongWork work;
    query_rows(pool, X, view(held), n_workers,
               [&](std::size_t r, ForestQuery& query) { p[r] = query.label(labels.data()[r]); });
  }
  return give(std::move(p));
}

OwnedVector<double> masses_of(Forest& forest, Starts starts, Indices indices, Values values,
                              std::size_t width, std::size_t n_workers) {
  const HeldRows held_rows(starts, indices, values);
  const CsrView X = held_rows.all();
  need(width >= 1 && n_workers >= 1, "width and n_workers must be >= 1");
  QueryPool& pool = forest.pool();
  std::vector<double> masses(X.n_rows());
  {
    const LongWork work;
    query_rows(pool, X, {}, n_workers,
               [&](std::size_t r, ForestQuery& query) { masses[r] = query.mass(width); });
  }
  return give(std::move(masses));
}

OwnedMatrix<double> all_labels(Forest& forest, Starts starts, Indices indices, Values values,
                               std::size_t n_workers) {
  const HeldRows held_rows(starts, indices, values);
  const CsrView X = held_rows.all();
  QueryPool& pool = forest.pool();
  const std::size_t n = forest.n_labels();
  std::vector<double> p(X.n_rows() * n);
  {
    const LongWork work;
    query_rows(pool, X, {}, n_workers, [&](std::size_t r, ForestQuery& query) {
      query.all(std::span(p).subspan(r * n, n));
    });
  }
  return give(std::move(p), n);
}

// starts, labels, p; nothing at all if there are more than max_entries.
std::tuple<OwnedVector<std::int64_t>, OwnedVector<LabelId>, OwnedVector<double>> above(
    Forest& forest, Starts starts, Indices indices, Values values, Vector<double> thresholds,
    std::size_t max_entries) {
  const HeldRows held_rows(starts, indices, values);
  const CsrView X = held_rows.all();
  need(thresholds.shape(0) == X.n_rows(), "thresholds need one entry for every row");
  QueryPool& pool = forest.pool();
  std::vector<std::int64_t> row_starts{0};
  std::vector<LabelId> labels;
  std::vector<double> p;
  {
    const LongWork work;
    query_rows(pool, X, {}, 1, [&](std::size_t r, ForestQuery& query) {
      if (labels.size() > max_entries) return;
      for (const ScoredLabel& found : query.above(thresholds.data()[r])) {
        labels.push_back(found.label);
        p.push_back(found.p);
      }
      row_starts.push_back(static_cast<std::int64_t>(labels.size()));
    });
    if (labels.size() > max_entries) row_starts.clear(), labels.clear(), p.clear();
  }
  return {give(std::move(row_starts)), give(std::move(labels)), give(std::move(p))};
}

// Report one row and label in one tree. Returns the nodes from the root to the leaf's parent, the
// children taken, their margins, and the weights of the row's features, (n_nodes, n_features of the
// row).
std::tuple<OwnedVector<NodeId>, OwnedVector<std::int32_t>, OwnedVector<float>, OwnedMatrix<float>>
report(Forest& forest, Starts starts, Indices indices, Values values, LabelId label,
       std::size_t t) {
  const HeldRows held_rows(starts, indices, values);
  const CsrView X = held_rows.all();
  const LabelTree& tree = forest.tree(t);
  need(X.n_rows() == 1 && tree.leaf_of(label) != none, "one row and a known label");
  std::vector<NodeId> path;
  for (NodeId node = tree.leaf_of(label); node != 0; node = tree.parent(node)) {
    path.insert(path.begin(), node);
  }
  std::vector<NodeId> nodes;
  std::vector<std::int32_t> children;
  std::vector<float> margins, weights;
  auto query = forest.pool().take();
  query->start(X.row(0), none);
  for (const NodeId child : path) {
    nodes.push_back(tree.parent(child));
    children.push_back(child - tree.first_child(nodes.back()));
    std::vector<float> parts(X.row(0).size(), 0.0f);
    margins.push_back(query->tree(t).margin(nodes.back(), children.back(), &parts));
    weights.insert(weights.end(), parts.begin(), parts.end());
  }
  forest.pool().give_back(std::move(query));
  return {give(std::move(nodes)), give(std::move(children)), give(std::move(margins)),
          give(std::move(weights), X.row(0).size())};
}

std::tuple<OwnedMatrix<std::int64_t>, OwnedMatrix<double>> top_rows(Forest& forest, Starts starts,
                                                                    Indices indices, Values values,
                                                                    Indices labels,
                                                                    Vector<double> masses,
                                                                    Labelwise options) {
  const HeldRows held_rows(starts, indices, values);
  const CsrView X = held_rows.all();
  const auto requested = view(labels);
  const std::size_t k = options.k;
  options.masses = view(masses);
  need(k >= 1 && k <= X.n_rows(), "k must be at least 1 and at most the number of rows");
  need(masses.shape(0) == 0 || masses.shape(0) == X.n_rows(), "a mass for every row");
  for (std::size_t i = 0; i < requested.size(); ++i) {
    need(requested[i] >= 0 && (i == 0 || requested[i] > requested[i - 1]), "labels must increase");
  }
  QueryPool& pool = forest.pool();
  std::vector<std::int64_t> rows(requested.size() * k);
  std::vector<double> p(rows.size());
  {
    const LongWork work;
    labelwise_top_rows(pool, X, requested, options, rows, p);
  }
  return {give(std::move(rows), k), give(std::move(p), k)};
}

// a, b, c, d
using Numbers = std::tuple<double, double, double, double>;

Calibration calibration_of(const Numbers& numbers) {
  const auto [a, b, c, d] = numbers;
  return {a, b, c, d};
}

OwnedVector<double> calibrated(Vector<double> p, Vector<double> masses, Numbers calibration) {
  need(p.shape(0) % std::max<std::size_t>(masses.shape(0), 1) == 0, "a mass for every row");
  std::vector<double> q(view(p).begin(), view(p).end());
  calibrate(calibration_of(calibration), view(masses), q);
  return give(std::move(q));
}

}  // namespace

void bind_relevance_forest(nb::module_& module) {
  nb::enum_<RelevanceSearch>(module, "RelevanceSearch")
      .value("exact", RelevanceSearch::exact)
      .value("beam", RelevanceSearch::beam);
  module.def("calibrated", &calibrated, nb::arg("p").noconvert(), nb::arg("masses").noconvert(),
             nb::arg("calibration"));
  nb::class_<Labelwise>(module, "Labelwise", "How the best rows of labels are found.")
      .def(
          "__init__",
          [](Labelwise* self, std::size_t k, double factor, bool exact, Numbers calibration,
             std::size_t n_workers) {
            const Calibration map = calibration_of(calibration);
            need(n_workers >= 1 && factor > 0, "factor or n_workers out of range");
            need(map.a > 0 && map.b >= 0, "the calibration must keep the order");
            new (self) Labelwise{k, factor, exact, map, {}, n_workers};
          },
          nb::kw_only(), nb::arg("k"), nb::arg("factor"), nb::arg("exact"), nb::arg("calibration"),
          nb::arg("n_workers"));
  nb::class_<Forest>(module, "RelevanceForest", "Trees of relevance regressors, for prediction.")
      .def(nb::init<NodeLoss, std::size_t, double, bool>(), nb::arg("loss"), nb::arg("n_labels"),
           nb::arg("inner_power"), nb::arg("fill_missing"))
      .def("add", &Forest::add, nb::arg("tree"), nb::arg("features").noconvert(),
           nb::arg("feature_rows").noconvert(), nb::arg("row_parents").noconvert(),
           nb::arg("row_starts").noconvert(), nb::arg("columns").noconvert(),
           nb::arg("values").noconvert(), nb::arg("biases").noconvert(),
           nb::arg("reach").noconvert(), nb::arg("held").none())
      .def_prop_ro("n_trees", &Forest::n_trees)
      .def_prop_ro("n_labels", &Forest::n_labels)
      .def(
          "tree", [](const Forest& forest, std::size_t t) { return forest.tree(t); }, nb::arg("t"))
      .def("top_labels", &top_labels, nb::arg("starts").noconvert(), nb::arg("indices").noconvert(),
           nb::arg("values").noconvert(), nb::arg("k"), nb::arg("search"), nb::arg("beam_width"),
           nb::arg("held").noconvert(), nb::arg("mass_width"), nb::arg("n_workers"))
      .def("masses", &masses_of, nb::arg("starts").noconvert(), nb::arg("indices").noconvert(),
           nb::arg("values").noconvert(), nb::arg("width"), nb::arg("n_workers"))
      .def("of_labels", &of_labels, nb::arg("starts").noconvert(), nb::arg("indices").noconvert(),
           nb::arg("values").noconvert(), nb::arg("labels").noconvert(),
           nb::arg("held").noconvert(), nb::arg("n_workers"))
      .def("all_labels", &all_labels, nb::arg("starts").noconvert(), nb::arg("indices").noconvert(),
           nb::arg("values").noconvert(), nb::arg("n_workers"))
      .def("above", &above, nb::arg("starts").noconvert(), nb::arg("indices").noconvert(),
           nb::arg("values").noconvert(), nb::arg("thresholds").noconvert(), nb::arg("max_entries"))
      .def("top_rows", &top_rows, nb::arg("starts").noconvert(), nb::arg("indices").noconvert(),
           nb::arg("values").noconvert(), nb::arg("labels").noconvert(),
           nb::arg("masses").noconvert(), nb::arg("options"))
      .def("report", &report, nb::arg("starts").noconvert(), nb::arg("indices").noconvert(),
           nb::arg("values").noconvert(), nb::arg("label"), nb::arg("tree"));
}

}  // namespace labeltrees::bindings
