// A node's masses by bin and label, which split search reads for a dense column.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "labeltrees/self_terminating/binned_columns.hpp"
#include "labeltrees/self_terminating/targets.hpp"

namespace labeltrees {

// Number of columns that are filled in one pass over the rows.
inline constexpr std::size_t columns_at_once = 4;

// The cells of one column. The missing values have bin n_bins(). Empty until filled, and cleared
// after use.
class Cells {
 public:
  void shape(std::size_t n_bins, std::size_t n_labels);
  std::size_t n_bins() const noexcept { return n_bins_; }
  std::size_t size() const noexcept { return (n_bins_ + 1) * n_labels_; }
  // Those with mass, in their order.
  std::span<const std::uint32_t> bins() const noexcept { return std::span(bins_).first(n_used_); }
  bool any_missing() const noexcept { return n_used_ > 0 && bins_[n_used_ - 1] == n_bins_; }
  // Calls visit(label, mass) for the labels of a bin, in their order.
  template <typename Visit>
  void for_labels(std::size_t bin, Visit visit) const {
    const double* const masses = masses_.data() + bin * n_labels_;
    for (std::size_t word = 0; word < n_words_; ++word) {
      for (auto bits = marks_[bin * n_words_ + word]; bits; bits &= bits - 1) {
        const std::size_t label = 64 * word + static_cast<std::size_t>(std::countr_zero(bits));
        visit(static_cast<LabelId>(label), masses[label]);
      }
    }
  }
  // O(cells of the bins in use).
  void clear();

  double* masses() noexcept { return masses_.data(); }
  std::uint64_t* marks() noexcept { return marks_.data(); }
  std::size_t n_labels() const noexcept { return n_labels_; }
  std::size_t n_words() const noexcept { return n_words_; }
  // Sets the marks by the masses. O(cells).
  void mark();
  // Sets bins() by the marks.
  void list_bins();

 private:
  std::size_t n_bins_ = 0, n_labels_ = 0, n_words_ = 0;
  std::vector<double> masses_;        // bin by bin, a place for each label
  std::vector<std::uint64_t> marks_;  // bit by bit, where masses are not 0
  std::array<std::uint32_t, missing_bin + 1> bins_;
  std::size_t n_used_ = 0;  // of bins_
};

// Fills the cells of up to columns_at_once dense columns, shaped before, from a node's rows.
// `labels` are the labels of the rows, in the same order, if each row has one label of mass 1; else
// they are not read.
void fill_cells(const BinnedColumns& data, std::span<const std::size_t> columns,
                const Targets& targets, std::span<const std::int32_t> rows,
                std::span<const LabelId> labels, std::span<Cells> cells);

}  // namespace labeltrees
