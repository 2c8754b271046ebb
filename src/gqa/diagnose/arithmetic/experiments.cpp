#include "gqa/diagnose/arithmetic/experiments.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "gqa/attention/encoded_tensor.hpp"

namespace gqa {
namespace {

// Elements of one call's keys and values: memory stays small.
constexpr std::int64_t elements_per_call = std::int64_t{1} << 23;

std::int64_t chunk_size(std::int64_t size, std::int64_t limit) {
  return limit > 0 ? std::min(size, limit) : size;
}

// dv of every call. Kernels take another way for odd ones, and matrix products choose their blocks
// by it: those of ONNX Runtime sum 512 keys at once for dv = 32, 256 for 64 and 128 from 128 on.
constexpr std::int64_t head_value_size = 128;

// [1, heads, S, columns]: each head holds `columns` columns of the matrix, zeros beyond its end.
// Heads that hold the same are encoded once: there may be hundreds.
std::shared_ptr<const TypedTensor> stacked_heads(ElementType type, const ProbeMatrix& matrix,
                                                 const std::vector<std::int64_t>& first_columns,
                                                 std::int64_t columns) {
  const NarrowFormat format = narrow_format(type);
  auto stack = std::make_shared<TypedTensor>();
  stack->type = type;
  stack->shape = {1, static_cast<std::int64_t>(first_columns.size()), matrix.rows, columns};
  std::map<std::int64_t, std::shared_ptr<const TypedTensor>> heads;
  for (const std::int64_t first : first_columns) {
    std::shared_ptr<const TypedTensor>& head = heads[first];
    if (!head) {
      std::vector<double> numbers;
      for (std::int64_t row = 0; row < matrix.rows; ++row) {
        for (std::int64_t c = first; c < first + columns; ++c) {
          numbers.push_back(c < matrix.columns ? rounded(matrix(row, c), format) : 0);
        }
      }
      head = encoded_tensor(type, {1, 1, matrix.rows, columns}, numbers);
    }
    stack->bytes.insert(stack->bytes.end(), head->bytes.begin(), head->bytes.end());
  }
  return stack;
}

}  // namespace

bool ProbeMatrix::is_finite() const {
  return std::ranges::all_of(data, [](double x) { return std::isfinite(x); });
}

ExperimentLimits experiment_limits(const KernelCapabilities& capabilities) {
  return {capabilities.max_queries, capabilities.max_keys, capabilities.max_key_size,
          capabilities.max_value_size, capabilities.has(GQA_FEATURE_VALUE_SIZE)};
}

Experiments::Experiments(const ProbeRunner& runner, ElementType type,
                         const ExperimentLimits& limits)
    : runner_(runner), type_(type), limits_(limits), form_(find_form()) {}

bool Experiments::takes(const Form& form, std::int64_t key_size) {
  const std::int64_t value_size = form.equal_sizes ? key_size : head_value_size;
  if (limits_.key_size > 0 && key_size > limits_.key_size) return false;
  return run_as(form, ProbeMatrix(2, key_size), ProbeMatrix(fewest_keys, key_size),
                ProbeMatrix(fewest_keys, value_size))
      .has_value();
}

// The freest form that the kernel takes: any dk rather than one, any dv, one head.
std::optional<Experiments::Form> Experiments::find_form() {
  std::vector<Form> forms;
  for (const bool single_rows : {false, true}) {
    if (single_rows && limits_.rows > 1) continue;
    for (const std::int64_t fixed_heads : {0, 2}) {
      for (const bool equal_sizes : {false, true}) {
        if (!equal_sizes && !limits_.free_value_size) continue;
        forms.push_back({0, fixed_heads, fixed_heads > 0 ? 2 : 1, equal_sizes, single_rows});
      }
    }
  }
  // 256 and 16 are both taken only where every dk is.
  for (Form form : forms) {
    if (takes(form, 16) && (takes(form, 256) || limits_.key_size > 0)) return form;
  }
  for (const std::int64_t only : {64, 128, 256, 32}) {
    for (Form form : forms) {
      form.only_key_size = only;
      if (takes(form, only)) return form;
    }
  }
  return std::nullopt;
}

std::int64_t Experiments::key_size(std::int64_t wanted) const {
  if (form_ && form_->only_key_size > 0) return form_->only_key_size;
  if (limits_.key_size == 0 || wanted <= limits_.key_size) return wanted;
  // Powers of 16, so that the scale and its square root are powers of two.
  return limits_.key_size >= 16 ? 16 : limits_.key_size;
}

std::int64_t Experiments::keys(std::int64_t wanted) const {
  std::int64_t keys = wanted;
  while (limits_.keys > 0 && keys > limits_.keys) keys /= 2;
  return keys;
}

double Experiments::as_output(double value) const {
  const double output = rounded(value, format());
  const double normal = std::ldexp(1, float_format(type_)->minimum_exponent);
  return flushes_outputs_ && std::fabs(output) < normal ? 0 : output;
}

std::optional<ProbeMatrix> Experiments::run(const ProbeMatrix& query, const ProbeMatrix& key,
                                            const ProbeMatrix& value) {
  return form_ ? run_as(*form_, query, key, value) : std::nullopt;
}

std::optional<std::vector<double>> Experiments::equal_weight_sums(const ProbeMatrix& value,
                                                                  double unit) {
  const std::int64_t width = key_size(64);
  const auto output = run(ProbeMatrix(1, width), ProbeMatrix(value.rows, width), value);
  if (!output) return std::nullopt;
  std::vector<double> sums = output->data;
  for (double& sum : sums) sum *= static_cast<double>(value.rows) / unit;
  return sums;
}

std::optional<ProbeMatrix> Experiments::run_as(const Form& form, const ProbeMatrix& query,
                                               const ProbeMatrix& key, const ProbeMatrix& value) {
  std::int64_t rows = limits_.rows > 0 ? limits_.rows : chunk_size(query.rows, limits_.queries);
  if (form.single_rows) rows = 1;
  std::int64_t columns = chunk_size(head_value_size, limits_.value_size);
  if (form.equal_sizes) columns = query.columns;
  std::vector<Chunk> chunks;
  for (std::int64_t row = 0; row < query.rows; row += rows) {
    for (std::int64_t column = 0; column < value.columns; column += columns) {
      chunks.push_back({row, column});
    }
  }
  std::int64_t heads =
      std::max<std::int64_t>(1, elements_per_call / (key.rows * (key.columns + columns)));
  if (form.fixed_heads > 0) heads = form.fixed_heads;
  ProbeMatrix output(query.rows, value.columns);
  for (std::size_t begin = 0; begin < chunks.size(); begin += static_cast<std::size_t>(heads)) {
    const std::size_t end = std::min(chunks.size(), begin + static_cast<std::size_t>(heads));
    const std::vector<Chunk> now(chunks.begin() + static_cast<std::ptrdiff_t>(begin),
                                 chunks.begin() + static_cast<std::ptrdiff_t>(end));
    if (!run_chunks(form, query, key, value, now, rows, columns, output)) return std::nullopt;
  }
  return output;
}

// Every chunk is a KV head; its query head is the first of its group. Rows and columns beyond the
// end are zeros.
Probe Experiments::chunk_probe(const Form& form, const ProbeMatrix& query, const ProbeMatrix& key,
                               const ProbeMatrix& value, const std::vector<Chunk>& chunks,
                               std::int64_t rows, std::int64_t columns) const {
  const auto used = static_cast<std::int64_t>(chunks.size());
  const std::int64_t heads = form.fixed_heads > 0 ? form.fixed_heads : used;
  std::vector<double> queries;
  std::vector<std::int64_t> first_columns;
  for (std::int64_t head = 0; head < heads * form.group; ++head) {
    const Chunk& chunk = chunks[static_cast<std::size_t>(std::min(head / form.group, used - 1))];
    if (head % form.group == 0) first_columns.push_back(chunk.column);
    for (std::int64_t row = chunk.row; row < chunk.row + rows; ++row) {
      for (std::int64_t c = 0; c < query.columns; ++c) {
        queries.push_back(row < query.rows ? rounded(query(row, c), format()) : 0);
      }
    }
  }
  Probe probe;
  probe.name = "arithmetic";
  probe.contract.causal = form.single_rows;
  probe.contract.causal_alignment = CausalAlignment::bottom_right;
  probe.tensors.query =
      encoded_tensor(type_, {1, heads * form.group, rows, query.columns}, queries);
  const std::vector<std::int64_t> whole_keys(first_columns.size(), 0);
  probe.tensors.key = stacked_heads(type_, key, whole_keys, key.columns);
  probe.tensors.value = stacked_heads(type_, value, first_columns, columns);
  return probe;
}

bool Experiments::run_chunks(const Form& form, const ProbeMatrix& query, const ProbeMatrix& key,
                             const ProbeMatrix& value, const std::vector<Chunk>& chunks,
                             std::int64_t rows, std::int64_t columns, ProbeMatrix& output) {
  ++calls_;
  const ProbeAnswer answer = runner_(chunk_probe(form, query, key, value, chunks, rows, columns));
  if (!answer.supported || !answer.finding.empty() || !answer.output) return false;
  const Tensor<double> numbers = decode(*answer.output, "output");
  for (std::int64_t n = 0; n < static_cast<std::int64_t>(chunks.size()); ++n) {
    const Chunk& chunk = chunks[static_cast<std::size_t>(n)];
    for (std::int64_t row = 0; row < std::min(rows, query.rows - chunk.row); ++row) {
      for (std::int64_t c = 0; c < std::min(columns, value.columns - chunk.column); ++c) {
        const std::int64_t place = (n * form.group * rows + row) * columns + c;
        output(chunk.row + row, chunk.column + c) = numbers.data()[static_cast<std::size_t>(place)];
      }
    }
  }
  return true;
}

}  // namespace gqa
