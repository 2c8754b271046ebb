// One element of an output on its way from a question to the tally.
#pragma once

#include <array>
#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "gqa/audit/decide/element_decision.hpp"
#include "gqa/audit/decide/null_outputs.hpp"
#include "gqa/audit/decide/tally.hpp"
#include "gqa/audit/work/audit_options.hpp"

namespace gqa {

/// What is known of an element's exact value at one precision.
struct Enclosed {
  Ball reference;
  std::optional<RoundingBounds> bounds;  ///< where the tolerance is a precision model's
};

/// How to learn more about an exact value.
struct ReferenceSource {
  /// At the thread's precision.
  std::function<Enclosed()> enclose;
  /// The value if it is rational, otherwise nullopt: asked only where enclosures are open.
  std::function<std::optional<Rational>()> exact;
};

/// An element and the answer on it.
struct AuditedElement {
  std::array<std::int64_t, 4> index{};
  double output = 0;
  const FloatFormat* format = nullptr;
  ElementDecision decision;
  bool exactly = false;    ///< decided without an enclosure
  bool by_filter = false;  ///< decided by a radius of the filter
  Bounds reference;        ///< certified range of the exact value, or what must be there
  Bounds allowed{0, std::numeric_limits<double>::infinity()};  ///< see WorstElement
  std::optional<Ball> ball;              ///< the exact value, where an error can be measured
  std::optional<RoundingBounds> bounds;  ///< what `decision` under a model rests on
  std::optional<double> demanded;        ///< of an element that must hold this and nothing else
  bool is_free = false;                  ///< any bits are right
};

/// Decides element.output: by `first`, which was enclosed at the first precision, then
/// exactly, then by doubling the precision up to options.largest_precision.
void settle(AuditedElement& element, const Enclosed& first, const ReferenceSource& source,
            const AuditOptions& options);

/// The same for a reference that is known to be this rational number. `bounds` are used where
/// the tolerance is a model's; for a value that no rounding touches (a weight of zero) both
/// are zero.
void settle_exactly(AuditedElement& element, const Rational& reference, const AuditOptions& options,
                    const RoundingBounds& bounds = {});

/// An element that must hold `demanded`, which may be infinite or NaN, and nothing else.
void demand(AuditedElement& element, double demanded);

/// Any bits are right.
void accept_anything(AuditedElement& element);

/// Adds the element; `place` is its index in head_violations, `nulls` its row.
void add_element(AuditTally& tally, const AuditedElement& element, std::int64_t place,
                 NullRow& nulls);

}  // namespace gqa
