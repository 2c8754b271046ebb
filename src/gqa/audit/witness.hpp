// What single elements of an audit are made of: enough to decide each again without this library.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gqa/audit/audit_outputs.hpp"
#include "gqa/audit/enclose/audited_element.hpp"

namespace gqa {

/// One element: its recorded bits and what was found.
struct WitnessElement {
  std::int64_t column = 0;
  std::uint64_t output = 0;  ///< recorded bits
  /// Bits of the value column: of the visible keys, in their order; of every key of the history in
  /// a row that sees none and must hold their mean. Of a cache: the bits that must be there.
  std::vector<std::uint64_t> values;
  /// The decision. Without `audited.ball` and `audited.demanded` nothing was decided: what the row
  /// reads is not finite.
  AuditedElement audited;
};

/// One key of a row: the bits of its vector.
struct WitnessKey {
  std::size_t index = 0;
  std::vector<std::uint64_t> bits;  ///< [dk]
};

/// One query row, with the facts from which follows what it sees; a row of a cache has only its
/// place and elements.
struct WitnessRow {
  std::int64_t batch = 0;
  std::int64_t head = 0;               ///< query head; of a cache the KV head
  std::int64_t row = 0;                ///< query row; of a cache the key
  std::int64_t kv_head = 0;            ///< what the head map gives
  std::optional<std::int64_t> length;  ///< nonpad_kv_seqlen of the batch entry
  std::vector<std::size_t> visible;    ///< ascending
  std::vector<std::uint64_t> query;    ///< [dk]
  std::vector<WitnessKey> keys;        ///< visible ones; of modes 0 to 2 those of the elements
  std::optional<std::uint64_t> sink;   ///< of the query head
  std::optional<std::uint64_t> slope;  ///< of the query head
  /// Bits of attn_mask for each key that causal, window and length allow; nullopt where a short
  /// last axis has ended. Without a mask, empty.
  std::vector<std::optional<std::uint64_t>> mask;
  std::vector<WitnessElement> elements;
};

/// Elements of one output tensor.
struct OutputWitness {
  std::string name;  ///< as OutputAudit
  Verdict verdict = Verdict::undecided;
  int mode = 0;              ///< of qk_matmul_output
  std::string element_type;  ///< empty: an output without witnesses (gradients)
  Tolerance tolerance;
  bool narrow = false;  ///< holds_narrower_numbers, under a model
  std::vector<WitnessRow> rows;
};

/// All of one case.
struct CaseWitness {
  std::optional<std::int64_t> document;  ///< of a packed recording
  /// Element types of the operands that are there, by name.
  std::vector<std::pair<std::string, std::string>> element_types;
  std::vector<OutputWitness> outputs;
};

/// Elements of every output: of each the worst that its audit kept, and where it does not fail some
/// seeded ones of the audited rows beside them. Gradients have none. At most about `largest`
/// numbers of operands for each output, at least one row.
///
/// Every element is decided again by enclosures at 256 bits. `problem` is what make_problem made of
/// `tensors`, `outputs` what its audit found; `sample`: the rows that were audited.
CaseWitness collect_witnesses(const AttentionProblem& problem, const ProblemTensors& tensors,
                              const std::vector<OutputAudit>& outputs,
                              const std::optional<RowSample>& sample,
                              std::int64_t largest = std::int64_t{1} << 22);

}  // namespace gqa
