// What the templates of the library ask of a number type.
#pragma once

#include <concepts>

#include "gqa/num/uncertain.hpp"

namespace gqa {

/// Field operations and a decidable order: Rational, BoostRational, double, ...
/// (convertible_to, not same_as: GMP and Boost return expression templates.)
template <class T>
concept OrderedField = std::copyable<T> && requires(T a, const T b) {
  T(0);
  { b + b } -> std::convertible_to<T>;
  { b - b } -> std::convertible_to<T>;
  { b* b } -> std::convertible_to<T>;
  { b / b } -> std::convertible_to<T>;
  { b < b } -> std::convertible_to<bool>;
  { b == b } -> std::convertible_to<bool>;
  a += b;
};

/// Field operations whose comparisons may be open: Ball.
template <class T>
concept Enclosure = std::copyable<T> && requires(T a, const T b) {
  T(0);
  { b + b } -> std::convertible_to<T>;
  { b* b } -> std::convertible_to<T>;
  { less(b, b) } -> std::same_as<Uncertain>;
};

}  // namespace gqa
