#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include "labeltrees/refined/queries.hpp"
#include "snapshots.hpp"
#include "tree_queries.hpp"

namespace labeltrees::bindings {
namespace {

void check_trees(const Trees& trees, const Shortlist& shortlist) {
  need(!trees.empty() && shortlist.most >= 1, "there must be a tree and a candidate");
  need(shortlist.least_share >= 0 && shortlist.least_share <= 1, "a share must be in [0, 1]");
  for (std::size_t t = 0; t < trees.size(); ++t) {
    need(trees[t] != nullptr, "a tree is missing");
    need(std::find(trees.begin(), trees.begin() + static_cast<std::ptrdiff_t>(t), trees[t]) ==
             trees.begin() + static_cast<std::ptrdiff_t>(t),
         "a tree is there twice");
  }
}

void make_refined(RefinedTrees* self, Trees trees, std::size_t n_candidates, double least_share) {
  const Shortlist shortlist{n_candidates, least_share};
  check_trees(trees, shortlist);
  new (self) RefinedTrees(std::move(trees), shortlist);
}

void restore_refined(RefinedTrees* self, Trees trees, std::size_t n_candidates, double least_share,
                     Vector<std::uint64_t> keys, Vector<float> weights, Vector<std::uint16_t> sums,
                     Vector<std::uint8_t> others, Vector<std::uint8_t> own, Matrix<float> mixtures,
                     float scale, std::size_t n_labels) {
  const Shortlist shortlist{n_candidates, least_share};
  check_trees(trees, shortlist);
  const std::size_t n = keys.shape(0);
  if (weights.shape(0) != n || sums.shape(0) != n || others.shape(0) != n || own.shape(0) != n) {
    throw TreeError("weights, sums and counts need one value for every key");
  }
  const Released released;
  std::vector<PairLine> lines(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (others.data()[i] >= count_values || own.data()[i] >= count_values) {
      throw TreeError("a count is too large");
    }
    lines[i].key = keys.data()[i];
    lines[i].weight = weights.data()[i];
    lines[i].sum_code = sums.data()[i];
    lines[i].counts = pack_counts(others.data()[i], own.data()[i]);
  }
  new (self) RefinedTrees(std::move(trees), shortlist, lines, {mixtures.data(), mixtures.size()},
                          scale, n_labels);
}

// Returns a list of the trees' snapshots, the rerankers' pairs and mixtures, and their scale, all
// as of one moment.
auto snapshot(const RefinedTrees& model) {
  auto [trees, pairs, mixtures, scale] = read_locked(model, [](const RefinedTrees& m) {
    std::vector<TreeSnapshot> of_trees;
    for (const auto& tree : m.trees()) of_trees.emplace_back(*tree);
    return std::tuple(std::move(of_trees), Pairs(m.rerankers().table()),
                      mixtures_in(m.rerankers().mixtures()), m.rerankers().scale());
  });
  std::vector<decltype(std::move(trees[0]).given())> given;
  for (TreeSnapshot& each : trees) given.push_back(std::move(each).given());
  return std::tuple(std::move(given), std::move(pairs).given(), give(std::move(mixtures), n_mixed),
                    scale);
}

// What is learned, checked and held.
struct Batch {
  HeldRows rows;
  std::vector<float> weights;  // copied, because which labels are looked at depends on them

