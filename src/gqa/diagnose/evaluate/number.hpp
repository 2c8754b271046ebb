// The few operations that evaluation needs of both number types.
#pragma once

#include <cmath>

#include "gqa/num/ball.hpp"

namespace gqa::evaluation {

inline double middle(double x) {
  return x;
}
inline double middle(const Ball& x) {
  return x.midpoint_double();
}

template <class T>
T number(const Ball& x) {
  if constexpr (std::is_same_v<T, Ball>) {
    return x;
  } else {
    return x.midpoint_double();
  }
}

}  // namespace gqa::evaluation
