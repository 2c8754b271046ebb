#include "gqa/diagnose/tensors/backward_search.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "gqa/diagnose/evaluate/row_keys.hpp"
#include "gqa/diagnose/explain/explanation_search.hpp"
#include "gqa/diagnose/measure/common_factor.hpp"
#include "gqa/num/arithmetic.hpp"

namespace gqa {
namespace {

// Products of one backward pass: a second or so for each hypothesis that no row refutes.
constexpr double most_work = 1e9;
// The same where every hypothesis needs all of them.
constexpr double most_work_for_all = 5e7;

bool element_matches(const BackwardElements& elements, std::size_t n) {
  const double recorded = elements.recorded[n];
  const double expected = elements.expected[n];
  if (std::isnan(recorded) || std::isnan(expected)) {
    return std::isnan(recorded) && std::isnan(expected);
  }
  return recorded == expected || std::abs(recorded - expected) <= elements.allowed[n];
}

bool every_element_matches(const BackwardElements& elements) {
  for (std::size_t n = 0; n < elements.recorded.size(); ++n) {
    if (!element_matches(elements, n)) return false;
  }
  return true;
}

void append(BackwardElements& all, const BackwardElements& more) {
  all.expected.insert(all.expected.end(), more.expected.begin(), more.expected.end());
  all.recorded.insert(all.recorded.end(), more.recorded.begin(), more.recorded.end());
  all.allowed.insert(all.allowed.end(), more.allowed.begin(), more.allowed.end());
}

bool concerns_backward(const FaultKind& kind) {
  constexpr std::array families{"length", "head_map", "causal", "window", "mask",
                                "scale",  "softcap",  "bias",   "sink"};
  return std::ranges::find(families, family(kind)) != families.end();
}

std::vector<std::int64_t> tiled_heads(const Behaviour& b) {
  std::vector<std::int64_t> heads;
  for (std::int64_t h = 0; h < b.query_heads(); ++h) heads.push_back(h % b.key.head_count());
  return heads;
}

}  // namespace

bool says_something(const BackwardElements& expected, const BackwardElements& declared,
                    std::int64_t width) {
  double residual = 0, size = 0, residual_of_changed = 0, change = 0;
  std::int64_t rows = 0, rows_not_null = 0;
  bool not_null = false, is_zero = true, moved = false;
  for (std::size_t n = 0; n < expected.expected.size(); ++n) {
    const double number = expected.expected[n];
    const bool is_nan = std::isnan(number);
    moved = moved || is_nan != std::isnan(declared.expected[n]);
    if (!is_nan) {
      const double distance = square(expected.recorded[n] - number);
      const double by = std::abs(number - declared.expected[n]);
      residual += distance;
      size += square(number);
      if (by > expected.allowed[n]) {
        moved = true;
        change += square(by);
        residual_of_changed += distance;
      }
    }
    not_null = not_null || is_nan || std::abs(number) > expected.allowed[n];
    is_zero = is_zero && number == 0;
    if ((static_cast<std::int64_t>(n) + 1) % width != 0) continue;
    rows += is_zero ? 0 : 1;
    rows_not_null += not_null ? 1 : 0;
    not_null = false;
    is_zero = true;
  }
  return moved && 4 * residual_of_changed <= change && 4 * residual <= size &&
         (rows == 0 || 2 * rows_not_null > rows);
}

BackwardSearch::BackwardSearch(const ProblemTensors& tensors, const Contract& contract,
                               const Tolerance& tolerance)
    : pass_(tensors, contract, tolerance) {
  if (!is_too_large()) declared_ = under(declared_rule());
}

bool BackwardSearch::is_too_large() const {
  return pass_.work() > most_work;
}

BackwardRule BackwardSearch::declared_rule() const {
  return {pass_.declared(), true};
}

BackwardSearch::Gradients BackwardSearch::under(const BackwardRule& rule) const {
  Gradients result;
  for (std::int64_t b = 0; b < pass_.declared().batch(); ++b) {
    const Gradients own = pass_.all(rule, b);
    for (std::size_t kind = 0; kind < own.size(); ++kind) append(result[kind], own[kind]);
  }
  return result;
}

std::int64_t BackwardSearch::width(GradientKind kind) const {
  return kind == GradientKind::value ? pass_.declared().value_size() : pass_.declared().key_size();
}

bool BackwardSearch::explains(GradientKind kind, const BackwardElements& elements) const {
  return every_element_matches(elements) &&
         says_something(elements, declared_[static_cast<std::size_t>(kind)], width(kind));
}

std::vector<Fault> BackwardSearch::empty_rows(GradientKind kind) const {
  if (kind != GradientKind::query) return {};
  const Behaviour& b = pass_.declared();
  BackwardElements elements = declared_[0];
  bool any = false;
  for (std::int64_t n = 0; n < b.batch() * b.query_heads() * b.queries(); ++n) {
    const std::int64_t head = n / b.queries() % b.query_heads();
    const RowKeys keys = keys_of_row(b, n / b.queries() / b.query_heads(), head, n % b.queries());
    if (!keys.visible.empty()) continue;
    any = true;
    for (std::int64_t d = 0; d < b.key_size(); ++d) {
      elements.expected[extent(n * b.key_size() + d)] = std::nan("");
    }
  }
  if (!any || !every_element_matches(elements)) return {};
  return {Fault{&gradient_empty_row_nan, 0}};
}

std::vector<Fault> BackwardSearch::exchanged_heads(GradientKind kind) const {
  const Behaviour& b = pass_.declared();
  const std::int64_t heads = b.key.head_count();
  if (kind == GradientKind::query || heads < 2) return {};
  const BackwardElements& declared = declared_[static_cast<std::size_t>(kind)];
  const std::int64_t size = static_cast<std::int64_t>(declared.expected.size()) / b.batch() / heads;
  std::vector<std::int64_t> from;
  BackwardElements moved = declared;
  for (std::int64_t h = 0; h < heads; ++h) {
    for (std::int64_t other = 0; other < heads; ++other) {
      bool fits = true;
      for (std::int64_t n = 0; n < b.batch() * size; ++n) {
        const std::size_t at = extent((n / size * heads + h) * size + n % size);
        const std::size_t there = extent((n / size * heads + other) * size + n % size);
        moved.expected[at] = declared.expected[there];
        moved.allowed[at] = declared.allowed[there];
        if (!element_matches(moved, at)) {
          fits = false;
          break;
        }
      }
      if (!fits) continue;
      from.push_back(other);
      break;
    }
    if (static_cast<std::int64_t>(from.size()) != h + 1) return {};
  }
  if (!explains(kind, moved)) return {};
  Fault fault{&gradient_heads_exchanged, 0, {}, fmt::format("{}", fmt::join(from, ","))};
  fault.sentence = fmt::format(
      "the gradients of the KV heads have changed places: they are those of KV heads {}",
      fmt::join(from, ", "));
  return {fault};
}

std::vector<Fault> BackwardSearch::multiple(GradientKind kind) const {
  BackwardElements elements = declared_[static_cast<std::size_t>(kind)];
  FactorFit fit;
  for (std::size_t n = 0; n < elements.expected.size(); ++n) {
    fit.add(elements.expected[n], elements.recorded[n]);
  }
  const auto factor = fit.factor(0x1p-24);
  if (!factor || factor->value == 0 || factor->allows(1)) return {};
  const double scale = pass_.declared().scale.midpoint_double();
  const bool is_scale = factor->allows(scale) && kind != GradientKind::value;
  const std::vector<std::int64_t> sizes = sizes_of(pass_.declared());
  const auto names = recognised(*factor, sizes);
  const double value = is_scale ? scale : names.empty() ? factor->value : names.front().value;
  for (double& expected : elements.expected) expected *= value;
  for (double& allowed : elements.allowed) allowed *= std::abs(value);
  if (!explains(kind, elements)) return {};
  if (is_scale) return {Fault{&gradient_scale_twice, 0}};
  Fault fault{&content_factor, 0, {}, describe(*factor, sizes)};
  fault.sentence =
      fmt::format("is {} times what it should be ({})", fault.measurement, measured_as(*factor));
  return {fault};
}

std::vector<BackwardSearch::Hypothesis> BackwardSearch::hypotheses(bool of_contract) const {
  std::vector<Hypothesis> all;
  const Behaviour& declared = pass_.declared();
  if (!of_contract) {
    BackwardRule tiled = declared_rule();
    tiled.sum_head = tiled_heads(declared);
    if (tiled.sum_head != declared.key_head) all.push_back({{&gradient_tiled_groups, 0}, tiled});
    BackwardRule without = declared_rule();
    without.without_delta = true;
    all.push_back({{&gradient_delta_missing, 0}, without});
    if (pass_.has_grad_lse()) {
      BackwardRule dropped = declared_rule();
      dropped.grad_lse = 0;
      all.push_back({{&gradient_lse_missing, 0}, dropped});
      BackwardRule negated = declared_rule();
      negated.grad_lse = -1;
      all.push_back({{&gradient_lse_negated, 0}, negated});
    }
    return all;
  }
  for (const bool from_forward : {true, false}) {
    for (const Fault& fault : all_faults()) {
      Behaviour behaviour = declared;
      if (concerns_backward(*fault.kind) && fault.apply(behaviour) == Edit::changed) {
        all.push_back({fault, {std::move(behaviour), from_forward}});
      }
    }
  }
  return all;
}

// A few rows of grad_query refute nearly every rule.
bool BackwardSearch::survives_rows(const BackwardRule& rule) const {
  constexpr std::int64_t rows = 8;
  for (const RowPlace& place : places_of(pass_.declared(), rows)) {
    if (!every_element_matches(pass_.query_row(rule, place))) return false;
  }
  return true;
}

std::vector<Fault> BackwardSearch::first_explaining(GradientKind kind, bool query_fails) const {
  for (const bool of_contract : {false, true}) {
    std::vector<Fault> found;
    for (const Hypothesis& one : hypotheses(of_contract)) {
      const bool known = std::ranges::find(found, one.fault.kind, &Fault::kind) != found.end();
      // Keys and values alone may be wrong, where kernels compute them apart from the queries.
      if (known || (query_fails && of_contract && !survives_rows(one.rule))) continue;
      if (!query_fails && of_contract && pass_.work() > most_work_for_all) continue;
      if (explains(kind, under(one.rule)[static_cast<std::size_t>(kind)])) {
        found.push_back(one.fault);
      }
    }
    if (!found.empty()) return found;
  }
  return {};
}

// delta is one number for each row, and moves grad_query along one direction: what is left over is
// measured there, and then asked of grad_key.
std::vector<Fault> BackwardSearch::other_delta(GradientKind kind) const {
  if (kind == GradientKind::value || !pass_.has(GradientKind::query)) return {};
  const Behaviour& b = pass_.declared();
  BackwardRule rule = declared_rule();
  for (std::int64_t n = 0; n < b.batch() * b.query_heads() * b.queries(); ++n) {
    const RowPlace place{n / b.queries() / b.query_heads(), n / b.queries() % b.query_heads(),
                         n % b.queries()};
    const std::vector<double> moved = pass_.moved_by_delta(place);
    double product = 0, squares = 0;
    for (std::size_t d = 0; d < moved.size(); ++d) {
      const std::size_t at = extent(n * b.key_size()) + d;
      product += moved[d] * (declared_[0].expected[at] - declared_[0].recorded[at]);
      squares += square(moved[d]);
    }
    rule.delta_shift.push_back(squares > 0 ? product / squares : 0);
  }
  const Gradients under_it = under(rule);
  // With one number a row, a row of few columns would fit by itself.
  constexpr std::int64_t fewest_columns = 4;
  if (b.key_size() < fewest_columns || !explains(kind, under_it[static_cast<std::size_t>(kind)])) {
    return {};
  }
  if (kind == GradientKind::key && !every_element_matches(under_it[0])) return {};
  return {Fault{&gradient_delta_other, 0}};
}

std::vector<Fault> BackwardSearch::explain(GradientKind kind,
                                           const std::vector<GradientKind>& failing) const {
  if (is_too_large()) return {};
  const bool query_fails = std::ranges::find(failing, GradientKind::query) != failing.end();
  if (auto found = empty_rows(kind); !found.empty()) return found;
  if (auto found = exchanged_heads(kind); !found.empty()) return found;
  if (auto found = multiple(kind); !found.empty()) return found;
  if (auto found = first_explaining(kind, query_fails); !found.empty()) return found;
  return other_delta(kind);
}

bool BackwardSearch::is_near_declared(GradientKind kind) const {
  const BackwardElements& declared = declared_[static_cast<std::size_t>(kind)];
  double residual = 0, size = 0;
  for (std::size_t n = 0; n < declared.expected.size(); ++n) {
    residual += square(declared.recorded[n] - declared.expected[n]);
    size += square(declared.expected[n]);
  }
  return 4 * residual < size;
}

bool BackwardSearch::says_something_under(GradientKind kind, const GradientRule& rule) const {
  if (is_too_large()) return true;
  BackwardRule own = declared_rule();
  const Behaviour& b = pass_.declared();
  if (rule.only_member) {
    own.sum_head = b.key_head;
    for (std::size_t h = 0; h < own.sum_head.size(); ++h) {
      const auto before = std::count(
          b.key_head.begin(), b.key_head.begin() + static_cast<std::ptrdiff_t>(h), b.key_head[h]);
      if (before != *rule.only_member) own.sum_head[h] = -1;
    }
  }
  BackwardElements elements = rule.only_member ? under(own)[static_cast<std::size_t>(kind)]
                                               : declared_[static_cast<std::size_t>(kind)];
  double factor = rule.negated ? -1 : 1;
  if (rule.scale_missing) factor /= b.scale.midpoint_double();
  if (rule.averaged) factor /= static_cast<double>(b.group());
  for (double& expected : elements.expected) expected *= factor;
  for (double& allowed : elements.allowed) allowed *= std::abs(factor);
  return says_something(elements, declared_[static_cast<std::size_t>(kind)], width(kind));
}

}  // namespace gqa
