// One claim about grouped-query attention, and the argument that settles it.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "gqa/attention/attention_problem.hpp"

namespace gqa {

enum class ClaimVerdict {
  open,     ///< not settled: something that the argument needs did not hold, or is not at hand
  checked,  ///< holds on all the instances that the scope names
  proved,   ///< holds in its whole scope
  refuted   ///< an exact counterexample was found
};

std::string_view name(ClaimVerdict verdict);

/// Recorded layers of a trained model, for the claims about one.
struct TrainedModel {
  std::vector<AttentionProblem> layers;
  std::vector<Tensor<double>> output_projections;  ///< Wo of each layer
};

/// An argument as it is carried out: what is said, what must hold, what a reader may re-verify.
class Argument {
 public:
  template <class... Args>
  void say(fmt::format_string<Args...> text, Args&&... args) {
    lines_.push_back(fmt::format(text, std::forward<Args>(args)...));
  }
  /// A step of the argument; one that does not hold leaves the claim open.
  template <class... Args>
  void require(bool holds, fmt::format_string<Args...> text, Args&&... args) {
    step(holds, fmt::format(text, std::forward<Args>(args)...));
  }
  /// A certificate that `gqaverify check` re-verifies ("gqaverify.certificate/1").
  void attach(nlohmann::ordered_json certificate) {
    certificates_.push_back(std::move(certificate));
  }

  /// The step that the independent checker verifies every certificate attached so far.
  void require_certificates();

  const std::vector<std::string>& lines() const { return lines_; }
  const std::vector<nlohmann::ordered_json>& certificates() const { return certificates_; }
  const std::vector<std::string>& failures() const { return failures_; }
  /// Every step held, and there was one.
  bool holds() const { return steps_ > 0 && failures_.empty(); }

 private:
  void step(bool holds, std::string text);

  std::vector<std::string> lines_;
  std::vector<nlohmann::ordered_json> certificates_;
  std::vector<std::string> failures_;
  int steps_ = 0;
};

/// A claim and the code that settles it. `argue` returns the verdict that its steps support,
/// if they hold. `model` may be null.
struct Claim {
  const char* id;
  const char* title;
  const char* statement;
  const char* scope;
  const char* certificate;  ///< what settles it, in a line
  ClaimVerdict (*argue)(Argument& argument, const TrainedModel* model);
  bool needs_trained_model = false;  ///< without one it stays open
};

struct ClaimReport {
  const Claim* claim = nullptr;
  ClaimVerdict verdict = ClaimVerdict::open;
  Argument argument;
};

/// Carries out the argument. An argument with a step that does not hold, or without any, is open.
ClaimReport adjudicate(const Claim& claim, const TrainedModel* model = nullptr);

}  // namespace gqa
