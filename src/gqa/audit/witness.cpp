#include "gqa/audit/witness.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "gqa/attention/problem_tensor_names.hpp"
#include "gqa/audit/decide/recorded_rounding.hpp"
#include "gqa/audit/enclose/row_auditor.hpp"
#include "gqa/audit/outputs/score_auditor.hpp"
#include "gqa/audit/work/output_shape.hpp"
#include "gqa/num/split_mix.hpp"

namespace gqa {
namespace {

using Index = std::array<std::int64_t, 4>;
using TensorPointer = std::shared_ptr<const TypedTensor>;

constexpr long witness_precision = 256;
constexpr std::int64_t seeded_elements = 8;

// Both lie in memory as [B, H, ...] whatever the layout of the operands; lse has one column.
std::optional<StridedTensor> recorded_scores(const ProblemTensors& tensors,
                                             const std::string& name) {
  if (name == "qk_matmul_output") {
    return StridedTensor(tensors.qk_matmul_output, Layout::bhsd, 0, name);
  }
  if (name != "lse") return std::nullopt;
  return one_column(tensors.lse, name);
}

std::optional<StridedTensor> recorded_output(const AttentionProblem& problem,
                                             const ProblemTensors& tensors,
                                             const std::string& name) {
  if (name == "output") return problem.output;
  if (name == "present_key") return StridedTensor(tensors.present_key, Layout::bhsd, 0, name);
  if (name == "present_value") return StridedTensor(tensors.present_value, Layout::bhsd, 0, name);
  return recorded_scores(tensors, name);
}

bool is_cache(const std::string& name) {
  return name == "present_key" || name == "present_value";
}

// Of the rows that were audited.
void add_seeded(const Shape& shape, const std::optional<RowSample>& sample,
                std::set<Index>& chosen) {
  const std::int64_t rows = shape[0] * shape[1] * shape[2];
  if (rows * shape[3] == 0) return;
  std::vector<std::int64_t> audited;
  if (sample) audited = sampled_numbers(*sample, rows);
  const auto count = sample ? static_cast<std::int64_t>(audited.size()) : rows;
  SplitMix64 random(0);
  for (const std::int64_t n : sampled_numbers({seeded_elements, 0}, count)) {
    const std::int64_t row = sample ? audited[static_cast<std::size_t>(n)] : n;
    const auto column =
        static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(shape[3])));
    chosen.insert({row / shape[2] / shape[1], row / shape[2] % shape[1], row % shape[2], column});
  }
}

std::set<Index> chosen_elements(const OutputAudit& output, const Shape& shape,
                                const std::optional<RowSample>& sample) {
  std::set<Index> chosen;
  for (const WorstElement& worst : output.result.tally.worst) chosen.insert(worst.index);
  if (output.result.verdict != Verdict::fail) {
    add_seeded(shape, is_cache(output.name) ? std::nullopt : sample, chosen);
  }
  return chosen;
}

// Fills the rows of one output.
class Collector {
 public:
  Collector(const AttentionProblem& problem, const ProblemTensors& tensors,
            const OutputAudit& output, const StridedTensor& recorded)
      : problem_(problem), tensors_(tensors), output_(output), recorded_(recorded) {
    options_.tolerance = output.tolerance;
    options_.recorded = recorded_rounding(output.tolerance, recorded);
    options_.first_precision = witness_precision;
    options_.observe = [this](const AuditedElement& element) {
      decided_[element.index[3]] = element;
    };
  }
  Collector(const Collector&) = delete;  // options_ refers to it
  Collector& operator=(const Collector&) = delete;

  WitnessRow row(const Index& place, const std::vector<std::int64_t>& columns);
  WitnessRow cache_row(const Index& place, const std::vector<std::int64_t>& columns) const;

 private:
  bool shows_scores() const {
    return output_.name == "qk_matmul_output" && tensors_.qk_matmul_output_mode < 3;
  }
  void decide(const WitnessRow& row, const std::vector<std::int64_t>& columns);
  void state_facts(WitnessRow& row) const;
  void state_mask(WitnessRow& row) const;
  void state_operands(WitnessRow& row, const std::vector<std::int64_t>& columns) const;
  std::vector<std::uint64_t> value_column(const WitnessRow& row, std::int64_t column) const;

