#include "labeltrees/conditional/search.hpp"

namespace labeltrees {

bool TopSearch::comes_later(const Candidate& a, const Candidate& b) noexcept {
  // Ties go to the older node, so that the result does not depend on the heap's history.
  return a.p_path != b.p_path ? a.p_path < b.p_path : a.node > b.node;
}

std::size_t TopSearch::run(const ConditionalTree& model, const PreparedRow& row,
                           const Reading& reading, std::span<Found> answers) {
  const LabelTree& tree = model.tree();
  std::size_t found = 0;
  if (tree.empty()) return found;
  heap_.assign(1, {1.0, 0, none});
  std::size_t n_blocks = 0;
  while (found < answers.size() && !heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), comes_later);
    const Candidate best = heap_.back();
    heap_.pop_back();
    if (tree.is_leaf(best.node)) {
      answers[found++] = {tree.label(best.node), best.p_path};
      continue;
    }
    const Place place = model.place(best.node);
    std::int32_t at = best.lines;
    if (at == none) {
      at = static_cast<std::int32_t>(n_blocks++);
      if (lines_.size() < n_blocks) lines_.emplace_back();
      find_lines(model.table(), place.block, row, lines_[n_blocks - 1]);
    }
    const double p =
        evaluate_node(model, best.node, lines_[static_cast<std::size_t>(at)], row, reading).p_node;
    const NodeId left = tree.first_child(best.node);
    for (const NodeId child : {left, left + 1}) {
      const bool same_block = model.place(child).block == place.block;
      heap_.push_back({best.p_path * (child == left ? 1.0 - p : p), child, same_block ? at : none});
      std::push_heap(heap_.begin(), heap_.end(), comes_later);
    }
  }
  return found;
}

namespace {

void label_probabilities_of(const ConditionalTree& model, const CsrView& X,
                            std::span<const LabelId> labels, const Reading& reading,
                            std::span<double> p) {
  const LabelTree& tree = model.tree();
  ExpectedRows rows(false);
  BlockLines lines;
  const auto expect = [&](std::size_t r) {
    if (r >= X.n_rows()) return;
    rows.after_next().assign(model, X.row(r), tree.leaf_of(labels[r]), reading);
  };
  expect(0);
  rows.advance();
  expect(1);
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    rows.advance();
    expect(r + 2);
    ExpectedRow& now = rows.now();
    const std::vector<NodeId>& path = now.path();
    p[r] = path.empty() ? 0 : 1;
    std::uint32_t block = 0;
    std::size_t n_blocks = 0;
    for (std::size_t i = path.size(); i-- > 1;) {
      if (model.place(path[i]).block != block) {
        block = model.place(path[i]).block;
        find_lines(model.table(), block, now.row(), now.guesses(model.table(), n_blocks++, block),
                   lines);
        rows.next().fetch_block(model.table());
      }
      const double p_node = evaluate_node(model, path[i], lines, now.row(), reading).p_node;
      p[r] *= path[i - 1] == tree.first_child(path[i]) ? 1.0 - p_node : p_node;
    }
    rows.next().fetch_rest(model.table());
  }
}

void top_labels_of(const ConditionalTree& model, const CsrView& X, std::size_t k,
                   const Reading& reading, std::span<LabelId> labels, std::span<double> p) {
  PreparedRow row;
  TopSearch search;
  std::vector<Found> answers(k);
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    row.assign(X.row(r), reading);
    const std::size_t n = search.run(model, row, reading, answers);
    for (std::size_t i = 0; i < k; ++i) {
      labels[r * k + i] = i < n ? answers[i].label : none;
      p[r * k + i] = i < n ? answers[i].p_label : 0.0;
    }
  }
}

}  // namespace

void label_probabilities(const ConditionalTree& model, const CsrView& X,
                         std::span<const LabelId> labels, const Reading& reading,
                         std::span<double> p, std::size_t n_threads) {
  share_rows(X, n_threads, [&](const CsrView& rows, std::size_t first) {
    label_probabilities_of(model, rows, labels.subspan(first), reading, p.subspan(first));
  });
}

void top_labels(const ConditionalTree& model, const CsrView& X, std::size_t k,
                const Reading& reading, std::span<LabelId> labels, std::span<double> p,
                std::size_t n_threads) {
  share_rows(X, n_threads, [&](const CsrView& rows, std::size_t first) {
    top_labels_of(model, rows, k, reading, labels.subspan(first * k), p.subspan(first * k));
  });
}

void all_probabilities(const ConditionalTree& model, const CsrView& X, std::size_t n_columns,
                       const Reading& reading, std::span<double> p) {
  const LabelTree& tree = model.tree();
  const std::size_t n_nodes = tree.n_nodes();
  PreparedRow row;
  std::vector<double> p_path(n_nodes);
  std::vector<BlockLines> lines(n_nodes);  // of each block, kept at the node that opens it
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    row.assign(X.row(r), reading);
    const std::span<double> out = p.subspan(r * n_columns, n_columns);
    std::fill(out.begin(), out.end(), 0.0);
    if (n_nodes != 0) p_path[0] = 1;
    for (std::size_t i = 0; i < n_nodes; ++i) {  // parents come before their children
      const auto node = static_cast<NodeId>(i);
      if (tree.is_leaf(node)) {
        const auto label = static_cast<std::size_t>(tree.label(node));
        if (label < n_columns) out[label] = p_path[i];
        continue;
      }
      const Place place = model.place(node);
      BlockLines& block = lines[place.block - 1];
      if (place.slot == 0) find_lines(model.table(), place.block, row, block);
      const double p_node = evaluate_node(model, node, block, row, reading).p_node;
      const auto left = static_cast<std::size_t>(tree.first_child(node));
      p_path[left] = p_path[i] * (1.0 - p_node);
      p_path[left + 1] = p_path[i] * p_node;
    }
  }
}

}  // namespace labeltrees
