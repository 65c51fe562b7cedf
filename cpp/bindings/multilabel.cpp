#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>

#include "labeltrees/multilabel/queries.hpp"
#include "snapshots.hpp"

namespace labeltrees::bindings {
namespace {

Shortlist label_set_shortlist(std::size_t n_candidates, double least_share) {
  need(least_share >= 0 && least_share <= 1, "a share must be in [0, 1]");
  return {n_candidates, least_share};
}

void make_multilabel(MultilabelTree* self, const LabelTree* tree, std::size_t n_candidates,
                     double least_share) {
  new (self) MultilabelTree(tree == nullptr || tree->empty() ? WideTree() : WideTree::from(*tree),
                            label_set_shortlist(n_candidates, least_share));
}

void restore_multilabel(MultilabelTree* self, Vector<NodeId> parents, Vector<std::int32_t> slots,
                        Vector<LabelId> labels, std::size_t n_labels, std::size_t n_candidates,
                        double least_share, Vector<double> mass, Vector<std::uint64_t> keys,
                        Matrix<float> weights, Matrix<std::uint16_t> sums,
                        Matrix<std::uint8_t> left, Matrix<std::uint8_t> right,
                        Matrix<float> mixtures, Vector<std::uint64_t> pair_keys,
                        Vector<float> pair_weights, Vector<std::uint16_t> pair_sums,
                        Vector<std::uint8_t> others, Vector<std::uint8_t> own,
                        Matrix<float> reranker_mixtures) {
  const std::size_t n_lines = keys.shape(0);
  const auto fits = [&](const auto& matrix) {
    return matrix.shape(0) == n_lines && matrix.shape(1) == block_size;
  };
  if (!fits(weights) || !fits(sums) || !fits(left) || !fits(right)) {
    throw TreeError("weights, sums and counts need seven values for every key");
  }
  const std::size_t n_pairs = pair_keys.shape(0);
  if (pair_weights.shape(0) != n_pairs || pair_sums.shape(0) != n_pairs ||
      others.shape(0) != n_pairs || own.shape(0) != n_pairs) {
    throw TreeError("weights, sums and counts need one value for every pair");
  }
  const Shortlist shortlist = label_set_shortlist(n_candidates, least_share);
  const Released released;
  const auto counts_of = [](std::uint8_t of_left, std::uint8_t of_right) {
    if (of_left >= count_values || of_right >= count_values)
      throw TreeError("a count is too large");
    return pack_counts(of_left, of_right);
  };
  std::vector<CountedLine> lines(n_lines);
  for (std::size_t i = 0; i < n_lines; ++i) {
    lines[i].key = keys.data()[i];
    for (std::size_t s = 0; s < block_size; ++s) {
      const std::size_t at = i * block_size + s;
      lines[i].weight[s] = weights.data()[at];
      lines[i].sum_code[s] = sums.data()[at];
      lines[i].counts[s] = counts_of(left.data()[at], right.data()[at]);
    }
  }
  std::vector<PairLine> pairs(n_pairs);
  for (std::size_t i = 0; i < n_pairs; ++i) {
    pairs[i].key = pair_keys.data()[i];
    pairs[i].weight = pair_weights.data()[i];
    pairs[i].sum_code = pair_sums.data()[i];
    pairs[i].counts = counts_of(others.data()[i], own.data()[i]);
  }
  new (self) MultilabelTree(WideTree::restore(view(parents), view(slots), view(labels), n_labels),
                            shortlist, view(mass), lines, {mixtures.data(), mixtures.size()}, pairs,
                            {reranker_mixtures.data(), reranker_mixtures.size()});
}

// parents, slots, labels; masses; lines; mixtures; pairs; the rerankers' mixtures. All are read at
// the same moment.
auto multilabel_snapshot(const MultilabelTree& model) {
  auto [tree, masses, lines, mixtures, pairs, reranker_mixtures] =
      read_locked(model, [](const MultilabelTree& m) {
        std::vector<double> mass(m.masses());
        mass.push_back(m.mass_of_rows());
        return std::tuple(WideTree(m.tree()), std::move(mass), CountedLines(m.table()),
                          mixtures_in(m.mixtures()), Pairs(m.rerankers().table()),
                          mixtures_in(m.rerankers().mixtures()));
      });
  return std::tuple(give(tree.parents()), give(tree.slots()), give(tree.labels()),
                    give(std::move(masses)), std::move(lines).given(),
                    give(std::move(mixtures), n_mixed), std::move(pairs).given(),
                    give(std::move(reranker_mixtures), n_mixed));
}

// p_label by entry of the labels, in the order of the rows; top and p_top (n, k)
std::tuple<OwnedVector<double>, OwnedMatrix<LabelId>, OwnedMatrix<double>> learn_label_sets(
    MultilabelTree& model, Starts starts, Indices indices, Values values, Starts label_starts,
    Indices label_ids, Values relevance, Values given_weights, Starts order, Progress& progress,
    bool predict_label, std::size_t k, const MultilabelLearning& options) {
  const HeldRows rows(starts, indices, values);
  // Labels are used as array indices, so they are copied. No other thread can then change what has
  // been checked.
  const OwnedRows labels = copied_rows(label_starts, label_ids, relevance);
  const std::size_t n_rows = rows.n_rows();
  const std::vector<float> weights(given_weights.data(),
                                   given_weights.data() + given_weights.shape(0));
  const std::vector<std::int64_t> in_order(order.data(), order.data() + order.shape(0));
  need(labels.row_starts.size() == n_rows + 1, "labels need one row for every row");
  need(weights.empty() || weights.size() == n_rows, "weights need one entry for every row");
  need(is_tidy(labels.view(), static_cast<std::size_t>(std::numeric_limits<LabelId>::max()), false),
       "labels must increase in every row");
  for (const float value : labels.values) need(value > 0 && value <= 1, "relevance not in (0, 1]");
  std::size_t n_entries = labels.indices.size();
  if (!in_order.empty()) {
    n_entries = 0;
    for (const std::int64_t r : in_order) {
      need(r >= 0 && static_cast<std::size_t>(r) < n_rows, "order names a row that is not there");
      n_entries += labels.view().row(static_cast<std::size_t>(r)).size();
    }
  }
  const std::size_t n = in_order.empty() ? n_rows : in_order.size();
  std::vector<double> p_label(predict_label ? n_entries : 0), p_top(n * k);
  std::vector<LabelId> top(n * k);
  {
    const Released released;
    std::unique_lock alone(model.mutex());
    BetweenRows watch(alone, progress);
    learn(model, rows.all(), labels.view(), weights, in_order, {p_label, top, p_top, k}, options,
          &watch);
  }
  return {give(std::move(p_label)), give(std::move(top), k), give(std::move(p_top), k)};
}

using SparseAnswer =
    std::tuple<OwnedVector<std::int64_t>, OwnedVector<LabelId>, OwnedVector<double>>;

SparseAnswer given_labels(SparseLabels&& found) {
  return {give(std::move(found.starts)), give(std::move(found.labels)), give(std::move(found.p))};
}

// Returns nothing if there are more than max_entries.
std::optional<SparseAnswer> label_sets_above(const MultilabelTree& model, Starts starts,
                                             Indices indices, Values values, double threshold,
                                             std::size_t max_entries, const Reading& reading) {
  const HeldRows rows(starts, indices, values);
  SparseLabels found{{0}, {}, {}};
  bool fits = true;
  query_in_parts(model, rows, [&](const CsrView& X, std::size_t) {
    if (!fits) return;
    SparseLabels more;
    fits = labels_above(model, X, threshold, max_entries - found.labels.size(), reading, more);
    if (fits) append(more, found);
  });
  if (!fits) return std::nullopt;
  return given_labels(std::move(found));
}

SparseAnswer sampled_label_sets(const MultilabelTree& model, Starts starts, Indices indices,
                                Values values, Vector<std::uint64_t> seeds,
                                const Reading& reading) {
  const HeldRows rows(starts, indices, values);
  need(seeds.shape(0) == rows.n_rows(), "there must be a seed for every row");
  SparseLabels found{{0}, {}, {}};
  query_in_parts(model, rows, [&](const CsrView& X, std::size_t begin) {
    SparseLabels more;
    sample_label_sets(model, X, view(seeds).subspan(begin, X.n_rows()), reading, more);
    append(more, found);
  });
  return given_labels(std::move(found));
}

OwnedVector<double> expected_number(const MultilabelTree& model, Starts starts, Indices indices,
                                    Values values, double tolerance, const Reading& reading) {
  const HeldRows rows(starts, indices, values);
  std::vector<double> n(rows.n_rows());
  query_in_parts(model, rows, [&](const CsrView& X, std::size_t begin) {
    expected_labels(model, X, tolerance, reading, rows_of(n, begin, X));
  });
  return give(std::move(n));
}

std::tuple<OwnedMatrix<std::int64_t>, OwnedMatrix<double>> best_rows_of_labels(
    const MultilabelTree& model, Starts starts, Indices indices, Values values,
    Vector<LabelId> labels, std::size_t k, const Reading& reading) {
  const HeldRows rows(starts, indices, values);
  need(k <= rows.n_rows(), "there are not so many rows");
  const std::vector<LabelId> requested(labels.data(), labels.data() + labels.shape(0));
  std::vector<std::int64_t> best(requested.size() * k);
  std::vector<double> p(requested.size() * k);
  {
    const LongWork work;
    const std::shared_lock shared(model.mutex());
    for (const LabelId label : requested) {
      need(model.tree().leaf_of(label) != none, "a label has no leaf");
    }
    top_rows(model, rows.all(), requested, k, reading, best, p);
  }
  return {give(std::move(best), k), give(std::move(p), k)};
}

// p_root, p_tree, q, whether it is a candidate; etas, log-odds, labels below and masses of the
// nodes; features, values, weights (nodes, features); the candidate's log-odds, the tree's part in
// them, the reranker's weights
auto multilabel_report(const MultilabelTree& model, Starts starts, Indices indices, Values values,
                       LabelId label, const Reading& reading) {
  const HeldRows rows(starts, indices, values);
  need(rows.n_rows() == 1, "one row is reported at a time");
  MultilabelReport found;
  std::vector<std::int32_t> n_below;
  std::vector<double> masses;
  {
    const Released released;
    const std::shared_lock shared(model.mutex());
    need(model.tree().leaf_of(label) != none, "the label has no leaf");
    found = report_marginal(model, rows.all().row(0), label, reading);
    for (const NodeId node : found.nodes) {
      n_below.push_back(model.tree().at(node).n_leaves);
      masses.push_back(model.mass(node));
    }
  }
  const std::size_t n_features = found.features.size();
  return std::tuple(
      std::tuple(found.p_root, found.p_tree, found.q, found.is_candidate),
      std::tuple(give(std::move(found.eta)), give(std::move(found.log_odds)),
                 give(std::move(n_below)), give(std::move(masses))),
      std::tuple(give(std::move(found.features)), give(std::move(found.values)),
                 give(std::move(found.weights), n_features)),
      std::tuple(found.refined_log_odds, found.of_tree, give(std::move(found.reranker_weights))));
}

OwnedVector<std::uint8_t> labels_with_leaves(const MultilabelTree& model, Vector<LabelId> labels) {
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

// tree, and the mass of each of its nodes
auto multilabel_shape(const MultilabelTree& model) {
  auto [tree, masses] = read_locked(model, [](const MultilabelTree& m) {
    std::vector<double> of_nodes;
    for (const NodeId node : m.tree().breadth_first()) of_nodes.push_back(m.mass(node));
    return std::tuple(m.tree().plain(), std::move(of_nodes));
  });
  return std::tuple(std::move(tree), give(std::move(masses)));
}

void limit_multilabel(MultilabelTree& m, std::size_t n_bytes) {
  const Released released;
  const std::unique_lock alone(m.mutex());
  need(n_bytes >= MultilabelTree::least_bytes, "the limit is too small");
  m.limit_bytes(n_bytes);
}

}  // namespace

void bind_multilabel_tree(nb::module_& module) {
  nb::class_<MultilabelLearning, Learning>(module, "MultilabelLearning")
      .def(
          "__init__",
          [](MultilabelLearning* self, const Learning& learning, double branching_threshold) {
            new (self) MultilabelLearning{learning, branching_threshold};
          },
          nb::arg("learning"), nb::arg("branching_threshold"));
  const auto named = [](const MultilabelTree& model, auto&&... arguments) {
    label_probabilities(model, arguments...);
  };
  const auto top = [](const MultilabelTree& model, auto&&... arguments) {
    top_labels(model, arguments...);
  };
  const auto all = [](const MultilabelTree& model, auto&&... arguments) {
    all_probabilities(model, arguments...);
  };
  const auto rows = [](auto& cls, const char* name, auto function, auto&&... more) {
    cls.def(name, function, nb::arg("starts").noconvert(), nb::arg("indices").noconvert(),
            nb::arg("values").noconvert(), more..., nb::arg("reading"));
  };
  nb::class_<MultilabelTree> cls(module, "MultilabelTree",
                                 "A label tree of rows with many labels.");
  cls.def("__init__", &make_multilabel, nb::arg("tree").none(), nb::arg("n_candidates"),
          nb::arg("least_share"))
      .def("__init__", &restore_multilabel, nb::arg("parents").noconvert(),
           nb::arg("slots").noconvert(), nb::arg("labels").noconvert(), nb::arg("n_labels"),
           nb::arg("n_candidates"), nb::arg("least_share"), nb::arg("mass").noconvert(),
           nb::arg("keys").noconvert(), nb::arg("weights").noconvert(), nb::arg("sums").noconvert(),
           nb::arg("left").noconvert(), nb::arg("right").noconvert(),
           nb::arg("mixtures").noconvert(), nb::arg("pair_keys").noconvert(),
           nb::arg("pair_weights").noconvert(), nb::arg("pair_sums").noconvert(),
           nb::arg("others").noconvert(), nb::arg("own").noconvert(),
           nb::arg("reranker_mixtures").noconvert())
      .def("learn", &learn_label_sets, nb::arg("starts").noconvert(),
           nb::arg("indices").noconvert(), nb::arg("values").noconvert(),
           nb::arg("label_starts").noconvert(), nb::arg("label_ids").noconvert(),
           nb::arg("relevance").noconvert(), nb::arg("weights").noconvert(),
           nb::arg("order").noconvert(), nb::arg("progress"), nb::arg("predict_label"),
           nb::arg("k"), nb::arg("options"))
      .def("label_probabilities", named_of<MultilabelTree, std::size_t>(named),
           nb::arg("starts").noconvert(), nb::arg("indices").noconvert(),
           nb::arg("values").noconvert(), nb::arg("labels").noconvert(), nb::arg("reading"),
           nb::arg("n_threads"))
      .def("top_labels", top_of<MultilabelTree, std::size_t>(top), nb::arg("starts").noconvert(),
           nb::arg("indices").noconvert(), nb::arg("values").noconvert(), nb::arg("k"),
           nb::arg("reading"), nb::arg("n_threads"))
      .def("all_probabilities", all_of<MultilabelTree>(all), nb::arg("starts").noconvert(),
           nb::arg("indices").noconvert(), nb::arg("values").noconvert(), nb::arg("n_columns"),
           nb::arg("reading"))
      .def("have_leaves", &labels_with_leaves, nb::arg("labels").noconvert())
      .def("snapshot", &multilabel_snapshot)
      .def("tree_and_masses", &multilabel_shape)
      .def("limit_bytes", &limit_multilabel, nb::arg("n_bytes"))
      .def_prop_ro("is_full",
                   number_of<MultilabelTree>([](const MultilabelTree& m) { return m.is_full(); }))
      .def_prop_ro("least_bytes", [](const MultilabelTree& m) { return m.least_bytes; })
      .def_prop_ro("n_candidates", [](const MultilabelTree& m) { return m.shortlist().most; })
      .def_prop_ro("least_share", [](const MultilabelTree& m) { return m.shortlist().least_share; })
      .def_prop_ro("n_labels", number_of<MultilabelTree>(
                                   [](const MultilabelTree& m) { return m.tree().n_labels(); }))
      .def_prop_ro("n_nodes", number_of<MultilabelTree>(
                                  [](const MultilabelTree& m) { return m.tree().n_nodes(); }))
      .def_prop_ro("mass_of_rows", number_of<MultilabelTree>(
                                       [](const MultilabelTree& m) { return m.mass_of_rows(); }))
      .def_prop_ro("n_lines", number_of<MultilabelTree>(
                                  [](const MultilabelTree& m) { return m.table().size(); }))
      .def_prop_ro("n_bytes", number_of<MultilabelTree>(
                                  [](const MultilabelTree& m) { return m.table().n_bytes(); }))
      .def_prop_ro("n_pairs", number_of<MultilabelTree>([](const MultilabelTree& m) {
                     return m.rerankers().table().size();
                   }))
      .def_prop_ro("n_pair_bytes", number_of<MultilabelTree>([](const MultilabelTree& m) {
                     return m.rerankers().table().n_bytes();
                   }));
  rows(cls, "labels_above", &label_sets_above, nb::arg("threshold"), nb::arg("max_entries"));
  rows(cls, "sample_label_sets", &sampled_label_sets, nb::arg("seeds").noconvert());
  rows(cls, "expected_labels", &expected_number, nb::arg("tolerance"));
  rows(cls, "top_rows", &best_rows_of_labels, nb::arg("labels").noconvert(), nb::arg("k"));
  rows(cls, "report", &multilabel_report, nb::arg("label"));
}

}  // namespace labeltrees::bindings