  const AttentionProblem& problem_;
  const ProblemTensors& tensors_;
  const OutputAudit& output_;
  const StridedTensor& recorded_;
  AuditOptions options_;
  std::map<std::int64_t, AuditedElement> decided_;  // of the row at hand, by column
};

// The audit's own auditors, at more bits.
void Collector::decide(const WitnessRow& row, const std::vector<std::int64_t>& columns) {
  decided_.clear();
  const Shape& shape = recorded_.shape();
  AuditTally unused(shape[0], shape[1], shape[2], shape[3]);
  if (output_.name == "output") {
    RowAuditor(problem_, options_, row.batch, row.kv_head)
        .audit_columns(row.head, row.row, columns, unused);
    return;
  }
  const ScoreAuditor auditor(problem_, options_, row.batch, row.kv_head, recorded_);
  if (output_.name == "lse") return auditor.audit_lse(row.head, row.row, unused);
  constexpr std::array stages{ScoreStage::scaled, ScoreStage::softcapped, ScoreStage::biased};
  if (!shows_scores()) return auditor.audit_weights(row.head, row.row, unused);
  auditor.audit_scores(row.head, row.row,
                       stages.at(static_cast<std::size_t>(tensors_.qk_matmul_output_mode)), unused);
}

void Collector::state_mask(WitnessRow& row) const {
  if (!tensors_.attn_mask) return;
  const KeyRange range = problem_.visibility.range(row.batch, row.row);
  for (std::int64_t key = range.begin; key < range.end; ++key) {
    const auto index =
        broadcast_index(tensors_.attn_mask->shape, row.batch, row.head, row.row, key);
    row.mask.push_back(index ? std::optional(tensors_.attn_mask->bits(*index)) : std::nullopt);
  }
}

void Collector::state_facts(WitnessRow& row) const {
  const Dimensions& d = problem_.dimensions;
  row.visible = problem_.visibility.keys_of(row.batch, row.head, row.row);
  if (tensors_.nonpad_kv_seqlen) {
    row.length =
        decode_integers(*tensors_.nonpad_kv_seqlen).data().at(static_cast<std::size_t>(row.batch));
  }
  if (tensors_.sink) row.sink = tensors_.sink->bits(static_cast<std::size_t>(row.head));
  if (tensors_.alibi_slopes) {
    const bool of_batch = tensors_.alibi_slopes->shape.size() == 2;
    row.slope = tensors_.alibi_slopes->bits(
        static_cast<std::size_t>((of_batch ? row.batch * d.q_heads : 0) + row.head));
  }
  state_mask(row);
}

void Collector::state_operands(WitnessRow& row, const std::vector<std::int64_t>& columns) const {
  const std::int64_t dk = problem_.dimensions.key_size;
  for (std::int64_t t = 0; t < dk; ++t) {
    row.query.push_back(problem_.query.bits(row.batch, row.head, row.row, t));
  }
  std::vector<std::size_t> keys = row.visible;
  if (shows_scores()) keys.assign(columns.begin(), columns.end());
  for (const std::size_t key : keys) {
    WitnessKey& stated = row.keys.emplace_back();
    stated.index = key;
    for (std::int64_t t = 0; t < dk; ++t) {
      stated.bits.push_back(
          problem_.key.bits(row.batch, row.kv_head, static_cast<std::int64_t>(key), t));
    }
  }
}

std::vector<std::uint64_t> Collector::value_column(const WitnessRow& row,
                                                   std::int64_t column) const {
  std::vector<std::uint64_t> bits;
  if (output_.name != "output") return bits;
  std::vector<std::size_t> keys = row.visible;
  if (keys.empty() && problem_.contract.empty_row == EmptyRow::mean) {
    keys.resize(static_cast<std::size_t>(problem_.dimensions.keys));
    std::iota(keys.begin(), keys.end(), std::size_t{0});
  }
  for (const std::size_t key : keys) {
    bits.push_back(
        problem_.value.bits(row.batch, row.kv_head, static_cast<std::int64_t>(key), column));
  }
  return bits;
}

