#include "labeltrees/conditional/search.hpp"
#include "labeltrees/conditional/tree.hpp"
#include "online_model.hpp"

namespace labeltrees::bindings {
namespace {

// The lines of the table in order of their keys: weights, codes of the optimiser's sums, counts
// left and right have seven columns each.
struct CountedLines {
  std::vector<std::uint64_t> keys;
  std::vector<float> weights;
  std::vector<std::uint16_t> sums;
  std::vector<std::uint8_t> left, right;

  explicit CountedLines(const CountedTable& table) {
    const std::size_t n = table.size();
    keys.reserve(n);
    weights.reserve(n * block_size);
    sums.reserve(n * block_size);
    left.reserve(n * block_size);
    right.reserve(n * block_size);
    for (const CountedLine* line : table.sorted_lines()) {
      keys.push_back(line->key);
      weights.insert(weights.end(), line->weight.begin(), line->weight.end());
      sums.insert(sums.end(), line->sum_code.begin(), line->sum_code.end());
      for (const Counts counts : line->counts) {
        left.push_back(static_cast<std::uint8_t>(left_count(counts)));
        right.push_back(static_cast<std::uint8_t>(right_count(counts)));
      }
    }
  }
  auto given() && {
    return std::tuple(give(std::move(keys)), give(std::move(weights), block_size),
                      give(std::move(sums), block_size), give(std::move(left), block_size),
                      give(std::move(right), block_size));
  }
};

std::vector<float> mixtures_in(const ConditionalTree& model) {
  std::vector<float> values;
  for (const Mixture& mixture : model.mixtures()) {
    values.insert(values.end(), mixture.begin(), mixture.end());
  }
  return values;
}

// tree, masses, lines, mixtures: all of the same moment
auto snapshot(const ConditionalTree& model) {
  auto [tree, masses, lines, mixtures] = read_locked(model, [](const ConditionalTree& m) {
    return std::tuple(LabelTree(m.tree()), std::vector<double>(m.masses()), CountedLines(m.table()),
                      mixtures_in(m));
  });
  return std::tuple(std::move(tree), give(std::move(masses)), std::move(lines).given(),
                    give(std::move(mixtures), n_mixed));
}

template <typename T>
void copy_row(const Matrix<T>& from, std::size_t row, std::array<T, block_size>& to) {
  std::copy_n(from.data() + row * block_size, block_size, to.begin());
}

void restore_conditional(ConditionalTree* self, const LabelTree& tree, Vector<double> mass,
                         Vector<std::uint64_t> keys, Matrix<float> weights,
                         Matrix<std::uint16_t> sums, Matrix<std::uint8_t> left,
                         Matrix<std::uint8_t> right, Matrix<float> mixtures) {
  const std::size_t n = keys.shape(0);
  const auto fits = [&](const auto& array) {
    return array.shape(0) == n && array.shape(1) == block_size;
  };
  if (!fits(weights) || !fits(sums) || !fits(left) || !fits(right)) {
    throw TreeError("weights, sums and counts need seven values for every key");
  }
  const Released released;
  std::vector<CountedLine> lines(n);
  for (std::size_t i = 0; i < n; ++i) {
    lines[i].key = keys.data()[i];
    copy_row(weights, i, lines[i].weight);
    copy_row(sums, i, lines[i].sum_code);
    for (std::size_t slot = 0; slot < block_size; ++slot) {
      const std::size_t at = i * block_size + slot;
      if (left.data()[at] >= count_values || right.data()[at] >= count_values) {
        throw TreeError("a count is too large");
      }
      lines[i].counts[slot] = pack_counts(left.data()[at], right.data()[at]);
    }
  }
  new (self) ConditionalTree(tree, view(mass), lines, {mixtures.data(), mixtures.size()});
}

}  // namespace

void bind_conditional_tree(nb::module_& module) {
  nb::enum_<Insertion>(module, "Insertion")
      .value("objective", Insertion::objective)
      .value("random", Insertion::random);
  nb::enum_<Balance>(module, "Balance")
      .value("labels", Balance::labels)
      .value("examples", Balance::examples);
  nb::class_<ConditionalLearning>(module, "ConditionalLearning", "How a conditional tree learns.")
      .def(
          "__init__",
          [](ConditionalLearning* self, const Reading& reading, Optimizer optimizer,
             float learning_rate, Insertion insertion, Balance balance, double alpha,
             std::uint64_t seed, std::size_t n_threads, bool again) {
            new (self) ConditionalLearning{{reading, optimizer, learning_rate, again},
                                           insertion,
                                           balance,
                                           alpha,
                                           seed,
                                           n_threads};
          },
          nb::kw_only(), nb::arg("reading"), nb::arg("optimizer"), nb::arg("learning_rate"),
          nb::arg("insertion"), nb::arg("balance"), nb::arg("alpha"), nb::arg("seed"),
          nb::arg("n_threads"), nb::arg("again"));
  using Tree = ConditionalTree;
  const auto teach = [](Tree& tree, auto&&... arguments) { learn(tree, arguments...); };
  const auto named = [](const Tree& tree, auto&&... arguments) {
    label_probabilities(tree, arguments...);
  };
  const auto top = [](const Tree& tree, auto&&... arguments) { top_labels(tree, arguments...); };
  const auto all = [](const Tree& tree, auto&&... arguments) {
    all_probabilities(tree, arguments...);
  };
  nb::class_<Tree> cls(module, "ConditionalTree", "A label tree with node regressors.");
  cls.def(nb::init<>())
      .def("__init__", &restore_conditional, nb::arg("tree"), nb::arg("mass").noconvert(),
           nb::arg("keys").noconvert(), nb::arg("weights").noconvert(), nb::arg("sums").noconvert(),
           nb::arg("left").noconvert(), nb::arg("right").noconvert(),
           nb::arg("mixtures").noconvert())
      .def("learn", learner_of<Tree, ConditionalLearning>(AnyLabel{}, teach),
           nb::arg("starts").noconvert(), nb::arg("indices").noconvert(),
           nb::arg("values").noconvert(), nb::arg("labels").noconvert(),
           nb::arg("weights").noconvert(), nb::arg("order").noconvert(), nb::arg("progress"),
           nb::arg("foresee_top"), nb::arg("options"), nb::arg("foresee_label"))
      .def("label_probabilities", named_of<Tree, std::size_t>(named), nb::arg("starts").noconvert(),
           nb::arg("indices").noconvert(), nb::arg("values").noconvert(),
           nb::arg("labels").noconvert(), nb::arg("reading"), nb::arg("n_threads"))
      .def("top_labels", top_of<Tree, std::size_t>(top), nb::arg("starts").noconvert(),
           nb::arg("indices").noconvert(), nb::arg("values").noconvert(), nb::arg("k"),
           nb::arg("reading"), nb::arg("n_threads"))
      .def("all_probabilities", all_of<Tree>(all), nb::arg("starts").noconvert(),
           nb::arg("indices").noconvert(), nb::arg("values").noconvert(), nb::arg("n_columns"),
           nb::arg("reading"))
      .def("tree", &tree_of<Tree>)
      .def("tree_and_masses", &tree_and_masses<Tree>)
      .def("lines",
           [](const Tree& model) {
             return read_locked(model, [](const Tree& m) { return CountedLines(m.table()); })
                 .given();
           })
      .def("mixtures",
           [](const Tree& model) { return give(read_locked(model, &mixtures_in), n_mixed); })
      .def("snapshot", &snapshot)
      .def_prop_ro("n_labels", number_of<Tree>([](const Tree& m) { return m.tree().n_labels(); }))
      .def_prop_ro("n_nodes", number_of<Tree>([](const Tree& m) { return m.tree().n_nodes(); }));
  def_table(cls);
  module.def("depth_bound", &depth_bound, nb::arg("n_labels"), nb::arg("alpha"));
}

}  // namespace labeltrees::bindings
