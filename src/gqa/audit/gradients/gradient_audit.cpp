#include "gqa/audit/gradients/gradient_audit.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "gqa/audit/decide/describe_violations.hpp"
#include "gqa/audit/work/output_shape.hpp"
#include "gqa/error.hpp"

namespace gqa {

// Tallies by block and kind, made under one tolerance. Not for long: each is taken once.
struct GradientAudit::Kept {
  std::mutex mutex;
  std::map<std::pair<std::int64_t, GradientKind>, AuditTally> tallies;
};

namespace {

StridedTensor view(const AttentionProblem& problem,
                   const std::shared_ptr<const TypedTensor>& tensor, Operand like,
                   const std::string& where, const Shape& expected) {
  const bool of_queries = like == Operand::query || like == Operand::output;
  const auto& heads = of_queries ? problem.contract.q_num_heads : problem.contract.kv_num_heads;
  StridedTensor result(tensor, problem.contract.layout_of(like), heads.value_or(0), where);
  require_output_shape(result.shape(), expected, where);
  return result;
}

RecordedGradients read_gradients(const AttentionProblem& problem, const ProblemTensors& tensors) {
  RecordedGradients recorded;
  if (tensors.grad_query) {
    recorded.query =
        view(problem, tensors.grad_query, Operand::query, "grad_query", problem.query.shape());
  }
  if (tensors.grad_key) {
    recorded.key =
        view(problem, tensors.grad_key, Operand::key, "grad_key", problem.key.current().shape());
  }
  if (tensors.grad_value) {
    recorded.value = view(problem, tensors.grad_value, Operand::value, "grad_value",
                          problem.value.current().shape());
  }
  return recorded;
}

StridedTensor read_grad_output(const AttentionProblem& problem, const ProblemTensors& tensors) {
  if (!tensors.grad_output) {
    throw InputError("contract.missing_tensor", "grad_output",
                     "is needed to audit grad_query, grad_key and grad_value, and absent");
  }
  const Dimensions& d = problem.dimensions;
  return view(problem, tensors.grad_output, Operand::output, "grad_output",
              {d.batch, d.q_heads, d.queries, d.value_size});
}

std::optional<StridedTensor> read_grad_lse(const AttentionProblem& problem,
                                           const ProblemTensors& tensors) {
  if (!tensors.grad_lse) return std::nullopt;
  if (problem.contract.lse.base != LseBase::e) {
    throw InputError("contract.lse_base", "grad_lse",
                     "is the gradient of the natural logarithm; lse is declared in base 2");
  }
  const Dimensions& d = problem.dimensions;
  require_output_shape(tensors.grad_lse->shape, {d.batch, d.q_heads, d.queries}, "grad_lse");
  return one_column(tensors.grad_lse, "grad_lse");
}

void refuse_empty_rows(const AttentionProblem& problem) {
  if (problem.contract.empty_row == EmptyRow::zero) return;
  if (const auto row = find_empty_row(problem)) {
    throw InputError(
        "gradient.empty_row", "grad_output",
        fmt::format("row {} of query head {}, batch entry {}, sees no key; the empty-row policy "
                    "{} gives its output no gradient, only zero does",
                    row->row, row->head, row->batch, name(problem.contract.empty_row)));
  }
}

// What an implementation may keep its results in: the coarsest format of any.
void set_storage(GradientProblem& gradient, const RecordedGradients& recorded) {
  const auto widen = [&gradient](const std::optional<StridedTensor>& tensor) {
    if (!tensor) return;
    const FloatFormat& format = tensor->format();
    gradient.storage_roundoff = std::max(gradient.storage_roundoff, format.unit_roundoff());
    gradient.storage_underflow = std::max(gradient.storage_underflow, underflow_error(format));
  };
  widen(gradient.problem.output);
  widen(gradient.grad_output);
  for (const GradientKind kind : gradient_kinds) widen(recorded.of(kind));
}

OutputAxes axes_of(const StridedTensor& recorded, GradientKind kind) {
  const Shape& shape = recorded.shape();
  OutputAxes axes{shape[0], shape[1], shape[2], shape[3]};
  if (kind == GradientKind::query) return axes;
  axes.head = {"KV head", "KV heads"};
  axes.row = {"key", "keys"};
  return axes;
}

}  // namespace

bool has_gradients(const ProblemTensors& tensors) {
  return tensors.grad_output || tensors.grad_query || tensors.grad_key || tensors.grad_value;
}

GradientAudit::GradientAudit(const AttentionProblem& problem, const ProblemTensors& tensors,
                             const AuditOptions& options, const GradientRule& rule)
    : problem_(problem),
      gradient_{problem, read_grad_output(problem, tensors), read_grad_lse(problem, tensors), 0, 0,
                rule},
      recorded_(read_gradients(problem, tensors)),
      options_(options),
      kept_(std::make_shared<Kept>()) {
  if (kinds().empty()) {
    throw InputError("audit.nothing_to_audit", "grad_output",
                     "is there without grad_query, grad_key or grad_value");
  }
  options_.sample.reset();
  refuse_empty_rows(problem);
  set_storage(gradient_, recorded_);
}

std::vector<GradientKind> GradientAudit::kinds() const {
  std::vector<GradientKind> kinds;
  std::ranges::copy_if(gradient_kinds, std::back_inserter(kinds),
                       [this](GradientKind kind) { return recorded_.of(kind).has_value(); });
  return kinds;
}

std::string GradientAudit::describe_violations(GradientKind kind, const AuditTally& tally) const {
  return gqa::describe_violations(tally, axes_of(*recorded_.of(kind), kind));
}

AuditTally GradientAudit::empty_tally(GradientKind kind) const {
  const Shape& shape = recorded_.of(kind)->shape();
  AuditTally tally(shape[0], shape[1], shape[2], shape[3]);
  if (options_.map_errors) tally.keep_error_map();
  return tally;
}

// All kinds come out of one pass, so that those whose turn is still to come are kept.
AuditTally GradientAudit::history_tally(GradientKind kind, std::int64_t block) {
  {
    const std::lock_guard lock(kept_->mutex);
    const auto kept = kept_->tallies.extract({block, kind});
    if (!kept.empty()) return std::move(kept.mapped());
  }
  GradientTallies empty;
  for (const GradientKind other : kinds()) {
    if (other >= kind) empty[static_cast<std::size_t>(other)] = empty_tally(other);
  }
  const std::int64_t kv_heads = problem_.dimensions.kv_heads;
  GradientTallies tallies =
      audit_history(gradient_, recorded_, options_, empty, block / kv_heads, block % kv_heads);
  const std::lock_guard lock(kept_->mutex);
  for (const GradientKind other : kinds()) {
    if (other <= kind) continue;
    kept_->tallies.insert_or_assign({block, other},
                                    std::move(*tallies[static_cast<std::size_t>(other)]));
  }
  return std::move(*tallies[static_cast<std::size_t>(kind)]);
}

AuditResult GradientAudit::audit(GradientKind kind) {
  BlockJob job = start_job(std::string(name(kind)), empty_tally(kind), options_);
  job.count = problem_.dimensions.batch * problem_.dimensions.kv_heads;
  job.run = [this, kind](std::span<const std::int64_t> blocks, const FinishBlock& finish) {
    tbb::parallel_for(std::size_t{0}, blocks.size(),
                      [&](std::size_t i) { finish(blocks[i], history_tally(kind, blocks[i])); });
  };
  AuditTally tally = run_job(job, options_);
  std::string where = describe_violations(kind, tally);
  return result_of(std::move(tally), std::move(where), options_.tolerance);
}

}  // namespace gqa
