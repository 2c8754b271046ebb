// The vector exp and tanh on every instruction set of this machine, against Arb.
#include "gqa/audit/filter/vector_exp.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <hwy/highway.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "gqa/audit/filter/vector_dispatch.hpp"
#include "gqa/num/ball.hpp"

namespace {

using namespace gqa;

constexpr double u = 0x1p-53;

// Calls `body` once for every instruction set that was compiled in and runs here.
template <class Body>
void on_every_target(const Body& body) {
  const auto targets = supported_vector_targets();
  for (auto rest = targets; rest != 0; rest &= rest - 1) {
    const auto target = rest & -rest;
    chosen_vector_target().Update(target);
    const std::string name = hwy::TargetName(target);
    CAPTURE(name);
    body(name);
  }
  chosen_vector_target().Update(targets);
}

// Dense points, neighbours of multiples of ln 2 / 2 (where the reduction changes), of 0 and of
// the ends of the normal and the subnormal range.
std::vector<double> points(std::size_t dense) {
  std::mt19937_64 random(11);
  std::vector<double> x;
  std::uniform_real_distribution<double> small(-1, 1), working(-45, 33), wide(-760, 700);
  for (std::size_t i = 0; i < dense; ++i) {
    x.insert(x.end(), {small(random), working(random), wide(random)});
    x.push_back(std::ldexp(small(random), -static_cast<int>(i % 1070)));
  }
  for (int k = -2200; k <= 2000; ++k) {
    double at = k * 0.34657359027997264;
    for (int step = 0; step < 4; ++step) {
      x.push_back(at);
      at = std::nextafter(at, 1000.0);
    }
  }
  for (const double hard : {0.0, -0.0, -708.3964185322641, -744.4400719213812, -745.1332191019411,
                            -746.0, -999.9999999999999, -1000.0, -1000.0000000000001, 705.999}) {
    x.insert(x.end(), {hard, std::nextafter(hard, -2000.0), std::nextafter(hard, 2000.0)});
  }
  x.resize(padded(x.size()), 0.0);
  return x;
}

}  // namespace

TEST_CASE("vector dispatch: the instruction sets are those that Highway finds itself") {
  constexpr std::int64_t compiled = HWY_TARGETS;
  CHECK((supported_vector_targets() & compiled) == (hwy::SupportedTargets() & compiled));
}

TEST_CASE("vector exp: the error is within the documented bound, half of what is assumed") {
  const std::vector<double> x = points(30000);
  const PrecisionScope precision(128);
  on_every_target([&](const std::string& name) {
    std::vector<double> y = x;
    exp_row(y.data(), y.size(), 0.0);
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Ball exact = exp(Ball(x[i]));
      const double error = abs(exact - Ball(y[i])).upper_double();
      CAPTURE(x[i]);
      CAPTURE(y[i]);
      if (x[i] > -700) worst = std::max(worst, error / exact.lower_double() / u);
      CHECK(error <= exp_relative_units / 2 * u * exact.lower_double() + 0x1p-1022);
    }
    fmt::print("exp on {}: largest relative error {:.3f} u of {} assumed\n", name, worst,
               exp_relative_units);
  });
}

TEST_CASE("vector exp: minus infinity and all that is below the range give exactly zero") {
  on_every_target([&](const std::string&) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    CHECK(exp_one(-infinity) == 0.0);
    CHECK(exp_one(-1500.0) == 0.0);
    CHECK(exp_one(-1e300) == 0.0);
    CHECK(exp_one(-std::numeric_limits<double>::max()) == 0.0);
    CHECK(exp_one(0.0) == 1.0);
  });
}

TEST_CASE("vector tanh: the error of the softcap is within half of what is assumed") {
  std::vector<double> x = points(8000);
  const PrecisionScope precision(128);
  on_every_target([&](const std::string& name) {
    std::vector<double> y = x;
    softcap_row(y.data(), y.size(), 1.0);
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Ball exact = tanh(Ball(x[i]));
      const double error = abs(exact - Ball(y[i])).upper_double();
      CAPTURE(x[i]);
      CAPTURE(y[i]);
      const double bound = abs(exact).lower_double() * u;
      CHECK(error <= tanh_relative_units / 2 * bound + 0x1p-1060);
      if (std::abs(x[i]) > 1e-300) worst = std::max(worst, error / bound);
    }
    fmt::print("tanh on {}: largest relative error {:.3f} u of {} assumed\n", name, worst,
               tanh_relative_units);
  });
}

TEST_CASE("vector rows: maximum, sum, squares and moments of a row with hidden keys") {
  on_every_target([&](const std::string&) {
    constexpr double hidden = -std::numeric_limits<double>::infinity();
    std::vector<double> x(32, hidden);
    x[3] = 1.0;
    x[17] = 2.5;
    x[31] = -4.0;
    CHECK(row_maximum(x.data(), 32) == 2.5);
    CHECK(row_maximum(x.data(), 16) == 1.0);
    std::vector<float> squares(32);
    const WeightMoments m = exp_row_with_squares(x.data(), squares.data(), 32, 2.5, 1.0);
    const double p0 = std::exp(-1.5), p1 = 1.0, p2 = std::exp(-6.5);
    CHECK(m.first[0] == doctest::Approx(p0 + p1 + p2));
    CHECK(m.first[1] == doctest::Approx(p1 * 1.5 - p2 * 5));
    CHECK(m.first[2] == doctest::Approx(p1 * 2.25 + p2 * 25));
    CHECK(m.second[2] == doctest::Approx(p1 * 2.25 + p2 * p2 * 25));
    CHECK(squares[3] == doctest::Approx(p0 * p0));
    CHECK(x[0] == 0.0);
    CHECK(squares[0] == 0.0F);
  });
}
