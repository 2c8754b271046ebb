#include "gqa/diagnose/faults/fault.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace gqa {
namespace {

std::vector<const FaultKind*> collect() {
  std::vector<const FaultKind*> kinds;
  for (const auto table : {layout_faults(), length_faults(), head_map_faults(), causal_faults(),
                           window_faults(), mask_faults(), scale_faults(), softcap_faults(),
                           bias_faults(), softmax_faults(), merge_faults(), sink_faults()}) {
    for (const FaultKind& kind : table) kinds.push_back(&kind);
  }
  return kinds;
}

// The families in the order of the catalogue, then those of measured kinds alone.
std::vector<const FaultKind*> by_family() {
  std::vector<const FaultKind*> open(fault_kinds().begin(), fault_kinds().end());
  open.insert(open.end(), measured_kinds().begin(), measured_kinds().end());
  std::vector<const FaultKind*> kinds;
  for (auto rest = open.begin(); rest != open.end();) {
    const std::string_view next = family(**rest);
    const auto end = std::stable_partition(
        rest, open.end(), [next](const FaultKind* kind) { return family(*kind) == next; });
    kinds.insert(kinds.end(), rest, end);
    rest = end;
  }
  return kinds;
}

const FaultKind* find_in(std::span<const FaultKind* const> kinds, std::string_view slug) {
  const auto found =
      std::ranges::find(kinds, slug, [](const FaultKind* kind) { return kind->slug; });
  return found == kinds.end() ? nullptr : *found;
}

// A measured kind edits nothing by itself: Fault::measured does.
Edit apply_nothing(Behaviour&, std::int64_t) {
  return Edit::not_applicable;
}

}  // namespace

const FaultKind measured_head_map{"head_map.other",
                                  "another head map than the declared one fits every head",
                                  "kv(h) as listed",
                                  apply_nothing,
                                  {},
                                  {},
                                  "the KV head of each query head"};
const FaultKind measured_scale{"scale.other",
                               "another scale than the declared one fits",
                               "s = scale' q.k",
                               apply_nothing,
                               {},
                               {},
                               "the scale, and how many times the declared one it is"};
const FaultKind measured_output_factor{"scale.output",
                                       "the output is a multiple of what it should be",
                                       "o' = c o: a value scale dropped, or applied twice",
                                       apply_nothing,
                                       {},
                                       {},
                                       "the factor, or one for each batch entry or head"};
const FaultKind measured_range{"visibility.other",
                               "another range of keys than the declared one fits",
                               "keys from p + first to p + last",
                               apply_nothing,
                               {},
                               {},
                               "the keys that the row of position p sees"};

const FaultKind moved_diagonal{"causal.diagonal",
                               "the causal diagonal is some keys off",
                               "j <= p + k instead of j <= p",
                               apply_nothing,
                               {},
                               {},
                               "the last key that the row of position p sees"};
const FaultKind moved_window_left{"window.left",
                                  "the window's left end is some keys off",
                                  "p - left' <= j instead of p - left <= j",
                                  apply_nothing,
                                  {},
                                  {},
                                  "the first key that the row of position p sees"};
const FaultKind moved_window_right{"window.right",
                                   "the window's right end is some keys off",
                                   "j <= p + right' instead of j <= p + right",
                                   apply_nothing,
                                   {},
                                   {},
                                   "the last key that the row of position p sees"};

const FaultKind keys_skipped{"keys.skipped",
                             "some keys are not read",
                             "sums over the keys without those",
                             apply_nothing,
                             {},
                             {},
                             "which keys"};
const FaultKind keys_counted_twice{"keys.counted_twice",
                                   "some keys are counted twice",
                                   "2 exp(s_j) instead of exp(s_j) for those",
                                   apply_nothing,
                                   {},
                                   {},
                                   "which keys"};
const FaultKind keys_weighted{"keys.weighted",
                              "some keys have another weight than theirs",
                              "c exp(s_j) instead of exp(s_j) for those",
                              apply_nothing,
                              {},
                              {},
                              "which keys, and c"};
