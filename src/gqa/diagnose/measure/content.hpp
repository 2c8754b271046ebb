// One content of a whole tensor: the cheapest thing to look for, and before all others.
#pragma once

#include <cstdint>
#include <optional>

#include "gqa/attention/typed_tensor.hpp"
#include "gqa/diagnose/faults/fault.hpp"

namespace gqa {

/// Reads elements as long as they may all be the same.
class ContentReader {
 public:
  /// False where the element is another one than before.
  bool add(double element);
  /// content.zero, content.nan or content.constant (0.25); nullopt for fewer than two elements.
  std::optional<Fault> fault() const;

 private:
  std::int64_t count_ = 0;
  double first_ = 0;
};

/// The same of a whole tensor. Errors: those of decode.
std::optional<Fault> content_of(const TypedTensor& tensor, const std::string& where);

}  // namespace gqa
