// Faults: named edits of what an implementation does with a problem.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gqa/diagnose/evaluate/behaviour.hpp"

namespace gqa {

/// What an edit did to a behaviour.
enum class Edit {
  not_applicable,  ///< the problem has nothing that this fault could get wrong
  same,            ///< the fault leaves this problem as it is: nothing can tell it apart
  saturated,       ///< changed, but nothing here shows where the edit ends
  changed,
};

/// One kind of fault.
struct FaultKind {
  std::string_view slug;      ///< "head_map.tiled"
  std::string_view sentence;  ///< one sentence: "the KV heads are tiled instead of ..."
  std::string_view formula;   ///< the wrong formula
  /// Edits a behaviour. `parameter` is one of `parameters`.
  Edit (*apply)(Behaviour& behaviour, std::int64_t parameter);
  /// What the edit leaves open (a block size), or nothing.
  std::span<const std::int64_t> parameters = {};
  std::string_view parameter_name = {};  ///< "block of {} keys"
  /// What a report adds in parentheses where the kind is read off the data; empty: nothing.
  std::string_view measurement = {};
};

/// A kind with its parameter.
struct Fault {
  const FaultKind* kind = nullptr;
  std::int64_t parameter = 0;
  /// What was measured from the data, where `kind` is one of measured_kinds: the edit, and
  /// what it says ("0,0,1,0").
  std::function<Edit(Behaviour&)> measured = {};
  std::string measurement = {};
  std::string sentence = {};  ///< what was found, in words; empty: the kind's sentence

  Edit apply(Behaviour& behaviour) const {
    return measured ? measured(behaviour) : kind->apply(behaviour, parameter);
  }
  /// "merge.lse_base (shards of 4 keys)", "head_map.other (0,0,1,0)".
  std::string describe() const;
};

/// Kinds for what no list holds: a head map, a scale, a range of visible keys read off the data.
extern const FaultKind measured_head_map;
extern const FaultKind measured_scale;
extern const FaultKind measured_output_factor;
extern const FaultKind measured_range;
/// The same where one end of the range is right.
extern const FaultKind moved_diagonal;
extern const FaultKind moved_window_left;
extern const FaultKind moved_window_right;

/// What is wrong in one region alone, read off the rows that are wrong there.
extern const FaultKind keys_skipped;              ///< some keys are never read
extern const FaultKind keys_counted_twice;        ///< some keys are read twice
extern const FaultKind keys_weighted;             ///< some keys have another weight
extern const FaultKind keys_reordered;            ///< pages of keys in another order
extern const FaultKind keys_unrecorded;           ///< a slot holds something else
extern const FaultKind values_stale;              ///< some keys have the values of others
extern const FaultKind rows_not_written;          ///< zero, NaN or one number
extern const FaultKind rows_copied;               ///< what belongs to another place
extern const FaultKind columns_copied;            ///< what belongs into other columns
extern const FaultKind accumulator_not_rescaled;  ///< in an online softmax

/// What a whole tensor may hold instead; no edit of a behaviour. Sentences begin with its name.
extern const FaultKind content_zero;
extern const FaultKind content_nan;
extern const FaultKind content_constant;
extern const FaultKind content_factor;  ///< of tensors other than `output`

/// qk_matmul_output recorded as its neighbouring mode: ONNX 1.18 meant 1 and 2 the other way
/// round. Not an edit of a behaviour either.
extern const FaultKind modes_swapped;

/// What gradients may be instead of the right ones; none is an edit of a behaviour.
extern const FaultKind gradient_not_summed;       ///< one query head's part of a shared head's
extern const FaultKind gradient_averaged;         ///< the mean over the group for the sum
extern const FaultKind gradient_scale_missing;    ///< without the scale of the scores
extern const FaultKind gradient_negated;          ///< the other sign
extern const FaultKind gradient_scale_twice;      ///< the scale of the scores once more
extern const FaultKind gradient_tiled_groups;     ///< parts are added up over other groups
extern const FaultKind gradient_heads_exchanged;  ///< those of other KV heads
extern const FaultKind gradient_delta_missing;    ///< dS = P dP instead of P (dP - delta)
extern const FaultKind gradient_lse_missing;      ///< grad_lse is dropped
extern const FaultKind gradient_lse_negated;      ///< grad_lse with the other sign
extern const FaultKind gradient_delta_other;      ///< with other row sums delta
extern const FaultKind gradient_empty_row_nan;    ///< NaN in rows without a key

/// Those of measured numbers, of contents, of modes and of gradients: every kind declared above.
/// They are no edits to search for, but a report names them all the same.
std::span<const FaultKind* const> measured_kinds();
/// Every kind whose slug a report can print: fault_kinds() and measured_kinds(), a family in one
/// stretch.
std::span<const FaultKind* const> named_kinds();
/// The kind of that slug among them, or nullptr.
const FaultKind* find_named(std::string_view slug);

/// The part of a slug before the dot.
std::string_view family(const FaultKind& kind);

/// Is it a content, or one of the kinds that only a region has: nothing of the catalogue?
bool is_read_off_data(const FaultKind& kind);

/// A running sum in a format of few bits: a precision, not a rule.
bool is_narrow_sum(const FaultKind& kind);

/// All kinds, in the order in which edits compose: layouts before lengths before heads before
/// visibility before scores before the softmax.
std::span<const FaultKind* const> fault_kinds();
/// The kind of that slug among them, or nullptr.
const FaultKind* find_fault(std::string_view slug);
/// Every kind with every parameter, in the same order.
std::vector<Fault> all_faults();

// One table per family, in faults/.
std::span<const FaultKind> layout_faults();
std::span<const FaultKind> length_faults();
std::span<const FaultKind> head_map_faults();
std::span<const FaultKind> causal_faults();
std::span<const FaultKind> window_faults();
std::span<const FaultKind> mask_faults();
std::span<const FaultKind> scale_faults();
std::span<const FaultKind> softcap_faults();
std::span<const FaultKind> bias_faults();
std::span<const FaultKind> softmax_faults();
std::span<const FaultKind> merge_faults();
std::span<const FaultKind> sink_faults();

}  // namespace gqa
