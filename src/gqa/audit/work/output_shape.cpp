#include "gqa/audit/work/output_shape.hpp"

#include <fmt/format.h>

#include <utility>

#include "gqa/error.hpp"

namespace gqa {

void require_output_shape(const Shape& shape, const Shape& expected, const std::string& where) {
  if (shape.size() != expected.size()) {
    throw InputError("contract.shape_rank", where,
                     fmt::format("shape {} has {} axes; expected {}", to_text(shape), shape.size(),
                                 expected.size()));
  }
  if (shape != expected) {
    throw InputError(
        "contract.shape_mismatch", where,
        fmt::format("shape {} does not fit; expected {}", to_text(shape), to_text(expected)));
  }
  if (element_count(shape, where) == 0) {
    throw InputError("audit.nothing_to_audit", where, "has no element");
  }
}

StridedTensor one_column(const std::shared_ptr<const TypedTensor>& rows, const std::string& where) {
  auto column = std::make_shared<TypedTensor>(*rows);
  column->shape.push_back(1);
  return {std::move(column), Layout::bhsd, 0, where};
}

}  // namespace gqa
