// The error that an action ends with, for tests of refusals.
#pragma once

#include <string>

#include "gqa/error.hpp"

namespace gqa::test {

/// "code at where" of the InputError that `action` throws; "none" if it throws nothing.
/// Any other exception is let through and fails the test.
template <class Action>
std::string refusal_of(Action action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.code() + " at " + error.where();
  }
  return "none";
}

}  // namespace gqa::test
