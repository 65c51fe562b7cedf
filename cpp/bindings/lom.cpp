#include "labeltrees/lom/node_distribution.hpp"
#include "labeltrees/lom/queries.hpp"
#include "labeltrees/lom/tree.hpp"
#include "online_model.hpp"

namespace labeltrees::bindings {
namespace {

using Named = nb::typed<nb::dict, nb::str, nb::any>;

template <typename T>
std::vector<T> copied(const Named& tensors, const char* name) {
  const auto array = nb::cast<Vector<T>>(tensors[name], false);
  return {array.data(), array.data() + array.shape(0)};
}

// The arrays of the nodes by name, in both directions.
template <typename Arrays, typename Visit>
void visit_arrays(Arrays& arrays, Visit visit) {
  visit("parent", arrays.parent);
  visit("left", arrays.left);
  visit("right", arrays.right);
  visit("ledger", arrays.ledger);
  visit("block", arrays.block);
  visit("slot", arrays.slot);
  visit("least", arrays.least);
  visit("weight", arrays.weight);
  visit("leaf_top", arrays.leaf_top);
  visit("leaf_labels", arrays.leaf_labels);
  visit("top", arrays.top);
  visit("n_labels", arrays.n_labels);
  visit("mean", arrays.mean);
  visit("mean_weight", arrays.mean_weight);
  visit("n_recycled", arrays.n_recycled);
  visit("split_number", arrays.split_number);
}

void restore_lom(LomTree* self, const Named& nodes, NodeId root, Vector<std::uint8_t> used_slots,
                 Vector<double> totals, Vector<std::uint8_t> open_ledgers,
                 Vector<std::uint64_t> entry_keys, Vector<float> counts, Vector<float> means,
                 Vector<std::uint64_t> keys, Matrix<float> weights, Matrix<float> sums,
                 Vector<double> reached, Vector<double> drawn, double again) {
  LomArrays arrays;
  visit_arrays(arrays, [&]<typename T>(const char* name, std::vector<T>& array) {
    array = copied<T>(nodes, name);
  });
  const Released released;
  new (self) LomTree(arrays, root, view(used_slots), view(totals),
                     Ledgers(view(open_ledgers), view(entry_keys), view(counts), view(means)),
                     view(keys), {weights.data(), weights.size()}, {sums.data(), sums.size()},
                     BackOff(view(reached), view(drawn)), again);
}

// Everything a LOMtree is made of, of one moment.
struct LomState {
  LomArrays nodes;
  NodeId root;
  std::vector<std::uint8_t> used_slots, open_ledgers;
  std::vector<double> totals, reached, drawn;
  std::vector<std::uint64_t> entry_keys;
  std::vector<float> counts, means;
  double again;
  PlainLines lines;

