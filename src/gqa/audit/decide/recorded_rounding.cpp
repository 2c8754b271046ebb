#include "gqa/audit/decide/recorded_rounding.hpp"

#include <cmath>
#include <vector>

#include "gqa/num/arithmetic.hpp"

namespace gqa {
namespace {

bool has_precision(double value, int significant_bits) {
  if (value == 0 || !std::isfinite(value)) return true;
  int exponent = 0;
  const double scaled = std::ldexp(std::frexp(value, &exponent), significant_bits);
  return scaled == std::trunc(scaled);
}

}  // namespace

bool has_precision(const StridedTensor& tensor, int significant_bits) {
  const Shape& shape = tensor.shape();
  std::vector<double> row(extent(shape[3]));
  for (std::int64_t b = 0; b < shape[0]; ++b) {
    for (std::int64_t h = 0; h < shape[1]; ++h) {
      for (std::int64_t i = 0; i < shape[2]; ++i) {
        tensor.read_rows(b, h, i, i + 1, row.data(), row.size());
        for (const double value : row) {
          if (!has_precision(value, significant_bits)) return false;
        }
      }
    }
  }
  return true;
}

bool holds_narrower_numbers(const PrecisionModel& model, const StridedTensor& recorded) {
  // A unit roundoff of 2^-p belongs to p significant bits.
  return recorded.format().unit_roundoff() < model.output &&
         has_precision(recorded, -std::ilogb(model.output));
}

FormatRounding recorded_rounding(const PrecisionModel& model, const StridedTensor& recorded) {
  return model.output_rounding(recorded.format(), holds_narrower_numbers(model, recorded));
}

FormatRounding recorded_rounding(const Tolerance& tolerance, const StridedTensor& recorded) {
  const auto* model = std::get_if<ModelTolerance>(&tolerance);
  return model == nullptr ? FormatRounding{} : recorded_rounding(*model->model, recorded);
}

}  // namespace gqa