const FaultKind keys_reordered{"keys.reordered",
                               "pages of keys are taken in another order",
                               "sums over the keys of pages in that order, up to the length",
                               apply_nothing,
                               {},
                               {},
                               "how many keys a page has, and which comes last"};
const FaultKind keys_unrecorded{"keys.unrecorded",
                                "a slot of the history does not hold what is recorded there",
                                "exp(q.k') v' instead of exp(q.k_j) v_j for that slot",
                                apply_nothing,
                                {},
                                {},
                                "which slot"};
const FaultKind values_stale{"values.stale",
                             "some keys take the values of others",
                             "sum of p_j v_j' instead of p_j v_j for those",
                             apply_nothing,
                             {},
                             {},
                             "which keys, and whose values"};
const FaultKind rows_not_written{"rows.not_written",
                                 "some rows hold one number instead of the output",
                                 "c instead of o",
                                 apply_nothing,
                                 {},
                                 {},
                                 "the number"};
const FaultKind rows_copied{"rows.copied",
                            "some rows hold what belongs to another place",
                            "o of another row, head or batch entry",
                            apply_nothing,
                            {},
                            {},
                            "which place"};
const FaultKind columns_copied{"columns.copied",
                               "some columns hold what belongs into others",
                               "o_c' instead of o_c",
                               apply_nothing,
                               {},
                               {},
                               "which columns"};
const FaultKind accumulator_not_rescaled{
    "accumulator.not_rescaled",
    "the accumulator is not rescaled when the maximum grows, while the denominator is",
    "sum over tiles of exp(s - m_tile) v, over sum exp(s - m)",
    apply_nothing,
    {},
    {},
    "how many keys a tile has"};

const FaultKind content_zero{"content.zero", "is zero everywhere", "0", apply_nothing};
const FaultKind content_nan{"content.nan", "is NaN everywhere", "NaN", apply_nothing};
const FaultKind content_constant{
    "content.constant", "holds one number everywhere", "c", apply_nothing, {}, {}, "the number"};
const FaultKind content_factor{
    "content.factor", "is a multiple of what it should be", "c x", apply_nothing, {}, {},
    "the factor"};

const FaultKind modes_swapped{"qk_output.modes_swapped",
                              "modes 1 and 2 of qk_matmul_output are taken for each other",
                              "after bias instead of after softcap, or the reverse", apply_nothing};

const FaultKind gradient_not_summed{
    "gradient.not_summed",
    "the gradient of a shared head holds only one query head's part, not the sum over its group",
    "dK[kv] = dK of one query head instead of the sum over all that read it",
    apply_nothing,
    {},
    {},
    "which query head of each group"};
const FaultKind gradient_averaged{
    "gradient.averaged",
    "the gradient of a shared head is the mean over its query heads instead of their sum",
    "dK[kv] = sum / (Hq / Hkv) instead of the sum", apply_nothing};
const FaultKind gradient_scale_missing{"gradient.scale_missing",
                                       "the gradient lacks the scale of the scores",
                                       "dQ = dS K instead of scale dS K", apply_nothing};
const FaultKind gradient_negated{"gradient.negated", "the gradient has the other sign",
                                 "-dQ instead of dQ", apply_nothing};

const FaultKind gradient_scale_twice{"gradient.scale_twice",
                                     "the gradient has the scale of the scores twice",
                                     "dQ = scale^2 dS K instead of scale dS K", apply_nothing};
const FaultKind gradient_tiled_groups{
    "gradient.tiled_groups",
    "the parts of the query heads are added up over tiled groups (h mod Hkv) instead of "
    "consecutive ones",
    "dK[kv] = sum over h mod Hkv = kv instead of floor(h / (Hq / Hkv)) = kv", apply_nothing};
const FaultKind gradient_heads_exchanged{"gradient.heads_exchanged",
                                         "the gradients of the KV heads have changed places",
                                         "dK[kv] = dK of another KV head",
                                         apply_nothing,
                                         {},
                                         {},
                                         "the KV head whose gradient stands at each"};
