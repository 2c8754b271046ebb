// Does a recorded row hold what a behaviour gives?
#pragma once

#include <chrono>
#include <memory>
#include <mutex>

#include "gqa/diagnose/explain/row_allowance.hpp"
#include "gqa/diagnose/explain/wrong_rows.hpp"
#include "gqa/num/uncertain.hpp"

namespace gqa {

/// One recorded problem under diagnosis.
struct DiagnosisCase {
  Behaviour declared;
  Tolerance tolerance;
  const FloatFormat* format = nullptr;  ///< of the output
  std::vector<RowPlace> suspects = {};  ///< rows known to be wrong; a search compares them too
  /// What an audit knows of every row; null: nobody asked. A search that has it compares few rows,
  /// as another audit confirms what it finds.
  std::shared_ptr<const WrongRows> audited = {};
  /// Columns of a row that are asked, those that are farthest off first; 0: all.
  std::size_t asked_columns = 0;
  /// When whatever is asked of the case has to end with what it has.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();

  bool is_late() const { return std::chrono::steady_clock::now() > deadline; }
};

/// A case from tensors that passed make_problem; `output` must be there.
/// Errors: those of behaviour_of.
DiagnosisCase make_diagnosis_case(const ProblemTensors& tensors, const Contract& contract,
                                  const Tolerance& tolerance);

/// A recorded row beside what a behaviour gives, in binary64.
struct RowComparison {
  EvaluatedRow<double> expected;
  std::vector<double> allowed;  ///< [dv]; empty where the behaviour leaves the row open
  bool matches = true;
  /// [dv] recorded minus expected, 0 where both are the same NaN, infinite where one is.
  std::vector<double> distance;
};
RowComparison compare_roughly(const DiagnosisCase& problem, const Behaviour& behaviour,
                              const RowPlace& place);

/// [dv] recorded minus what a behaviour gives, as RowComparison::distance.
std::vector<double> distances(const Behaviour& behaviour, const RowPlace& place);

/// In binary64, with a margin: false only if the row is certainly not explained, as far as
/// binary64 can tell, or if the case's deadline has passed.
bool matches_roughly(const DiagnosisCase& problem, const Behaviour& behaviour,
                     const RowPlace& place);

/// By enclosures and the tolerance's own bounds.
Uncertain matches(const DiagnosisCase& problem, const Behaviour& behaviour, const RowPlace& place);

/// One row of a behaviour, ready to be compared with that of others.
class ExpectedRow {
 public:
  /// Keeps references to the case and the behaviour.
  ExpectedRow(const DiagnosisCase& problem, const Behaviour& behaviour, const RowPlace& place);

  /// Does another behaviour give the same row, to within `share` of what the tolerance allows?
  bool is_same(const Behaviour& other, double share = 1) const;

  const RowPlace& place() const { return place_; }
  const EvaluatedRow<double>& row() const { return row_; }

 private:
  struct Allowed {
    std::once_flag once;
    std::vector<double> columns;
  };
  const std::vector<double>& allowed() const;

  const DiagnosisCase* problem_;
  const Behaviour* behaviour_;
  RowPlace place_;  ///< as declared
  EvaluatedRow<double> row_;
  std::shared_ptr<Allowed> allowed_ = std::make_shared<Allowed>();  ///< made when first asked
};

/// The recorded element [place, column] as the behaviour walks the output.
double recorded(const Behaviour& behaviour, const RowPlace& place, std::int64_t column);

}  // namespace gqa
