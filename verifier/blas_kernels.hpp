// Makes OpenBLAS use the vector instructions that the processor has.
#pragma once

namespace gqa::program {

/// An OpenBLAS that is older than the processor does not know its model and multiplies matrices
/// with SSE instructions alone, at a third of the speed or less. If that is so, and the user has
/// not chosen kernels himself (OPENBLAS_CORETYPE), the program starts itself once more with a
/// choice: OpenBLAS reads it while it is loaded, so that there is no later moment. Results do not
/// depend on it: the certified radii hold for every order of summation.
///
/// To be called first of all; returns if there is nothing to do, or it cannot be done.
void choose_blas_kernels(int argc, char** argv);

}  // namespace gqa::program
