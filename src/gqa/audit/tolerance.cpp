#include "gqa/audit/tolerance.hpp"

#include <fmt/format.h>

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
    return fmt::format("precision model {}{}", t.model->name,
                       t.accept_worst_case ? ", worst case accepted" : "");
  }
};

}  // namespace

std::string describe(const Tolerance& tolerance) {
  return std::visit(Describe{}, tolerance);
}

}  // namespace gqa
