#include "gqa/audit/filter/interval_decision.hpp"

#include "gqa/num/ball.hpp"

namespace gqa {
namespace {

Interval enclosing(const Rational& value) {
  const Ball ball(value);
  return {ball.lower_double(), ball.upper_double()};
}

}  // namespace

StatedTolerance::StatedTolerance(const Tolerance& tolerance) {
  if (const auto* stated = std::get_if<AbsoluteRelativeTolerance>(&tolerance)) {
    absolute_ = enclosing(stated->absolute);
    relative_ = enclosing(stated->relative);
  } else {
    ulps_ = enclosing(std::get<UlpTolerance>(tolerance).ulps);
  }
}

}  // namespace gqa
