// The error that an action ends with, for tests of refusals.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "gqa/error.hpp"

namespace gqa::test {

/// The InputError that `action` throws; code "none" if it throws nothing.
/// Any other exception is let through and fails the test.
template <class Action>
InputError error_of(Action action) {
  try {
    action();
  } catch (const InputError& error) {
    return error;
  }
  return {"none", "", "no error"};
}

/// "code at where" of the InputError that `action` throws; "none" if it throws nothing.
template <class Action>
std::string refusal_of(Action action) {
  const InputError error = error_of(action);
  return error.code() == "none" ? "none" : error.code() + " at " + error.where();
}

/// Expects that `action` throws an InputError of that code and place, with `text` in its message.
template <class Action>
void check_error(Action action, const std::string& code, const std::string& where,
                 const std::string& text = "") {
  const InputError error = error_of(action);
  CAPTURE(error.what());
  CHECK(error.code() == code);
  CHECK(error.where() == where);
  CHECK(error.message().find(text) != std::string::npos);
}

}  // namespace gqa::test
