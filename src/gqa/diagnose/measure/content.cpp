#include "gqa/diagnose/measure/content.hpp"

#include <fmt/format.h>

#include <cmath>

namespace gqa {

bool ContentReader::add(double element) {
  if (count_++ == 0) first_ = element;
  return element == first_ || (std::isnan(element) && std::isnan(first_));
}

std::optional<Fault> ContentReader::fault() const {
  if (count_ < 2) return std::nullopt;
  if (first_ == 0) return Fault{&content_zero, 0};
  if (std::isnan(first_)) return Fault{&content_nan, 0};
  Fault fault{&content_constant, 0, {}, fmt::format("{}", first_)};
  fault.sentence = fmt::format("is {} everywhere", first_);
  return fault;
}

std::optional<Fault> content_of(const TypedTensor& tensor, const std::string& where) {
  ContentReader reader;
  const Tensor<double> elements = decode(tensor, where);
  for (const double element : elements.data()) {
    if (!reader.add(element)) return std::nullopt;
  }
  return reader.fault();
}

}  // namespace gqa
