#include "lockstep_kernels.hpp"

#ifdef LABELTREES_X86
namespace labeltrees::avx512 {
#include "lockstep_kernels.inc"
}  // namespace labeltrees::avx512
#endif
