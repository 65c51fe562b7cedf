#include "labeltrees/lom/queries.hpp"

#include <algorithm>
#include <unordered_map>

#include "labeltrees/lom/node_distribution.hpp"
#include "labeltrees/online/regressor_bank.hpp"

namespace labeltrees {

NodeId leaf_of_row(const LomTree& model, const PreparedRow& row, std::vector<NodeId>* path) {
  NodeId at = model.root();
  std::uint32_t block = 0;
  Margins margins{};
  while (!model.is_leaf(at)) {
    const LomNode& here = model.node(at);
    if (here.place.block != block) {
      block = here.place.block;
      margins = block_margins(model.table(), block, row);
    }
    if (path != nullptr) path->push_back(at);
    at = margins[here.place.slot] < 0 ? here.left : here.right;
  }
  if (path != nullptr) path->push_back(at);
  return at;
}

void leaves_of_rows(const LomTree& model, const CsrView& X, const Reading& reading,
                    std::span<NodeId> leaves) {
  PreparedRow row;
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    row.assign(X.row(r), reading);
    leaves[r] = leaf_of_row(model, row);
  }
}

namespace {

// Rows and the leaves they end in; remembers at which row a leaf was first met.
class RowReader {
 public:
  RowReader(const LomTree& model, const CsrView& X, const Reading& reading)
      : model_(model), X_(X), reading_(reading) {}

  NodeId leaf(std::size_t r) {
    row_.assign(X_.row(r), reading_);
    return leaf_of_row(model_, row_);
  }
  // The first row that ended in the leaf; r itself if there was none.
  std::size_t first(std::size_t r, NodeId leaf) {
    return first_.try_emplace(leaf, r).first->second;
  }

 private:
  const LomTree& model_;
  const CsrView& X_;
  const Reading& reading_;
  PreparedRow row_;
  std::unordered_map<NodeId, std::size_t> first_;
};

}  // namespace

void label_probabilities(const LomTree& model, const CsrView& X, std::span<const LabelId> labels,
                         const Reading& reading, std::span<double> p) {
  RowReader reader(model, X, reading);
  NodeDistribution distribution;
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    distribution.assign(model, reader.leaf(r));
    p[r] = distribution.probability(labels[r]);
  }
}

void top_labels(const LomTree& model, const CsrView& X, std::size_t k, const Reading& reading,
                std::span<LabelId> labels, std::span<double> p) {
  RowReader reader(model, X, reading);
  NodeDistribution distribution;
  std::vector<Found> answers(k);
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    const NodeId leaf = reader.leaf(r);
    const std::size_t first = reader.first(r, leaf);
    if (first != r) {
      std::copy_n(labels.begin() + static_cast<std::ptrdiff_t>(first * k), k,
                  labels.begin() + static_cast<std::ptrdiff_t>(r * k));
      std::copy_n(p.begin() + static_cast<std::ptrdiff_t>(first * k), k,
                  p.begin() + static_cast<std::ptrdiff_t>(r * k));
      continue;
    }
    distribution.assign(model, leaf);
    const std::size_t n = distribution.top(answers);
    for (std::size_t i = 0; i < k; ++i) {
      labels[r * k + i] = i < n ? answers[i].label : none;
      p[r * k + i] = i < n ? answers[i].p_label : 0.0;
    }
  }
}

void all_probabilities(const LomTree& model, const CsrView& X, std::size_t n_columns,
                       const Reading& reading, std::span<double> p) {
  RowReader reader(model, X, reading);
  NodeDistribution distribution;
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    const std::span<double> out = p.subspan(r * n_columns, n_columns);
    const NodeId leaf = reader.leaf(r);
    const std::size_t first = reader.first(r, leaf);
    if (first != r) {
      std::copy_n(p.begin() + static_cast<std::ptrdiff_t>(first * n_columns), n_columns,
                  out.begin());
      continue;
    }
    distribution.assign(model, leaf);
    distribution.all(out);
  }
}

LomAbove labels_above(const LomTree& model, const CsrView& X, double threshold,
                      std::size_t max_entries, const Reading& reading) {
  RowReader reader(model, X, reading);
  NodeDistribution distribution;
  std::vector<Found> found;
  LomAbove above;
  above.starts.push_back(0);
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    distribution.assign(model, reader.leaf(r));
    distribution.above(threshold, max_entries - above.labels.size(), found);
    if (above.labels.size() + found.size() > max_entries) return {};
    for (const Found& one : found) {
      above.labels.push_back(one.label);
      above.p.push_back(one.p_label);
    }
    above.starts.push_back(static_cast<std::int64_t>(above.labels.size()));
  }
  return above;
}

void sample_labels(const LomTree& model, const CsrView& X, std::span<const double> uniforms,
                   const Reading& reading, std::span<LabelId> labels) {
  RowReader reader(model, X, reading);
  NodeDistribution distribution;
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    distribution.assign(model, reader.leaf(r));
    labels[r] = distribution.draw(uniforms[r]);
  }
}

LomRoute report_route(const LomTree& model, const SparseRow& row, const Reading& reading) {
  PreparedRow prepared;
  prepared.assign(row, reading);
  LomRoute route{{}, {}, prepared.features, prepared.values, {}};
  for (NodeId at = model.root();;) {
    route.nodes.push_back(at);
    if (model.is_leaf(at)) return route;
    const LomNode& here = model.node(at);
    const float margin = block_margins(model.table(), here.place.block, prepared)[here.place.slot];
    route.margins.push_back(margin);
    for (const std::uint32_t feature : prepared.features) {
      const WeightLine* line = model.table().find(WeightTable::key(here.place.block, feature));
      route.weights.push_back(line == nullptr ? 0.0f : line->weight(here.place.slot));
    }
    at = margin < 0 ? here.left : here.right;
  }
}

}  // namespace labeltrees
