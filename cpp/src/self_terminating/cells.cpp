#include "labeltrees/self_terminating/cells.hpp"

#include <algorithm>
#include <array>

#include "labeltrees/platform/index.hpp"

namespace labeltrees {
namespace {

// The places where a column's bins are read and its masses written.
struct Target {
  const std::uint8_t* bins;
  double* masses;
  std::uint64_t* marks;
};

// The columns' additions are independent, so the processor need not wait for one to begin the next.
template <TargetKind kind, bool marking, std::size_t width>
void fill(const std::array<Target, width>& places, const Targets& targets,
          std::span<const std::int32_t> rows, const LabelId* labels, std::size_t n_labels) {
  const std::size_t n_words = (n_labels + 63) / 64, n_rows = rows.size();
  const std::int32_t* const row_of = rows.data();
  const auto add = [&](std::size_t row, std::size_t label, double mass) {
    for (std::size_t c = 0; c < width; ++c) {
      const std::size_t bin = places[c].bins[row];
      places[c].masses[bin * n_labels + label] += mass;
      if (marking) places[c].marks[bin * n_words + label / 64] |= std::uint64_t{1} << (label % 64);
    }
  };
  for (std::size_t i = 0; i < n_rows; ++i) {
    const std::size_t row = index(row_of[i]);
    if constexpr (kind == TargetKind::whole) {
      add(row, index(labels[i]), 1.0);
    } else {
      for_targets<kind>(targets, row,
                        [&](LabelId label, double mass) { add(row, index(label), mass); });
    }
  }
}

template <bool marking, std::size_t width>
void fill_some(const std::array<Target, width>& places, const Targets& targets,
               std::span<const std::int32_t> rows, const LabelId* labels, std::size_t n_labels) {
  if (!targets.starts.empty()) {
    fill<TargetKind::spread, marking>(places, targets, rows, labels, n_labels);
  } else if (!targets.masses.empty()) {
    fill<TargetKind::weighted, marking>(places, targets, rows, labels, n_labels);
  } else {
    fill<TargetKind::whole, marking>(places, targets, rows, labels, n_labels);
  }
}

}  // namespace

void Cells::shape(std::size_t n_bins, std::size_t n_labels) {
  n_bins_ = n_bins;
  n_labels_ = n_labels;
  n_words_ = (n_labels + 63) / 64;
  if (masses_.size() < size()) masses_.resize(size(), 0.0);
  if (marks_.size() < (n_bins + 1) * n_words_) marks_.resize((n_bins + 1) * n_words_, 0);
}

void Cells::clear() {
  constexpr std::size_t few = 1024;  // sooner overwritten than looked for
  if (size() <= few) {
    std::fill_n(masses_.begin(), size(), 0.0);
  } else {
    for (const std::size_t bin : bins()) {
      std::fill_n(masses_.data() + bin * n_labels_, n_labels_, 0.0);
    }
  }
  std::fill_n(marks_.begin(), (n_bins_ + 1) * n_words_, 0);
}

void Cells::list_bins() {
  std::size_t n = 0;
  for (std::size_t bin = 0; bin <= n_bins_; ++bin) {
    std::uint64_t any = 0;
    for (std::size_t word = 0; word < n_words_; ++word) any |= marks_[bin * n_words_ + word];
    bins_[n] = static_cast<std::uint32_t>(bin);
    n += any != 0;
  }
  n_used_ = n;
}

void Cells::mark() {
  const double* mass = masses_.data();
  std::uint64_t* word = marks_.data();
  for (std::size_t bin = 0; bin <= n_bins_; ++bin) {
    for (std::size_t first = 0; first < n_labels_; first += 64) {
      const std::size_t n = std::min<std::size_t>(64, n_labels_ - first);
      std::uint64_t bits = 0;
      for (std::size_t i = 0; i < n; ++i) bits |= std::uint64_t{mass[i] > 0.0} << i;
      *word++ = bits;
      mass += n;
    }
  }
}

void fill_cells(const BinnedColumns& data, std::span<const std::size_t> columns,
                const Targets& targets, std::span<const std::int32_t> rows,
                std::span<const LabelId> labels, std::span<Cells> cells) {
  const auto place = [&](std::size_t i) {
    const std::uint8_t* const bins = data.dense_bins.data() + data.columns[columns[i]].begin;
    return Target{bins, cells[i].masses(), cells[i].marks()};
  };
  const std::size_t n_labels = cells[0].n_labels();
  std::size_t n_cells = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) n_cells += cells[i].size();
  // Marks pay where most cells stay empty.
  const bool marking = rows.size() * columns.size() < n_cells;
  if (columns.size() == columns_at_once) {
    const std::array<Target, columns_at_once> all{place(0), place(1), place(2), place(3)};
    marking ? fill_some<true>(all, targets, rows, labels.data(), n_labels)
            : fill_some<false>(all, targets, rows, labels.data(), n_labels);
  } else {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::array<Target, 1> one{place(i)};
      marking ? fill_some<true>(one, targets, rows, labels.data(), n_labels)
              : fill_some<false>(one, targets, rows, labels.data(), n_labels);
    }
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!marking) cells[i].mark();
    cells[i].list_bins();
  }
}

}  // namespace labeltrees
