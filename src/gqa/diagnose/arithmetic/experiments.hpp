// Attention as a black box on matrices: many experiments in one call of a live kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gqa/diagnose/arithmetic/narrow_format.hpp"
#include "gqa/diagnose/probes/probe_run.hpp"
#include "gqa/kernel/kernel_run.hpp"

namespace gqa {

/// A dense matrix of binary64 numbers, row-major, zeros at first.
struct ProbeMatrix {
  ProbeMatrix() = default;
  ProbeMatrix(std::int64_t row_count, std::int64_t column_count)
      : rows(row_count),
        columns(column_count),
        data(static_cast<std::size_t>(row_count * column_count)) {}
  double& operator()(std::int64_t row, std::int64_t column) {
    return data[static_cast<std::size_t>(row * columns + column)];
  }
  double operator()(std::int64_t row, std::int64_t column) const {
    return data[static_cast<std::size_t>(row * columns + column)];
  }
  bool is_finite() const;

  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<double> data;
};

/// The largest sizes that the kernel takes; 0: no limit.
struct ExperimentLimits {
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t key_size = 0;
  std::int64_t value_size = 0;
  bool free_value_size = true;  ///< dv may differ from dk
  /// Query rows of every call, filled up with zeros; 0: as many as the experiment has. Kernels
  /// choose their way by it: decoding splits keys, a block of queries goes through matrix units.
  std::int64_t rows = 0;
};
ExperimentLimits experiment_limits(const KernelCapabilities& capabilities);

/// Runs o = softmax(q k^T / sqrt(dk)) v on a kernel. Each row of q and each column of v is an
/// experiment of its own; where the kernel takes few rows or columns, heads hold the others. dv is
/// that of many models, 128. Finds out first what the kernel takes: any dk or one, dv = dk, one
/// query row at a time and causal, one pair of heads or four query heads on two.
class Experiments {
 public:
  /// Kernels for self-attention take no more queries than keys.
  static constexpr std::int64_t fewest_keys = 64;

  /// `runner` must outlive this.
  Experiments(const ProbeRunner& runner, ElementType type, const ExperimentLimits& limits);

  ElementType type() const { return type_; }
  NarrowFormat format() const { return narrow_format(type_); }
  /// False: the kernel refused every small problem that was tried.
  bool is_possible() const { return form_.has_value(); }
  /// `wanted`, or the nearest that the kernel takes.
  std::int64_t key_size(std::int64_t wanted) const;
  /// The largest power of two up to `wanted` that the kernel takes.
  std::int64_t keys(std::int64_t wanted) const;
  std::int64_t calls() const { return calls_; }
  /// Subnormal outputs come back as zero: set once that was seen.
  bool flushes_outputs() const { return flushes_outputs_; }
  void set_flushes_outputs(bool flushes) { flushes_outputs_ = flushes; }
  /// A number as the output holds it: rounded to the type, flushed if it is subnormal.
  double as_output(double value) const;

  /// [T, dv] for query [T, dk], key [S, dk] and value [S, dv], whose numbers are rounded to the
  /// type first. nullopt: the kernel refused it, or did something that no kernel may do.
  std::optional<ProbeMatrix> run(const ProbeMatrix& query, const ProbeMatrix& key,
                                 const ProbeMatrix& value);
  /// A call with all queries and keys zero, so that every weight is equal, times S / unit.
  std::optional<std::vector<double>> equal_weight_sums(const ProbeMatrix& value, double unit);

 private:
  struct Form {
    std::int64_t only_key_size = 0;  // 0: any
    std::int64_t fixed_heads = 0;    // KV heads of every call; 0: as many as are needed
    std::int64_t group = 1;          // query heads per KV head
    bool equal_sizes = false;        // dv = dk
    bool single_rows = false;        // T = 1, causal
  };
  struct Chunk {
    std::int64_t row, column;
  };
  std::optional<ProbeMatrix> run_as(const Form& form, const ProbeMatrix& query,
                                    const ProbeMatrix& key, const ProbeMatrix& value);
  Probe chunk_probe(const Form& form, const ProbeMatrix& query, const ProbeMatrix& key,
                    const ProbeMatrix& value, const std::vector<Chunk>& chunks, std::int64_t rows,
                    std::int64_t columns) const;
  bool run_chunks(const Form& form, const ProbeMatrix& query, const ProbeMatrix& key,
                  const ProbeMatrix& value, const std::vector<Chunk>& chunks, std::int64_t rows,
                  std::int64_t columns, ProbeMatrix& output);
  std::optional<Form> find_form();
  bool takes(const Form& form, std::int64_t key_size);

  const ProbeRunner& runner_;
  ElementType type_;
  ExperimentLimits limits_;
  std::optional<Form> form_;
  std::int64_t calls_ = 0;
  bool flushes_outputs_ = false;
};

}  // namespace gqa