  Batch(Starts starts, Indices indices, Values values, const Vector<LabelId>& labels,
        const Values& given_weights, const Starts& order)
      : rows(starts, indices, values),
        weights(given_weights.data(), given_weights.data() + given_weights.shape(0)) {
    const std::size_t n_rows = rows.n_rows();
    need(labels.shape(0) == n_rows, "labels need one entry for every row");
    need(weights.empty() || weights.size() == n_rows, "weights need one entry for every row");
    for (const std::int64_t r : view(order)) {
      need(r >= 0 && static_cast<std::size_t>(r) < n_rows, "order names a row that is not there");
    }
  }
  void check_labels(const Vector<LabelId>& labels) const {
    for (std::size_t r = 0; r < rows.n_rows(); ++r) {
      need((!weights.empty() && !(weights[r] > 0)) || AnyLabel{}(0, labels.data()[r]),
           "a label cannot be learned");
    }
  }
};

// candidates and their probabilities, before each row was learned; nothing with `again`
std::tuple<OwnedMatrix<LabelId>, OwnedMatrix<double>> learn_trees_of(
    RefinedTrees& model, Starts starts, Indices indices, Values values, Vector<LabelId> labels,
    Values given_weights, Starts order, Progress& progress, const ConditionalLearning& options) {
  const Batch batch(starts, indices, values, labels, given_weights, order);
  batch.check_labels(labels);
  const std::size_t n = options.again ? 0 : batch.rows.n_rows();
  std::vector<LabelId> candidates(n * model.n_candidates());
  std::vector<double> p_trees(n * model.n_candidates());
  {
    const Released released;
    std::unique_lock alone(model.mutex());
    BetweenRows watch(alone, progress);
    learn_trees(model, batch.rows.all(), view(labels), batch.weights, view(order),
                {candidates, p_trees}, options, &watch);
  }
  return {give(std::move(candidates), model.n_candidates()),
          give(std::move(p_trees), model.n_candidates())};
}

// passes, trust in the trees, trust in the rerankers
std::tuple<std::size_t, double, double> fit_to(RefinedTrees& model, Starts starts, Indices indices,
                                               Values values, Vector<LabelId> labels,
                                               Values given_weights, Starts order,
                                               Matrix<LabelId> candidates, Matrix<double> p_trees,
                                               std::uint64_t seed, const Learning& options,
                                               const RerankerPasses& passes) {
  const Batch batch(starts, indices, values, labels, given_weights, order);
  const std::size_t k = model.n_candidates();
  for (const auto& [rows, columns] : {std::pair(candidates.shape(0), candidates.shape(1)),
                                      std::pair(p_trees.shape(0), p_trees.shape(1))}) {
    need(rows == batch.rows.n_rows() && columns == k, "candidates need k columns for every row");
  }
  std::vector<LabelId> proposed(candidates.data(), candidates.data() + candidates.size());
  std::vector<double> p(p_trees.data(), p_trees.data() + p_trees.size());
  const LongWork work;
  const std::unique_lock alone(model.mutex());
  for (const LabelId label : proposed) {
    need(label == none || model.tree().leaf_of(label) != none, "a candidate has no leaf");
  }
  const RerankerChoice choice = fit_rerankers(model, batch.rows.all(), view(labels), batch.weights,
                                              view(order), {proposed, p}, seed, options, passes);
  return {choice.n_passes, choice.of_trees, choice.of_rerankers};
}

// p_trees, q, whether it is a candidate, m, the trees' part in it; features, values, weights
std::tuple<double, double, bool, float, float, OwnedVector<std::uint32_t>, OwnedVector<float>,
           OwnedVector<float>>
report(const RefinedTrees& model, Starts starts, Indices indices, Values values, LabelId label,
       const Reading& reading) {
  const HeldRows rows(starts, indices, values);
  need(rows.n_rows() == 1, "one row is reported at a time");
  RefinementReport report;
  PreparedRow row;
  {
    const Released released;
    const std::shared_lock shared(model.mutex());
    need(model.tree().leaf_of(label) != none, "the label has no leaf");
    report = report_refinement(model, rows.all().row(0), label, reading);
    row.assign(rows.all().row(0), model.rerankers().reading(reading));
  }
  return {report.p_trees,
          report.q,
          report.is_candidate,
          report.m,
          report.of_trees,
          give(std::move(row.features)),
          give(std::move(row.values)),
          give(std::move(report.weights))};
}

}  // namespace

void bind_refined_trees(nb::module_& module) {
  using Model = RefinedTrees;
  nb::class_<RerankerPasses>(module, "RerankerPasses", "How often rerankers learn the rows.")
      .def(
          "__init__",
          [](RerankerPasses* self, std::size_t most, bool patient, bool resume) {
            new (self) RerankerPasses{most, patient, resume};
          },
          nb::kw_only(), nb::arg("most"), nb::arg("patient"), nb::arg("resume"));
  nb::class_<Model> cls(module, "RefinedTrees",
                        "Trees that propose candidates and rerankers that refine them.");
  cls.def("__init__", &make_refined, nb::arg("trees"), nb::arg("n_candidates"),
          nb::arg("least_share"))
      .def("__init__", &restore_refined, nb::arg("trees"), nb::arg("n_candidates"),
           nb::arg("least_share"), nb::arg("keys").noconvert(), nb::arg("weights").noconvert(),
           nb::arg("sums").noconvert(), nb::arg("others").noconvert(), nb::arg("own").noconvert(),
           nb::arg("mixtures").noconvert(), nb::arg("scale"), nb::arg("n_labels"))
      .def("learn_trees", &learn_trees_of, nb::arg("starts").noconvert(),
           nb::arg("indices").noconvert(), nb::arg("values").noconvert(),
           nb::arg("labels").noconvert(), nb::arg("weights").noconvert(),
           nb::arg("order").noconvert(), nb::arg("progress"), nb::arg("options"))
      .def("fit_rerankers", &fit_to, nb::arg("starts").noconvert(), nb::arg("indices").noconvert(),
           nb::arg("values").noconvert(), nb::arg("labels").noconvert(),
           nb::arg("weights").noconvert(), nb::arg("order").noconvert(),
           nb::arg("candidates").noconvert(), nb::arg("p_trees").noconvert(), nb::arg("seed"),
           nb::arg("options"), nb::arg("passes"))
      .def("snapshot", &snapshot)
      .def(
          "limit_bytes",
          [](Model& m, std::size_t n_bytes) {
            const Released released;
            const std::unique_lock alone(m.mutex());
            need(n_bytes >= m.least_bytes(), "the limit is too small");
            m.limit_bytes(n_bytes);
          },
          nb::arg("n_bytes"))
      .def_prop_ro("is_full", number_of<Model>([](const Model& m) { return m.is_full(); }))
      .def_prop_ro("n_trees", [](const Model& m) { return m.trees().size(); })
      .def_prop_ro("n_candidates", [](const Model& m) { return m.n_candidates(); })
      .def_prop_ro("least_share", [](const Model& m) { return m.shortlist().least_share; })
      .def_prop_ro("least_bytes", [](const Model& m) { return m.least_bytes(); })
      .def_prop_ro("n_lines", number_of<Model>([](const Model& m) {
                     std::size_t sum = 0;
                     for (const auto& tree : m.trees()) sum += tree->table().size();
                     return sum;
                   }))
      .def_prop_ro("n_bytes", number_of<Model>([](const Model& m) {
                     return m.n_bytes() - m.rerankers().table().n_bytes();
                   }))
      .def_prop_ro("n_pairs",
                   number_of<Model>([](const Model& m) { return m.rerankers().table().size(); }))
      .def_prop_ro("n_pair_bytes", number_of<Model>([](const Model& m) {
                     return m.rerankers().table().n_bytes();
                   }));
  def_tree_model(cls);
  def_tree_queries<Model>(module);
  module.def("report_refinement", &report, nb::arg("model"), nb::arg("starts").noconvert(),
             nb::arg("indices").noconvert(), nb::arg("values").noconvert(), nb::arg("label"),
             nb::arg("reading"));
}

}  // namespace labeltrees::bindings
