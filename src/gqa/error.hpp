// The one exception for bad input.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "gqa/printable.hpp"

namespace gqa {

/// Thrown for input that breaks a stated rule: text, files, shapes, contracts.
///
/// `code` is a stable slug such as "contract.heads_not_divisible", meant for
/// programs; `where` names the file, field or argument; `message` says what is
/// wrong and what was expected, for people. Both may hold foreign text: they are made printable
/// (printable_line), so that no name or value of a file reaches a terminal raw.
class InputError : public std::runtime_error {
 public:
  InputError(std::string code, std::string where, std::string message)
      : InputError(Printable(), std::move(code), printable_line(where), printable_line(message)) {}

  const std::string& code() const noexcept { return code_; }
  const std::string& where() const noexcept { return where_; }
  const std::string& message() const noexcept { return message_; }

  /// The same error seen from further out: `outer` is put before `where`.
  InputError within(const std::string& outer) const {
    return {code_, where_.empty() ? outer : outer + ": " + where_, message_};
  }

 private:
  struct Printable {};
  InputError(Printable /*already*/, std::string code, std::string where, std::string message)
      : std::runtime_error(where.empty() ? message : where + ": " + message),
        code_(std::move(code)),
        where_(std::move(where)),
        message_(std::move(message)) {}

  std::string code_;
  std::string where_;
  std::string message_;
};

}  // namespace gqa
