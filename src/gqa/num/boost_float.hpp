// The 50-digit float of the cross-check.
#pragma once

#include <boost/multiprecision/cpp_bin_float.hpp>

namespace gqa {

/// 50 decimal digits (168 bits), round to nearest; expression templates off, so
/// that `auto` and templates see plain values.
using Float50 = boost::multiprecision::number<boost::multiprecision::cpp_bin_float<50>,
                                              boost::multiprecision::et_off>;

}  // namespace gqa