const FaultKind gradient_delta_missing{"gradient.delta_missing",
                                       "delta, the row sums of grad_output times output, is not "
                                       "subtracted",
                                       "dS = P dP instead of P (dP - delta)", apply_nothing};
const FaultKind gradient_lse_missing{
    "gradient.lse_missing", "grad_lse, the gradient of the log-sum-exp, is dropped",
    "dS = P (dP - delta) instead of P (dP - delta + dlse)", apply_nothing};
const FaultKind gradient_lse_negated{
    "gradient.lse_negated", "grad_lse, the gradient of the log-sum-exp, has the other sign",
    "dS = P (dP - delta - dlse) instead of P (dP - delta + dlse)", apply_nothing};
const FaultKind gradient_delta_other{
    "gradient.delta",
    "right but for delta, the row sums of grad_output times output: look at delta, or at a "
    "gradient of the log-sum-exp that the loss uses as well (record it as grad_lse)",
    "dS = P (dP - delta') with another number for each row", apply_nothing};
const FaultKind gradient_empty_row_nan{"gradient.empty_row_nan",
                                       "the gradient of rows without a visible key is NaN",
                                       "0 / 0 instead of 0", apply_nothing};

std::string Fault::describe() const {
  if (!measurement.empty()) return fmt::format("{} ({})", kind->slug, measurement);
  if (kind->parameters.empty()) return std::string(kind->slug);
  return fmt::format("{} ({})", kind->slug,
                     fmt::format(fmt::runtime(kind->parameter_name), parameter));
}

std::string_view family(const FaultKind& kind) {
  return kind.slug.substr(0, kind.slug.find('.'));
}

bool is_read_off_data(const FaultKind& kind) {
  constexpr std::array families{"content", "keys", "values", "rows", "columns", "accumulator"};
  return std::ranges::find(families, family(kind)) != families.end();
}

bool is_narrow_sum(const FaultKind& kind) {
  return kind.slug.ends_with("_sum");
}

std::span<const FaultKind* const> fault_kinds() {
  static const std::vector<const FaultKind*> kinds = collect();
  return kinds;
}

const FaultKind* find_fault(std::string_view slug) {
  return find_in(fault_kinds(), slug);
}

std::span<const FaultKind* const> measured_kinds() {
  static const std::vector<const FaultKind*> kinds{&measured_head_map,
                                                   &measured_scale,
                                                   &measured_output_factor,
                                                   &measured_range,
                                                   &moved_diagonal,
                                                   &moved_window_left,
                                                   &moved_window_right,
                                                   &keys_skipped,
                                                   &keys_counted_twice,
                                                   &keys_weighted,
                                                   &keys_reordered,
                                                   &keys_unrecorded,
                                                   &values_stale,
                                                   &rows_not_written,
                                                   &rows_copied,
                                                   &columns_copied,
                                                   &accumulator_not_rescaled,
                                                   &content_zero,
                                                   &content_nan,
                                                   &content_constant,
                                                   &content_factor,
                                                   &modes_swapped,
                                                   &gradient_not_summed,
                                                   &gradient_averaged,
                                                   &gradient_scale_missing,
                                                   &gradient_negated,
                                                   &gradient_scale_twice,
                                                   &gradient_tiled_groups,
                                                   &gradient_heads_exchanged,
                                                   &gradient_delta_missing,
                                                   &gradient_lse_missing,
                                                   &gradient_lse_negated,
                                                   &gradient_delta_other,
                                                   &gradient_empty_row_nan};
  return kinds;
}

std::span<const FaultKind* const> named_kinds() {
  static const std::vector<const FaultKind*> kinds = by_family();
  return kinds;
}

const FaultKind* find_named(std::string_view slug) {
  return find_in(named_kinds(), slug);
}

std::vector<Fault> all_faults() {
  std::vector<Fault> faults;
  for (const FaultKind* kind : fault_kinds()) {
    if (kind->parameters.empty()) faults.push_back({kind, 0});
    for (const std::int64_t parameter : kind->parameters) faults.push_back({kind, parameter});
  }
  return faults;
}

}  // namespace gqa
