// Who watches rows being learned.
#pragma once

#include <cstddef>

namespace labeltrees {

// Told after every row, or with several threads after every batch, how many rows have been learned
// so far, where the model is whole: what it throws ends learning there, and it may let others use
// the model meanwhile.
class LearningWatch {
 public:
  virtual void learned(std::size_t n_rows) = 0;

 protected:
  ~LearningWatch() = default;
};

}  // namespace labeltrees
