#include "lockstep_kernels.hpp"

#ifdef LABELTREES_X86
namespace labeltrees::avx2 {
#include "lockstep_kernels.inc"
}  // namespace labeltrees::avx2
#endif
