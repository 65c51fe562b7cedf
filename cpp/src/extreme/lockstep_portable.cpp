#include "lockstep_kernels.hpp"

namespace labeltrees::portable {
#include "lockstep_kernels.inc"
}  // namespace labeltrees::portable
