#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "labeltrees/self_terminating/tree.hpp"
#include "rows.hpp"

namespace labeltrees::bindings {
namespace {

using Reals = Vector<double>;

Targets targets_of(const Starts& starts, const Indices& labels, const Reals& masses,
                   std::size_t n_rows, std::size_t n_labels) {
  const auto s = view(starts);
  const bool one_each =
      s.empty() && labels.shape(0) == n_rows && (masses.shape(0) == 0 || masses.shape(0) == n_rows);
  const bool many =
      s.size() == n_rows + 1 && s.front() == 0 && std::is_sorted(s.begin(), s.end()) &&
      static_cast<std::size_t>(s.back()) == labels.shape(0) && masses.shape(0) == labels.shape(0);
  need(one_each || many, "targets do not fit the rows");
  for (const LabelId label : view(labels)) {
    need(label >= 0 && static_cast<std::size_t>(label) < n_labels, "a target is no label");
  }
  for (const double mass : view(masses)) need(mass > 0, "masses must be above zero");
  return {s, view(labels), view(masses)};
}

BinnedColumns bin(Starts starts, Indices indices, Values values, int max_bins,
                  std::size_t n_workers) {
  const OwnedRows X = copied_rows(starts, indices, values);
  need(max_bins >= 3 && max_bins <= 255 && n_workers >= 1, "max_bins or n_workers out of range");
  const LongWork work;
  Workers workers(n_workers);
  return bin_columns(X.view(), max_bins, workers);
}

SelfTerminatingTree grow_tree(const BinnedColumns& data, Starts target_starts,
                              Indices target_labels, Reals target_masses, Reals root,
                              const Growing& options) {
  const Targets targets =
      targets_of(target_starts, target_labels, target_masses, data.n_rows, root.shape(0));
  const LongWork work;
  return grow(data, targets, view(root), options);
}

void make_growing(Growing* self, std::vector<double> penalties, double weight_power,
                  double min_gain, Norm norm, Criterion criterion, bool split_terminated,
                  std::vector<std::int32_t> categorical, std::size_t n_workers) {
  need(!penalties.empty(), "penalties are empty");
  for (const double penalty : penalties) need(penalty >= 0, "penalties must be >= 0");
  need(weight_power >= 0 && weight_power < 1, "weight_power must be in [0, 1)");
  need(min_gain >= 0, "min_gain must be >= 0");
  need(n_workers >= 1, "n_workers must be >= 1");
  need(categorical.empty() || norm == Norm::l1, "categorical features need the norm l1");
  new (self) Growing{
      std::move(penalties),  weight_power, min_gain, norm, criterion, split_terminated, n_workers,
      std::move(categorical)};
}

template <typename T>
std::vector<T> copy(const Vector<T>& array) {
  const auto values = view(array);
  return {values.begin(), values.end()};
}

void restore_self_terminating(SelfTerminatingTree* self, Reals root, Indices left, Indices feature,
                              Values threshold, Vector<std::uint8_t> missing_left, Reals gain,
                              Reals weight, Reals factor, Starts starts, Indices labels, Reals p,
                              std::int32_t n_features) {
  SelfTerminatingTree tree{copy(root),         copy(left),   copy(feature), copy(threshold),
                           copy(missing_left), copy(gain),   copy(weight),  copy(factor),
                           copy(starts),       copy(labels), copy(p),       {}};
  tree.link(n_features);
  tree.check_sums();
  new (self) SelfTerminatingTree(std::move(tree));
}

void check_nodes(const SelfTerminatingTree& tree, const Indices& nodes) {
  for (const NodeId node : view(nodes)) {
    need(node >= 0 && static_cast<std::size_t>(node) < tree.n_nodes(), "no such node");
  }
}

OwnedVector<double> probabilities_at(const SelfTerminatingTree& tree, Indices nodes,
                                     Indices labels) {
  check_nodes(tree, nodes);
  need(labels.shape(0) == nodes.shape(0), "labels need one entry for every node");
  std::vector<double> p(nodes.shape(0), 0.0);
  {
    const LongWork work;
    for (std::size_t i = 0; i < p.size(); ++i) {
      const LabelId label = labels.data()[i];
      if (label < 0 || static_cast<std::size_t>(label) >= tree.n_labels()) continue;
      p[i] = probability_at(tree, nodes.data()[i], label);
    }
  }
  return give(std::move(p));
}

OwnedMatrix<double> distributions_at(const SelfTerminatingTree& tree, Indices nodes) {
  check_nodes(tree, nodes);
  const std::size_t n = tree.n_labels();
  std::vector<double> p(nodes.shape(0) * n);
  {
    const LongWork work;
    for (std::size_t i = 0; i < nodes.shape(0); ++i) {
      distribution_at(tree, nodes.data()[i], std::span(p).subspan(i * n, n));
    }
  }
  return give(std::move(p), n);
}

std::tuple<OwnedMatrix<LabelId>, OwnedMatrix<double>> top_at(const SelfTerminatingTree& tree,
                                                             Indices nodes, std::size_t k) {
  check_nodes(tree, nodes);
  need(k >= 1 && k <= tree.n_labels(), "k out of range");
  std::vector<LabelId> labels(nodes.shape(0) * k);
  std::vector<double> p(labels.size());
  {
    const LongWork work;
    for (std::size_t i = 0; i < nodes.shape(0); ++i) {
      top_labels_at(tree, nodes.data()[i], std::span(labels).subspan(i * k, k),
                    std::span(p).subspan(i * k, k));
    }
  }
  return {give(std::move(labels), k), give(std::move(p), k)};
}

Branch whole_branch(const Reals& q, const Reals& u) {
  need(q.shape(0) == u.shape(0), "q and u need the same length");
  return {view(q), view(u), 1.0, 0.0};
}

// The ends of a clip: low, high, below, above.
using Ends = std::tuple<double, double, double, double>;

Ends ends(const Clip& clip) { return {clip.low, clip.high, clip.below, clip.above}; }

std::tuple<Ends, double> solve(Reals q, Reals u, double penalty, Criterion criterion) {
  const Branch branch = whole_branch(q, u);
  const Clip clip = BranchSolver(criterion).solve(branch, penalty);
  return {ends(clip), branch_gain(criterion, branch, clip)};
}

// The ends of the left branch, then of the right, in units of each branch's own weight.
std::tuple<Ends, Ends> solve_both(Reals left, Reals right, Reals u, double left_weight,
                                  double right_weight, double penalty, Criterion criterion) {
  need(left.shape(0) == u.shape(0) && right.shape(0) == u.shape(0), "lengths differ");
  const Branch left_branch{view(left), view(u), left_weight, 0.0};
  const Branch right_branch{view(right), view(u), right_weight, 0.0};
  const auto [a, b] = BranchSolver(criterion).solve_siblings(left_branch, right_branch, penalty);
  return {ends(a), ends(b)};
}

}  // namespace

void bind_self_terminating_tree(nb::module_& module) {
  nb::enum_<Norm>(module, "Norm").value("l1", Norm::l1).value("linf", Norm::linf);
  nb::enum_<Criterion>(module, "Criterion")
      .value("entropy", Criterion::entropy)
      .value("gini", Criterion::gini);
  nb::class_<Growing>(module, "Growing", "How a self-terminating tree is grown.")
      .def("__init__", &make_growing, nb::kw_only(), nb::arg("penalties"), nb::arg("weight_power"),
           nb::arg("min_gain"), nb::arg("norm"), nb::arg("criterion"), nb::arg("split_terminated"),
           nb::arg("categorical"), nb::arg("n_workers"));
  nb::class_<BinnedColumns>(module, "BinnedColumns", "Features cut into bins.");
  module.def("bin_columns", &bin, nb::arg("starts").noconvert(), nb::arg("indices").noconvert(),
             nb::arg("values").noconvert(), nb::arg("max_bins"), nb::arg("n_workers"));
  module.def("solve_branch", &solve, nb::arg("q").noconvert(), nb::arg("u").noconvert(),
             nb::arg("penalty"), nb::arg("criterion"));
  module.def("solve_siblings", &solve_both, nb::arg("left_counts").noconvert(),
             nb::arg("right_counts").noconvert(), nb::arg("u").noconvert(), nb::arg("left_weight"),
             nb::arg("right_weight"), nb::arg("penalty"), nb::arg("criterion"));
  using Tree = SelfTerminatingTree;
  nb::class_<Tree>(module, "SelfTerminatingTree", "A decision tree with a distribution per node.")
      .def_static("grow", &grow_tree, nb::arg("data"), nb::arg("target_starts").noconvert(),
                  nb::arg("target_labels").noconvert(), nb::arg("target_masses").noconvert(),
                  nb::arg("root").noconvert(), nb::arg("options"))
      .def("__init__", &restore_self_terminating, nb::arg("root").noconvert(),
           nb::arg("left").noconvert(), nb::arg("feature").noconvert(),
           nb::arg("threshold").noconvert(), nb::arg("missing_left").noconvert(),
           nb::arg("gain").noconvert(), nb::arg("weight").noconvert(),
           nb::arg("factor").noconvert(), nb::arg("starts").noconvert(),
           nb::arg("labels").noconvert(), nb::arg("p").noconvert(), nb::arg("n_features"))
      .def(
          "leaves",
          [](const Tree& tree, Starts starts, Indices indices, Values values) {
            const HeldRows held_rows(starts, indices, values);
            const CsrView X = held_rows.all();
            std::vector<NodeId> leaves;
            {
              const LongWork work;
              leaves = find_leaves(tree, X);
            }
            return give(std::move(leaves));
          },
          nb::arg("starts").noconvert(), nb::arg("indices").noconvert(),
          nb::arg("values").noconvert())
      .def("probabilities_at", &probabilities_at, nb::arg("nodes").noconvert(),
           nb::arg("labels").noconvert())
      .def("distributions_at", &distributions_at, nb::arg("nodes").noconvert())
      .def("top_labels_at", &top_at, nb::arg("nodes").noconvert(), nb::arg("k"))
      .def_prop_ro("n_nodes", &Tree::n_nodes)
      .def_prop_ro("n_labels", &Tree::n_labels)
      .def("root", [](const Tree& t) { return give(std::vector(t.root)); })
      .def("left", [](const Tree& t) { return give(std::vector(t.left)); })
      .def("feature", [](const Tree& t) { return give(std::vector(t.feature)); })
      .def("threshold", [](const Tree& t) { return give(std::vector(t.threshold)); })
      .def("missing_left", [](const Tree& t) { return give(std::vector(t.missing_left)); })
      .def("gain", [](const Tree& t) { return give(std::vector(t.gain)); })
      .def("weight", [](const Tree& t) { return give(std::vector(t.weight)); })
      .def("factor", [](const Tree& t) { return give(std::vector(t.factor)); })
      .def("starts", [](const Tree& t) { return give(std::vector(t.starts)); })
      .def("labels", [](const Tree& t) { return give(std::vector(t.labels)); })
      .def("p", [](const Tree& t) { return give(std::vector(t.p)); })
      .def("parent", [](const Tree& t) { return give(std::vector(t.parent)); });
}

}  // namespace labeltrees::bindings
