#include <nanobind/stl/tuple.h>

#include <tuple>

#include "labeltrees/baselines/l1_logistic.hpp"
#include "labeltrees/baselines/ndcg_trees.hpp"
#include "labeltrees/baselines/one_against_all.hpp"
#include "online_model.hpp"

namespace labeltrees::bindings {
namespace {

void restore_one_against_all(OneAgainstAll* self, Vector<double> mass, Vector<std::uint64_t> keys,
                             Matrix<float> weights, Matrix<float> sums) {
  const Released released;
  new (self) OneAgainstAll(view(mass), view(keys), {weights.data(), weights.size()},
                           {sums.data(), sums.size()});
}

void need_ids_below(std::span<const std::int32_t> ids, std::size_t bound, const char* what) {
  for (const std::int32_t id : ids) need(id >= 0 && static_cast<std::size_t>(id) < bound, what);
}

// Trees, and the widths they were made for.
struct NdcgForest {
  NdcgTrees trees;
  std::size_t n_features, n_labels;
};

void grow_forest(NdcgForest* self, Starts starts, Indices indices, Values values,
                 std::size_t n_features, Starts y_starts, Indices y_labels, Values y_values,
                 std::size_t n_labels, const NdcgTreeOptions& options) {
  const OwnedRows rows = copied_rows(starts, indices, values);
  const OwnedRows relevance = copied_rows(y_starts, y_labels, y_values);
  need(rows.view().n_rows() == relevance.view().n_rows() && rows.view().n_rows() > 0,
       "X and Y need as many rows");
  need_ids_below(rows.indices, n_features, "no such feature");
  need_ids_below(relevance.indices, n_labels, "no such label");
  for (const float y : relevance.values) need(y > 0 && y <= 1, "relevance must be in (0, 1]");
  NdcgTrees trees;
  {
    const LongWork work;
    trees = grow_ndcg_trees(rows.view(), n_features, relevance.view(), n_labels, options);
  }
  new (self) NdcgForest{std::move(trees), n_features, n_labels};
}

template <typename T>
std::vector<T> ndcg_copied(const Vector<T>& array) {
  return {array.data(), array.data() + array.shape(0)};
}

void restore_forest(NdcgForest* self, Indices roots, Indices left, Starts weight_starts,
                    Indices features, Values weights, Values biases, Starts label_starts,
                    Indices labels, Values relevances, std::size_t n_features,
                    std::size_t n_labels) {
  NdcgTrees trees{ndcg_copied(roots),        ndcg_copied(left),    ndcg_copied(weight_starts),
                  ndcg_copied(features),     ndcg_copied(weights), ndcg_copied(biases),
                  ndcg_copied(label_starts), ndcg_copied(labels),  ndcg_copied(relevances)};
  trees.check(n_features, n_labels);
  new (self) NdcgForest{std::move(trees), n_features, n_labels};
}

OwnedMatrix<NodeId> ndcg_leaves_of(const NdcgForest& forest, Starts starts, Indices indices,
                                   Values values, std::size_t n_workers) {
  const OwnedRows rows = copied_rows(starts, indices, values);
  need_ids_below(rows.indices, forest.n_features, "no such feature");
  need(n_workers >= 1, "n_workers must be >= 1");
  const std::size_t n_trees = forest.trees.roots.size();
  std::vector<NodeId> leaves(rows.view().n_rows() * n_trees);
  {
    const LongWork work;
    ndcg_leaves(forest.trees, rows.view(), forest.n_features, n_workers, leaves);
  }
  return give(std::move(leaves), n_trees);
}

// The weights of all features, and the bias.
std::tuple<OwnedVector<double>, double> solve_l1(Starts starts, Indices indices, Values values,
                                                 std::size_t n_features, Indices signs,
                                                 Vector<double> costs, double tolerance,
                                                 int max_passes) {
  const OwnedRows rows = copied_rows(starts, indices, values);
  const std::size_t n = rows.view().n_rows();
  need_ids_below(rows.indices, n_features, "no such feature");
  need(signs.shape(0) == n && costs.shape(0) == n, "signs and costs need one entry per row");
  std::vector<std::int32_t> all(n);
  std::vector<std::int8_t> sides(n);
  for (std::size_t i = 0; i < n; ++i) {
    all[i] = static_cast<std::int32_t>(i);
    sides[i] = signs.data()[i] > 0 ? 1 : -1;
    need(costs.data()[i] > 0, "costs must be above zero");
  }
  L1Logistic solver(n_features);
  std::vector<double> weights(n_features);
  {
    const LongWork work;
    solver.solve(rows.view(), all, sides, view(costs), tolerance, max_passes);
    for (std::size_t f = 0; f < solver.features().size(); ++f) {
      weights[static_cast<std::size_t>(solver.features()[f])] = solver.weights()[f];
    }
  }
  return {give(std::move(weights)), solver.bias()};
}

template <auto Member>
auto ndcg_array_of() {
  return [](const NdcgForest& forest) { return give(std::vector(forest.trees.*Member)); };
}

}  // namespace

void bind_one_against_all(nb::module_& module) {
  nb::class_<OneAgainstAll> cls(module, "OneAgainstAll", "One regressor for every label.");
  cls.def(nb::init<>())
      .def("__init__", &restore_one_against_all, nb::arg("mass").noconvert(),
           nb::arg("keys").noconvert(), nb::arg("weights").noconvert(), nb::arg("sums").noconvert())
      .def(
          "grow",
          [](OneAgainstAll& model, std::int32_t n_labels) {
            need(n_labels >= 0, "n_labels must not be negative");
            const Released released;
            const std::unique_lock alone(model.mutex());
            model.grow(static_cast<std::size_t>(n_labels));
          },
          nb::arg("n_labels"))
      .def("learn_scored", learner_of<OneAgainstAll, Learning>(AnyLabel{}, &learn_scored),
           nb::arg("starts").noconvert(), nb::arg("indices").noconvert(),
           nb::arg("values").noconvert(), nb::arg("labels").noconvert(),
           nb::arg("weights").noconvert(), nb::arg("order").noconvert(), nb::arg("progress"),
           nb::arg("predict_top"), nb::arg("options"), nb::arg("predict_label"))
      .def("label_scores", named_of<OneAgainstAll>(&label_scores), nb::arg("starts").noconvert(),
           nb::arg("indices").noconvert(), nb::arg("values").noconvert(),
           nb::arg("labels").noconvert(), nb::arg("reading"))
      .def_prop_ro("n_labels",
                   number_of<OneAgainstAll>([](const OneAgainstAll& m) { return m.n_labels(); }));
  def_online_model(cls, AnyLabel{});
}

void bind_ndcg_trees(nb::module_& module) {
  nb::class_<NdcgTreeOptions>(module, "NdcgTreeOptions", "How trees split by nDCG are grown.")
      .def(
          "__init__",
          [](NdcgTreeOptions* self, std::size_t n_trees, std::size_t max_leaf,
             std::size_t leaf_labels, double cost, double tolerance, int max_passes,
             std::uint64_t seed, std::size_t n_workers) {
            need(n_trees >= 1 && max_leaf >= 1 && leaf_labels >= 1 && cost > 0 && tolerance > 0 &&
                     max_passes >= 1 && n_workers >= 1,
                 "an option is out of range");
            new (self) NdcgTreeOptions{n_trees,   max_leaf,   leaf_labels, cost,
                                       tolerance, max_passes, seed,        n_workers};
          },
          nb::kw_only(), nb::arg("n_trees"), nb::arg("max_leaf"), nb::arg("leaf_labels"),
          nb::arg("cost"), nb::arg("tolerance"), nb::arg("max_passes"), nb::arg("seed"),
          nb::arg("n_workers"));
  nb::class_<NdcgForest>(module, "NdcgForest", "Trees of nodes split by nDCG.")
      .def("__init__", &grow_forest, nb::arg("starts").noconvert(), nb::arg("indices").noconvert(),
           nb::arg("values").noconvert(), nb::arg("n_features"), nb::arg("y_starts").noconvert(),
           nb::arg("y_labels").noconvert(), nb::arg("y_values").noconvert(), nb::arg("n_labels"),
           nb::arg("options"))
      .def("__init__", &restore_forest, nb::arg("roots").noconvert(), nb::arg("left").noconvert(),
           nb::arg("weight_starts").noconvert(), nb::arg("features").noconvert(),
           nb::arg("weights").noconvert(), nb::arg("biases").noconvert(),
           nb::arg("label_starts").noconvert(), nb::arg("labels").noconvert(),
           nb::arg("relevances").noconvert(), nb::arg("n_features"), nb::arg("n_labels"))
      .def("leaves", &ndcg_leaves_of, nb::arg("starts").noconvert(), nb::arg("indices").noconvert(),
           nb::arg("values").noconvert(), nb::arg("n_workers"))
      .def("roots", ndcg_array_of<&NdcgTrees::roots>())
      .def("left", ndcg_array_of<&NdcgTrees::left>())
      .def("weight_starts", ndcg_array_of<&NdcgTrees::weight_starts>())
      .def("features", ndcg_array_of<&NdcgTrees::features>())
      .def("weights", ndcg_array_of<&NdcgTrees::weights>())
      .def("biases", ndcg_array_of<&NdcgTrees::biases>())
      .def("label_starts", ndcg_array_of<&NdcgTrees::label_starts>())
      .def("labels", ndcg_array_of<&NdcgTrees::labels>())
      .def("relevances", ndcg_array_of<&NdcgTrees::relevances>());
  module.def("solve_l1_logistic", &solve_l1, nb::arg("starts").noconvert(),
             nb::arg("indices").noconvert(), nb::arg("values").noconvert(), nb::arg("n_features"),
             nb::arg("signs").noconvert(), nb::arg("costs").noconvert(), nb::arg("tolerance"),
             nb::arg("max_passes"));
}

}  // namespace labeltrees::bindings