  explicit LomState(const LomTree& model)
      : nodes(model.arrays()),
        root(model.root()),
        used_slots(model.used_slots()),
        totals(model.masses()),
        reached(model.trust().reached().begin(), model.trust().reached().end()),
        drawn(model.trust().drawn().begin(), model.trust().drawn().end()),
        again(model.again()),
        lines(model.table()) {
    for (std::uint32_t part = 1; part <= model.ledgers().n_parts(); ++part) {
      open_ledgers.push_back(model.ledgers().is_open(part) ? 1 : 0);
    }
    for (const SavedEntry& entry : model.ledgers().sorted_entries()) {
      entry_keys.push_back(entry.key);
      counts.push_back(entry.count);
      means.push_back(entry.mean);
    }
  }
};

Named named_arrays(LomArrays& arrays) {
  Named named;
  visit_arrays(arrays, [&]<typename T>(const char* name, std::vector<T>& array) {
    named[name] = give(std::move(array));
  });
  return named;
}

Named node_arrays(const LomTree& model) {
  LomArrays arrays = read_locked(model, [](const LomTree& m) { return m.arrays(); });
  return named_arrays(arrays);
}

// By the names of restore_lom's arguments.
Named snapshot(const LomTree& model) {
  LomState state = read_locked(model, [](const LomTree& m) { return LomState(m); });
  auto [keys, weights, sums] = std::move(state.lines).given();
  Named named;
  named["nodes"] = named_arrays(state.nodes);
  named["root"] = state.root;
  named["used_slots"] = give(std::move(state.used_slots));
  named["totals"] = give(std::move(state.totals));
  named["open_ledgers"] = give(std::move(state.open_ledgers));
  named["entry_keys"] = give(std::move(state.entry_keys));
  named["counts"] = give(std::move(state.counts));
  named["means"] = give(std::move(state.means));
  named["keys"] = keys;
  named["weights"] = weights;
  named["sums"] = sums;
  named["reached"] = give(std::move(state.reached));
  named["drawn"] = give(std::move(state.drawn));
  named["again"] = state.again;
  return named;
}

OwnedVector<NodeId> leaves(const LomTree& model, Starts starts, Indices indices, Values values,
                           const Reading& reading) {
  const HeldRows rows(starts, indices, values);
  std::vector<NodeId> leaf(rows.n_rows());
  query_in_parts(model, rows, [&](const CsrView& X, std::size_t begin) {
    leaves_of_rows(model, X, reading, rows_of(leaf, begin, X));
  });
  return give(std::move(leaf));
}

// p[i] is the probability of labels[i] at the node nodes[i], which may be a leaf or an inner node.
OwnedVector<double> lom_probabilities_at(const LomTree& model, Vector<NodeId> nodes,
                                         Vector<LabelId> labels) {
  need(labels.shape(0) == nodes.shape(0), "labels need one entry for every node");
  std::vector<double> p(nodes.shape(0));
  {
    const LongWork work;
    const std::shared_lock shared(model.mutex());
    NodeDistribution distribution;
    for (std::size_t i = 0; i < p.size(); ++i) {
      const NodeId id = nodes.data()[i];
      need(id >= 0 && static_cast<std::size_t>(id) < model.n_nodes(), "there is no such node");
      distribution.assign(model, id);
      p[i] = distribution.probability(labels.data()[i]);
      look_up();
    }
  }
  return give(std::move(p));
}

// starts, labels, p; all empty if there are too many
std::tuple<OwnedVector<std::int64_t>, OwnedVector<LabelId>, OwnedVector<double>> lom_labels_above(
    const LomTree& model, Starts starts, Indices indices, Values values, double threshold,
    std::size_t max_entries, const Reading& reading) {
  const HeldRows rows(starts, indices, values);
  need(threshold > 0, "threshold must be above 0");
  LomAbove found{{0}, {}, {}};
  query_in_parts(model, rows, [&](const CsrView& X, std::size_t) {
    if (found.starts.empty()) return;  // there were too many
    LomAbove more = labels_above(model, X, threshold, max_entries - found.labels.size(), reading);
    if (more.starts.empty()) {
      found = {};
    } else {
      append(more, found);
    }
  });
  return {give(std::move(found.starts)), give(std::move(found.labels)), give(std::move(found.p))};
}

OwnedVector<LabelId> sample(const LomTree& model, Starts starts, Indices indices, Values values,
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

// nodes, margins, features, values, weights
using Route = std::tuple<OwnedVector<NodeId>, OwnedVector<float>, OwnedVector<std::uint32_t>,
                         OwnedVector<float>, OwnedVector<float>>;

Route route(const LomTree& model, Starts starts, Indices indices, Values values,
            const Reading& reading) {
  const HeldRows rows(starts, indices, values);
  need(rows.n_rows() == 1, "one row is needed");
  LomRoute found = read_locked(
      model, [&](const LomTree& m) { return report_route(m, rows.all().row(0), reading); });
  return {give(std::move(found.nodes)), give(std::move(found.margins)),
          give(std::move(found.features)), give(std::move(found.values)),
          give(std::move(found.weights))};
}

}  // namespace

namespace {

void fit_heaviest_rows(LomTree& model, Starts starts, Indices indices, Values values,
                       Vector<LabelId> labels, Values weights, Starts order, std::size_t n_passes,
                       const LomLearning& options) {
  const OwnedRows X = copied_rows(starts, indices, values);
  const std::size_t n_rows = X.view().n_rows();
  const std::vector<LabelId> ids(labels.data(), labels.data() + labels.shape(0));
  const std::vector<float> of_rows(weights.data(), weights.data() + weights.shape(0));
  const std::vector<std::int64_t> in_order(order.data(), order.data() + order.shape(0));
  need(ids.size() == n_rows, "labels need one entry for every row");
  need(of_rows.empty() || of_rows.size() == n_rows, "weights need one entry for every row");
  need(in_order.empty() || in_order.size() == n_rows, "order needs every row once");
  for (const std::int64_t r : in_order) {
    need(r >= 0 && static_cast<std::size_t>(r) < n_rows, "order names a row that is not there");
  }
  for (std::size_t r = 0; r < n_rows; ++r) {
    const bool learned = of_rows.empty() || of_rows[r] > 0;
    need(!learned || AnyLabel{}(model, ids[r]), "a label cannot be learned");
  }
  const LongWork work;
  const std::unique_lock alone(model.mutex());
  need(model.n_labels() == 0, "only a model that has learned nothing can be fitted");
  fit_heaviest(model, X.view(), ids, of_rows, in_order, n_passes, options);
}

}  // namespace

void bind_lom_tree(nb::module_& module) {
  nb::enum_<PartitionLoss>(module, "PartitionLoss")
      .value("hinge", PartitionLoss::hinge)
      .value("logistic", PartitionLoss::logistic)
      .value("squared", PartitionLoss::squared)
      .value("absolute", PartitionLoss::absolute);
  nb::class_<LomLearning>(module, "LomLearning", "How a LOMtree learns.")
      .def(
          "__init__",
          [](LomLearning* self, const Reading& reading, PartitionLoss loss, Optimizer optimizer,
             float learning_rate, double max_splits, double splits_per_label,
             double swap_resistance, bool training_path_only, bool again) {
            need(swap_resistance >= 1, "swap_resistance must be at least 1");
            new (self) LomLearning{{reading, optimizer, learning_rate, again},
                                   loss,
                                   max_splits,
                                   splits_per_label,
                                   swap_resistance,
                                   training_path_only};
          },
          nb::kw_only(), nb::arg("reading"), nb::arg("loss"), nb::arg("optimizer"),
          nb::arg("learning_rate"), nb::arg("max_splits"), nb::arg("splits_per_label"),
          nb::arg("swap_resistance"), nb::arg("training_path_only"), nb::arg("again"));
  const auto number = [](auto read) { return number_of<LomTree>(read); };
  nb::class_<LomTree> cls(module, "LomTree", "A decision tree that chooses its own partitions.");
  cls.def(nb::init<>())
      .def("__init__", &restore_lom, nb::arg("nodes"), nb::arg("root"),
           nb::arg("used_slots").noconvert(), nb::arg("totals").noconvert(),
           nb::arg("open_ledgers").noconvert(), nb::arg("entry_keys").noconvert(),
           nb::arg("counts").noconvert(), nb::arg("means").noconvert(), nb::arg("keys").noconvert(),
           nb::arg("weights").noconvert(), nb::arg("sums").noconvert(),
           nb::arg("reached").noconvert(), nb::arg("drawn").noconvert(), nb::arg("again"))
      .def("fit_heaviest", &fit_heaviest_rows, nb::arg("starts").noconvert(),
           nb::arg("indices").noconvert(), nb::arg("values").noconvert(),
           nb::arg("labels").noconvert(), nb::arg("weights").noconvert(),
           nb::arg("order").noconvert(), nb::arg("n_passes"), nb::arg("options"))
      .def("nodes", &node_arrays)
      .def("snapshot", &snapshot)
      .def("leaves", &leaves, nb::arg("starts").noconvert(), nb::arg("indices").noconvert(),
           nb::arg("values").noconvert(), nb::arg("reading"))
      .def("probabilities_at", &lom_probabilities_at, nb::arg("nodes").noconvert(),
           nb::arg("labels").noconvert())
      .def("labels_above", &lom_labels_above, nb::arg("starts").noconvert(),
           nb::arg("indices").noconvert(), nb::arg("values").noconvert(), nb::arg("threshold"),
           nb::arg("max_entries"), nb::arg("reading"))
      .def("sample_labels", &sample, nb::arg("starts").noconvert(), nb::arg("indices").noconvert(),
           nb::arg("values").noconvert(), nb::arg("uniforms").noconvert(), nb::arg("reading"))
      .def("report_route", &route, nb::arg("starts").noconvert(), nb::arg("indices").noconvert(),
           nb::arg("values").noconvert(), nb::arg("reading"))
      .def_prop_rw("back_off", number([](const LomTree& m) { return m.back_off(); }),
                   [](LomTree& model, double value) {
                     need(value >= 0 && value < 1e9, "back_off must be finite and not negative");
                     const Released released;
                     const std::unique_lock alone(model.mutex());
                     model.set_back_off(value);
                   })
      .def_prop_ro("n_rounds", number([](const LomTree& m) { return m.n_rounds(); }))
      .def_prop_ro("root", number([](const LomTree& m) { return m.root(); }))
      .def_prop_ro("n_labels", number([](const LomTree& m) { return m.n_labels(); }))
      .def_prop_ro("n_nodes", number([](const LomTree& m) { return m.n_nodes(); }))
      .def_prop_ro("n_splits", number([](const LomTree& m) { return m.n_splits(); }))
      .def_prop_ro("n_recyclings", number([](const LomTree& m) { return m.n_recyclings(); }))
      .def_prop_ro("ledger_bytes", number([](const LomTree& m) { return m.ledgers().n_bytes(); }));
  def_online_model<LomLearning>(cls, AnyLabel{});
}

}  // namespace labeltrees::bindings
