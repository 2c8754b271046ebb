#include "audit_run.hpp"

#include <fmt/format.h>

#include <optional>

#include "gqa/audit/filter/self_check.hpp"
#include "gqa/audit/work/problem_digest.hpp"
#include "gqa/io/contract_json.hpp"
#include "gqa/io/recordings.hpp"
#include "one_case.hpp"
#include "progress.hpp"

namespace gqa::program {
namespace {

std::vector<IdentityField> identity_of(const AuditCase& entry, const ProblemTensors& tensors) {
  std::vector<IdentityField> fields{
      {"path", entry.path},
      {"contract", to_json(entry.contract)
                       .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)}};
  for (IdentityField& field : tensor_identity(tensors)) fields.push_back(std::move(field));
  return fields;
}

// Said here, where it is known what the file holds instead.
void require_output(const Recording& recording) {
  const ProblemTensors& tensors = recording.tensors;
  const bool has_gradient = tensors.grad_query || tensors.grad_key || tensors.grad_value;
  if (tensors.output || has_gradient || recording.held.empty()) return;
  throw InputError(
      "contract.missing_tensor", recording.path + ": output",
      fmt::format("is needed and absent; the file holds {}; say which it is with --tensor "
                  "output=NAME",
                  recording.held));
}

// What a terminal shows of one audit: the rows that are done, then that the fault is searched.
class WorkShown {
 public:
  explicit WorkShown(Audit& audit) : audit_(audit) {}

  void begin(const std::string& path, std::int64_t rows, double seconds) {
    path_ = path;
    rows_ = rows;
    seconds_ = seconds;
    searching_.reset();
    audit_.begin(path);
    progress_.emplace(path_, audit_.cluster.is_first() ? rows_ : 0, "rows");
  }
  // Calls do not overlap. Another output, or another precision model, begins from 0 again.
  void update(std::int64_t done) {
    {
      const std::lock_guard lock(audit_.guard);
      audit_.share = rows_ > 0 ? static_cast<double>(done) / static_cast<double>(rows_) : 0;
    }
    if (!audit_.cluster.is_first()) return;
    if (done < rows_ && !progress_) {
      searching_.reset();
      progress_.emplace(path_, rows_, "rows");
    }
    if (progress_) progress_->update(done);
    if (done >= rows_ && !searching_) {
      progress_.reset();
      searching_.emplace(fmt::format("{}: searching what it means", path_), seconds_);
    }
  }

 private:
  Audit& audit_;
  std::string path_;
  std::int64_t rows_ = 0;
  double seconds_ = 0;
  std::optional<Progress> progress_;
  std::optional<Waiting> searching_;
};

std::vector<Recording> read_with_notice(const std::filesystem::path& path, Audit& audit) {
  audit.begin(path.string());
  std::optional<Waiting> reading;
  if (audit.cluster.is_first()) reading.emplace(fmt::format("reading {}", path.string()), 0);
  return read_recordings(path, audit.flags.tensors.choice());
}

// An error of the audit as a whole, not of one recording.
bool ends_all(const InputError& error) {
  return error.code().starts_with("journal.") || error.code().starts_with("cluster.");
}

}  // namespace

void audit_recording(Recording& recording, Audit& audit) {
  const AuditFlags& flags = audit.flags;
  flags.contract.apply(recording.contract);
  require_output(recording);
  flags.operands.apply(recording.tensors, recording.contract);
  ClusterRunner runner(audit.cluster, audit.journal);
  WorkShown shown(audit);
  CaseOptions options;
  options.audit.use_filter = !flags.no_filter;
  options.audit.self_check = !flags.no_self_check;
  // Alone and without a journal nothing needs the blocks elsewhere: the audit may then stop early
  // where only a verdict is asked for.
  if (audit.cluster.size() > 1 || audit.journal != nullptr) options.audit.runner = &runner;
  if (flags.sample > 0) options.audit.sample = {flags.sample, flags.seed};
  options.tolerance = flags.tolerance.tolerance();
  options.accept_worst_case = flags.tolerance.accept_worst_case();
  options.diagnose = !flags.no_diagnosis;
  // Ranks compare their reports, and a clock stops each of them elsewhere.
  constexpr double without_end = 1e6;
  const bool is_alone = audit.cluster.size() == 1;
  options.diagnosis_seconds = is_alone ? flags.diagnosis_seconds : without_end;
  // A time that is stated counts alone.
  const bool is_stated = flags.diagnosis_seconds != CaseOptions{}.diagnosis_seconds;
  if (!is_alone || is_stated) options.diagnosis_per_audit = without_end;
  options.audit.map_errors = !flags.files.html.empty();
  options.draw = audit.is_drawn();
  options.witness = !flags.files.witness.empty() && audit.cluster.is_first();
  options.prepare = [&](const AuditCase& entry, const ProblemTensors& tensors,
                        AuditOptions& prepared) {
    if (audit.is_compared()) prepared.identity = identity_of(entry, tensors);
    const std::int64_t rows = entry.sample ? entry.sample->rows : row_count(entry.dimensions);
    shown.begin(entry.path, rows, options.diagnosis_seconds);
    prepared.progress = [&shown](std::int64_t done) { shown.update(done); };
  };
  try {
    for (AuditCase& entry :
         audit_cases(recording.path, recording.tensors, recording.contract, options)) {
      audit.add(std::move(entry));
    }
  } catch (const SelfCheckError& error) {
    // Not a case among others: what was decided before it cannot be trusted either.
    throw SelfCheckError(fmt::format("{}: {}", recording.path, error.what()));
  }
}

void for_each_recording(const std::string& path, Audit& audit,
                        const std::function<void(Recording&)>& work) {
  const auto guarded = [&audit](const std::string& place, const auto& part) {
    with_errors_of(place, part, [&](const InputError& error) {
      if (ends_all(error)) throw InputError(error);
      audit.add(failed_case(place, error));
      audit.cluster.agree(fmt::format("the refusal of {} ({})", place, error.what()), "");
    });
  };
  guarded(path, [&] {
    for (const std::filesystem::path& found : find_recordings(path)) {
      guarded(found.string(), [&] {
        for (Recording& recording : read_with_notice(found, audit)) {
          guarded(recording.path, [&] { work(recording); });
        }
      });
    }
  });
}

}  // namespace gqa::program
