// Which rule a wrong backward pass follows, where the gradients' own rules do not explain it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gqa/diagnose/faults/fault.hpp"
#include "gqa/diagnose/tensors/backward.hpp"

namespace gqa {

/// Does the expected gradient say something of the recorded one? It must differ from the declared
/// one by more than is allowed, be at most half as far from the recorded one as from the declared
/// one and from zero, and zeros must fail in most of its rows of `width` elements.
bool says_something(const BackwardElements& expected, const BackwardElements& declared,
                    std::int64_t width);

/// One recorded, unpacked backward pass whose failing gradients are to be named.
class BackwardSearch {
 public:
  /// Errors: those of BackwardPass.
  BackwardSearch(const ProblemTensors& tensors, const Contract& contract,
                 const Tolerance& tolerance);

  /// Are there more products to be formed than a diagnosis may cost?
  bool is_too_large() const;

  /// Faults each of which explains every element of the gradient: NaN in rows without a key; KV
  /// heads exchanged; parts added up over tiled groups; the declared gradient times a number (the
  /// scale once more); delta left out; the contract's rules in the backward pass alone, and in all
  /// of it; other row sums delta. The first of these that there are. `failing`: all gradients that
  /// fail.
  std::vector<Fault> explain(GradientKind kind, const std::vector<GradientKind>& failing) const;

  /// Is the recorded gradient, in the mean square, less than half its size from the declared one?
  /// False where that cannot be asked.
  bool is_near_declared(GradientKind kind) const;

  /// Does the gradient under one of the gradients' own rules say something?
  bool says_something_under(GradientKind kind, const GradientRule& rule) const;

 private:
  using Gradients = std::array<BackwardElements, 3>;
  struct Hypothesis {
    Fault fault;
    BackwardRule rule;
  };

  BackwardRule declared_rule() const;
  Gradients under(const BackwardRule& rule) const;
  bool explains(GradientKind kind, const BackwardElements& elements) const;
  std::vector<Fault> empty_rows(GradientKind kind) const;
  std::vector<Fault> exchanged_heads(GradientKind kind) const;
  std::vector<Fault> multiple(GradientKind kind) const;
  std::vector<Fault> other_delta(GradientKind kind) const;
  std::vector<Hypothesis> hypotheses(bool of_contract) const;
  bool survives_rows(const BackwardRule& rule) const;
  std::vector<Fault> first_explaining(GradientKind kind, bool query_fails) const;
  std::int64_t width(GradientKind kind) const;

  BackwardPass pass_;
  Gradients declared_;
};

}  // namespace gqa
