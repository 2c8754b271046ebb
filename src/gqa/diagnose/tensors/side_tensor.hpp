// Outputs beside `output`: lse, qk_matmul_output and the updated caches, under a behaviour.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gqa/diagnose/explain/explanation_search.hpp"

namespace gqa {

/// A recorded element beside what a behaviour gives, and how far apart they may be (roughly).
struct ComparedElement {
  double recorded = 0;
  double expected = 0;
  double allowed = 0;

  bool matches() const;
};

/// One of these outputs of a recording that is not packed.
class SideTensor {
 public:
  /// nullopt: the recording does not hold it, or it is none of those named above.
  static std::optional<SideTensor> of(const std::string& name, const ProblemTensors& tensors);

  /// Some elements, spread over all, as `behaviour` has them. Of qk_matmul_output under
  /// `qk_mode`, which may be another one than that declared. Stops at the first element that does
  /// not match if `all` is false.
  std::vector<ComparedElement> compared(const DiagnosisCase& problem, const Behaviour& behaviour,
                                        int qk_mode, bool all = true) const;

  /// What is known of it where it fails: what it holds everywhere; the same faults as those of
  /// `output`; one fault of its own; the neighbouring mode of qk_matmul_output; a multiple of what
  /// it should be. Empty: nothing of that.
  std::vector<Explanation> explain(const DiagnosisCase& problem,
                                   const std::vector<Explanation>& of_output) const;

 private:
  std::vector<ComparedElement> compared_lse(const DiagnosisCase& problem,
                                            const Behaviour& behaviour, bool all) const;
  std::vector<ComparedElement> compared_scores(const DiagnosisCase& problem,
                                               const Behaviour& behaviour, int mode,
                                               bool all) const;
  std::vector<ComparedElement> compared_cache(const Behaviour& behaviour, bool all) const;
  bool explains(const DiagnosisCase& problem, const std::vector<Fault>& faults,
                const std::vector<ComparedElement>& declared) const;
  std::optional<Explanation> multiple(const DiagnosisCase& problem,
                                      const std::vector<ComparedElement>& declared) const;
  std::vector<Explanation> other_mode(const DiagnosisCase& problem,
                                      const std::vector<Explanation>& of_output) const;
  Explanation explanation(const DiagnosisCase& problem, std::vector<Fault> faults) const;

  std::string name_;
  std::shared_ptr<const TypedTensor> tensor_;
  std::vector<double> values_;
  int qk_mode_ = 0;
};

}  // namespace gqa
