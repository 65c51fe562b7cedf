#include <algorithm>
#include <bit>
#include <cmath>

#include "labeltrees/extreme/training.hpp"
#include "labeltrees/machine/attention.hpp"
#include "labeltrees/machine/index.hpp"

namespace labeltrees {
namespace {

// The features that occur, and the rank of each among them.
class FeatureRanks {
 public:
  explicit FeatureRanks(const CsrView& X) {
    std::int32_t largest = -1;
    const auto n = static_cast<std::size_t>(X.row_starts[X.n_rows()]);
    for (std::size_t k = 0; k < n; ++k) largest = std::max(largest, X.indices[k]);
    bits_.assign(index(std::max(largest, 0)) / 64 + 1, 0);
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t f = index(X.indices[k]);
      if (X.values[k] != 0) bits_[f / 64] |= std::uint64_t{1} << (f % 64);
    }
    std::int32_t rank = 0;
    for (const std::uint64_t word : bits_) {
      before_.push_back(rank);
      rank += std::popcount(word);
    }
  }

  std::int32_t rank(std::int32_t feature) const {
    const std::uint64_t below = (std::uint64_t{1} << (index(feature) % 64)) - 1;
    return before_[index(feature) / 64] + std::popcount(bits_[index(feature) / 64] & below);
  }

  std::vector<std::int32_t> names() const {
    std::vector<std::int32_t> names;
    for (std::size_t i = 0; i < bits_.size(); ++i) {
      for (std::uint64_t word = bits_[i]; word != 0; word &= word - 1) {
        names.push_back(static_cast<std::int32_t>(64 * i) + std::countr_zero(word));
      }
    }
    return names;
  }

 private:
  std::vector<std::uint64_t> bits_;
  std::vector<std::int32_t> before_;  // features below each word
};

}  // namespace

PreparedRows prepare_rows(const CsrView& X) {
  const FeatureRanks ranks(X);
  PreparedRows prepared;
  prepared.names = ranks.names();
  prepared.starts.reserve(X.n_rows() + 1);
  prepared.indices.reserve(X.indices.size());
  prepared.values.reserve(X.indices.size());
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    look_up();
    const SparseRow row = X.row(r);
    double square = 0;
    for (const float value : row.values) square += static_cast<double>(value) * value;
    const double length = std::sqrt(square);
    for (std::size_t k = 0; k < row.size(); ++k) {
      if (row.values[k] == 0.0f) continue;
      prepared.indices.push_back(ranks.rank(row.indices[k]));
      prepared.values.push_back(static_cast<float>(static_cast<double>(row.values[k]) / length));
    }
    prepared.starts.push_back(static_cast<std::int64_t>(prepared.indices.size()));
  }
  return prepared;
}

}  // namespace labeltrees
