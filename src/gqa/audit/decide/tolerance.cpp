#include "gqa/audit/decide/tolerance.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gqa {
namespace {

struct Describe {
  std::string operator()(const AbsoluteRelativeTolerance& t) const {
    return fmt::format("atol {:.6g}, rtol {:.6g}", t.absolute.get_d(), t.relative.get_d());
  }
  std::string operator()(const UlpTolerance& t) const {
    return fmt::format("{:.6g} ulp", t.ulps.get_d());
  }
  std::string operator()(const ModelTolerance& t) const {
    std::string text = fmt::format("precision model {}", t.model->name);
    if (!t.tighter().empty()) text += fmt::format(" (after {})", model_list(t.tighter()));
    return text + (t.accept_worst_case ? ", worst case accepted" : "");
  }
};

}  // namespace

std::span<const PrecisionModel* const> ModelTolerance::tighter() const {
  const auto found = std::ranges::find(tried, model);
  if (found == tried.end()) return {};
  return {tried.begin(), found};
}

std::string model_list(std::span<const PrecisionModel* const> models) {
  std::string text;
  for (const PrecisionModel* model : models) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", model->name);
  }
  return text;
}

std::string describe(const Tolerance& tolerance) {
  return std::visit(Describe{}, tolerance);
}

}  // namespace gqa
