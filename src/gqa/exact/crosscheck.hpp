// The floating-point cross-check: exact problems through the real path, in floats.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gqa/attention/attention.hpp"

namespace gqa {

/// Float formats that the cross-check evaluates in.
enum class CheckFormat { binary64, long_double, decimal50 };
std::string_view name(CheckFormat format);
inline constexpr std::array check_formats{CheckFormat::binary64, CheckFormat::long_double,
                                          CheckFormat::decimal50};

/// One format's comparison with the exact outputs.
struct CrossCheck {
  CheckFormat format = CheckFormat::binary64;
  std::int64_t elements = 0;
  double max_error = 0;  ///< largest |float - exact|, rounded up
  double tolerance = 0;  ///< the derived tolerance of the element with the largest error
  double max_ratio = 0;  ///< largest error / tolerance
  /// The values are beyond the format's largest number: nothing was compared, `elements` is 0.
  bool beyond_range = false;
  /// Joins another comparison in the same format: counts add, the larger error wins; one beyond
  /// the format's range adds nothing.
  void merge(const CrossCheck& other);
  /// Every element within its own tolerance, NaN never. False until shown.
  bool within = false;
};

/// Float operands of an exact problem such that the *real* path applies to them: the
/// query is the scaled query times sqrt(dk), so that the evaluation itself computes
/// query . key, multiplies by 1/sqrt(dk) and exponentiates. Stipulated strengths become
/// logarithms read through one-hot keys (dk = S). Every operand is rounded once.
template <class T>
Problem<RealNumbers<T>> real_path_problem(const Problem<GmpNumbers>& exact);

/// The derived tolerance of every output element for float type T (see the .cpp), in the
/// shape [B, Hq, T, dv].
template <class T>
Tensor<Rational> derived_tolerance(const Problem<GmpNumbers>& exact,
                                   const AttentionResult<GmpNumbers>& result);

/// Compares float outputs with exact ones, element by element, exactly. Empty rows must
/// be zero.
template <class T>
CrossCheck compare_with_exact(const Tensor<T>& output, const Tensor<Rational>& exact,
                              const Tensor<Rational>& tolerance);

/// Evaluates in the named format and compares.
CrossCheck crosscheck(const Problem<GmpNumbers>& exact, const AttentionResult<GmpNumbers>& result,
                      CheckFormat format);

}  // namespace gqa