WitnessRow Collector::row(const Index& place, const std::vector<std::int64_t>& columns) {
  WitnessRow row;
  row.batch = place[0];
  row.head = place[1];
  row.row = place[2];
  row.kv_head = problem_.head_map[static_cast<std::size_t>(row.head)];
  state_facts(row);
  state_operands(row, columns);
  decide(row, columns);
  for (const std::int64_t column : columns) {
    WitnessElement& element = row.elements.emplace_back();
    element.column = column;
    element.output = recorded_.bits(row.batch, row.head, row.row, column);
    element.values = value_column(row, column);
    if (const auto found = decided_.find(column); found != decided_.end()) {
      element.audited = found->second;
    }
  }
  return row;
}

WitnessRow Collector::cache_row(const Index& place,
                                const std::vector<std::int64_t>& columns) const {
  WitnessRow row;
  row.batch = place[0];
  row.head = row.kv_head = place[1];
  row.row = place[2];
  const History& history = output_.name == "present_key" ? problem_.key : problem_.value;
  for (const std::int64_t column : columns) {
    WitnessElement& element = row.elements.emplace_back();
    element.column = column;
    element.output = recorded_.bits(row.batch, row.head, row.row, column);
    element.values = {history.bits(row.batch, row.head, row.row, column)};
    const bool equal = element.output == element.values.front();
    element.audited.decision = {Uncertain::from(equal),
                                equal ? FailureStrength::none : FailureStrength::proved};
  }
  return row;
}

std::int64_t numbers_in(const WitnessRow& row) {
  const auto keys = static_cast<std::int64_t>(row.keys.size());
  std::int64_t numbers = keys * static_cast<std::int64_t>(row.query.size());
  for (const WitnessElement& element : row.elements) {
    numbers += static_cast<std::int64_t>(element.values.size());
  }
  return numbers;
}

OutputWitness collect_output(const AttentionProblem& problem, const ProblemTensors& tensors,
                             const OutputAudit& output, const std::optional<RowSample>& sample,
                             std::int64_t largest) {
  OutputWitness witness;
  witness.name = output.name;
  witness.verdict = output.result.verdict;
  witness.tolerance = output.tolerance;
  const auto recorded = recorded_output(problem, tensors, output.name);
  if (!recorded) return witness;
  if (output.name == "qk_matmul_output") witness.mode = tensors.qk_matmul_output_mode;
  witness.element_type = name(recorded->type());
  if (const auto* model = std::get_if<ModelTolerance>(&output.tolerance)) {
    witness.narrow = holds_narrower_numbers(*model->model, *recorded);
  }
  std::map<Index, std::vector<std::int64_t>> columns_of;  // by row, the column left at 0
  for (const Index& index : chosen_elements(output, recorded->shape(), sample)) {
    columns_of[{index[0], index[1], index[2], 0}].push_back(index[3]);
  }
  Collector collector(problem, tensors, output, *recorded);
  std::int64_t numbers = 0;
  for (const auto& [place, columns] : columns_of) {
    if (numbers >= largest) break;
    witness.rows.push_back(is_cache(output.name) ? collector.cache_row(place, columns)
                                                 : collector.row(place, columns));
    numbers += numbers_in(witness.rows.back());
  }
  return witness;
}

}  // namespace

CaseWitness collect_witnesses(const AttentionProblem& problem, const ProblemTensors& tensors,
                              const std::vector<OutputAudit>& outputs,
                              const std::optional<RowSample>& sample, std::int64_t largest) {
  CaseWitness witness;
  for (const NamedProblemTensor& operand : input_tensors()) {
    const TensorPointer& tensor = tensors.*operand.field;
    if (tensor) witness.element_types.emplace_back(operand.name, name(tensor->type));
  }
  for (const OutputAudit& output : outputs) {
    witness.outputs.push_back(collect_output(problem, tensors, output, sample, largest));
  }
  return witness;
}

}  // namespace gqa
