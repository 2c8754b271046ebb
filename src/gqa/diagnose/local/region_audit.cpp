#include "gqa/diagnose/local/region_audit.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>

#include "gqa/attention/encoded_tensor.hpp"
#include "gqa/audit/audit.hpp"
#include "gqa/audit/work/stopping_runner.hpp"
#include "gqa/diagnose/evaluate/row_keys.hpp"
#include "gqa/diagnose/explain/explanation.hpp"
#include "gqa/num/arithmetic.hpp"

namespace gqa {
namespace {

constexpr double hidden_bias = -std::numeric_limits<double>::infinity();

// The indices of a region's axes.
struct RegionAxes {
  std::vector<std::int64_t> batch;
  std::vector<std::int64_t> heads;
  std::vector<std::int64_t> rows;

  std::int64_t row_count() const {
    return std::ssize(batch) * std::ssize(heads) * std::ssize(rows);
  }
};

std::vector<std::int64_t> all_of(std::int64_t extent) {
  std::vector<std::int64_t> all(gqa::extent(extent));
  std::iota(all.begin(), all.end(), std::int64_t{0});
  return all;
}

RegionAxes axes_of(const Behaviour& b, const Region& region) {
  const auto of = [](const std::optional<IndexSet>& set, std::int64_t extent) {
    return set ? set->indices(extent) : all_of(extent);
  };
  return {of(region.batch, b.batch()), of(region.heads, b.query_heads()),
          of(region.rows, b.queries())};
}

// Does a contract say all that the behaviour does, visibility aside?
bool is_a_contract(const Behaviour& b) {
  const OverflowRules& o = b.overflow;
  const bool overflows = o.softcap || o.exponential || o.dot_product || o.sink_tile > 0 ||
                         o.hidden_key || o.hidden_value;
  return !b.axes_swapped && !b.documents && !b.slopes && b.softmax == SoftmaxForm::whole &&
         b.running_sum == nullptr && !b.output_factor && b.head_factors.empty() &&
         !b.history_is_zero && !b.softcap_after_mask && !b.softcap_as_product &&
         !b.sink_has_value && b.mask_use == MaskUse::hide && !overflows &&
         b.written_columns == b.value_size() && b.empty != EmptyOutcome::mean_of_once_hidden &&
         b.key_row_stride_factor == 1;
}

// Are causal and window, as their words say, all that hides a key, besides key shares?
bool has_plain_visibility(const Behaviour& b) {
  return !b.mask && !b.lengths && b.length_shortfall == 0 && !b.clamp_offset &&
         !b.offset_without_past && !b.causal_only_square && b.causal_row_divisor == 1 &&
         !b.range_override && b.first_block == 0 && b.first_half_only.empty();
}

// Rows that are the last ones keep their positions where those count from the end.
bool keeps_positions(const Behaviour& b, const RegionAxes& axes) {
  const std::int64_t count = std::ssize(axes.rows);
  if (count == b.queries()) return true;
  const bool is_end =
      axes.rows.back() == b.queries() - 1 && axes.rows.front() == b.queries() - count;
  return is_end && b.contract.causal_alignment == CausalAlignment::bottom_right;
}

EmptyRow empty_row_of(EmptyOutcome outcome) {
  switch (outcome) {
    case EmptyOutcome::nan:
      return EmptyRow::nan;
    case EmptyOutcome::anything:
      return EmptyRow::any;
    case EmptyOutcome::mean_of_all:
      return EmptyRow::mean;
    case EmptyOutcome::zero:
    case EmptyOutcome::mean_of_once_hidden:
      break;
  }
  return EmptyRow::zero;
}

Contract contract_of(const DiagnosisCase& problem, const Behaviour& b, bool keeps_ranges) {
  Contract contract;
  contract.scale = problem.declared.contract.scale;
  if (!b.score_scaled) {
    contract.scale = Rational(1);
  } else if (b.scale.midpoint_double() != problem.declared.scale.midpoint_double()) {
    contract.scale = Rational(b.scale.midpoint_double());
  }
  contract.softcap = b.contract.softcap;
  contract.empty_row = empty_row_of(b.empty);
  contract.stated = {true, true};
  if (!keeps_ranges) return contract;
  contract.causal = b.contract.causal;
  contract.window = b.contract.window;
  contract.causal_alignment = b.contract.causal_alignment;
  if (contract.causal_alignment != CausalAlignment::onnx) return contract;
  // Without lengths the diagonal begins after the past, which is part of the keys here.
  contract.causal_alignment =
      b.past() > 0 ? CausalAlignment::bottom_right : CausalAlignment::top_left;
  return contract;
}

using RowReader =
    std::function<OperandRow(std::int64_t batch, std::int64_t head, std::int64_t row)>;

std::vector<double> gathered(std::span<const std::int64_t> batch,
                             std::span<const std::int64_t> heads,
                             std::span<const std::int64_t> rows, std::int64_t width,
                             const RowReader& read) {
  std::vector<double> numbers(batch.size() * heads.size() * rows.size() * extent(width));
  tbb::parallel_for(std::size_t{0}, batch.size() * heads.size(), [&](std::size_t n) {
    double* to = numbers.data() + n * rows.size() * extent(width);
    for (const std::int64_t row : rows) {
      const OperandRow from = read(batch[n / heads.size()], heads[n % heads.size()], row);
      for (std::int64_t d = 0; d < width; ++d) *to++ = from[d];
    }
  });
  return numbers;
}

bool has_all(const FloatFormat& format, const std::vector<double>& numbers) {
  const auto is_there = [&format](double x) {
    return std::isnan(x) || encode_exact(format, x).has_value();
  };
  // The cast is the same question, far quicker.
  const auto is_float = [](double x) {
    if (!std::isfinite(x)) return true;
    return std::abs(x) <= std::numeric_limits<float>::max() &&
           static_cast<double>(static_cast<float>(x)) == x;
  };
  const bool is_binary32 = &format == float_format(ElementType::binary32);
  return is_binary32 ? std::ranges::all_of(numbers, is_float)
                     : std::ranges::all_of(numbers, is_there);
}

ElementType type_of(const FloatFormat& format) {
  for (const ElementType type :
       {ElementType::binary32, ElementType::binary16, ElementType::bfloat16,
        ElementType::float8_e4m3fn, ElementType::float8_e5m2}) {
    if (float_format(type) == &format) return type;
  }
  return ElementType::binary64;
}

class RegionProblem {
 public:
  RegionProblem(const DiagnosisCase& problem, const Behaviour& behaviour, RegionAxes axes)
      : problem_(problem), b_(behaviour), axes_(std::move(axes)) {
    for (const std::int64_t head : axes_.heads) {
      const std::pair pair{b_.key_head[extent(head)], b_.value_head[extent(head)]};
      auto found = std::ranges::find(pairs_, pair);
      if (found == pairs_.end()) found = pairs_.insert(pairs_.end(), pair);
      head_map_.push_back(found - pairs_.begin());
    }
  }

  AttentionProblem make() const {
    const bool keeps_ranges = has_plain_visibility(b_) && keeps_positions(b_, axes_);
    Contract contract = contract_of(problem_, b_, keeps_ranges);
    contract.head_map = {HeadMapKind::explicit_list, head_map_};
    ProblemTensors tensors;
    tensors.query = encoded(axes_.heads, axes_.rows, b_.key_size(),
                            [&](auto b, auto h, auto i) { return OperandRow(b_.query, b, h, i); });
    tensors.output = encoded(axes_.heads, axes_.rows, b_.value_size(), [&](auto b, auto h, auto i) {
      return OperandRow(b_.output, b, h, i);
    });
    const std::vector<std::int64_t> kv = all_of(std::ssize(pairs_));
    const std::vector<std::int64_t> keys = all_of(b_.keys());
    tensors.key = encoded(kv, keys, b_.key_size(), [&](auto b, auto p, auto j) {
      return b_.key_row(b, pairs_[extent(p)].first, j);
    });
    tensors.value = encoded(kv, keys, b_.value_size(), [&](auto b, auto p, auto j) {
      return b_.value_row(b, pairs_[extent(p)].second, j);
    });
    if (b_.sink) {
      std::vector<double> sink;
      for (const std::int64_t head : axes_.heads) sink.push_back((*b_.sink)[extent(head)]);
      tensors.sink = encoded_tensor(ElementType::binary64, {std::ssize(sink)}, sink);
    }
    tensors.attn_mask = mask(keeps_ranges);
    return make_problem(tensors, contract);
  }

 private:
  std::shared_ptr<const TypedTensor> encoded(std::span<const std::int64_t> heads,
                                             std::span<const std::int64_t> rows, std::int64_t width,
                                             const RowReader& read) const {
    const std::vector<double> numbers = gathered(axes_.batch, heads, rows, width, read);
    // Products of narrow operands are cheaper to bound.
    const bool is_narrow = has_all(*problem_.format, numbers);
    return encoded_tensor(is_narrow ? type_of(*problem_.format) : ElementType::binary64,
                          {std::ssize(axes_.batch), std::ssize(heads), std::ssize(rows), width},
                          numbers);
  }

  // What the contract does not say of visible keys and of what is added to their scores.
  std::shared_ptr<const TypedTensor> mask(bool keeps_ranges) const {
    if (keeps_ranges && b_.key_shares.empty() && !b_.bias) return nullptr;
    // A mask of shares alone is the same for all rows.
    const bool is_of_keys = keeps_ranges && !b_.bias;
    const auto extent_of_mask = [](const auto& mask, std::size_t from_last) {
      if (!mask || mask->shape().size() < from_last) return std::int64_t{1};
      return mask->shape()[mask->shape().size() - from_last];
    };
    const bool by_batch = !is_of_keys && (b_.lengths || extent_of_mask(b_.mask, 4) > 1 ||
                                          extent_of_mask(b_.bias, 4) > 1);
    const bool by_head =
        !is_of_keys && (!b_.first_half_only.empty() || extent_of_mask(b_.mask, 3) > 1 ||
                        extent_of_mask(b_.bias, 3) > 1);
    const std::vector<std::int64_t> batch =
        by_batch ? axes_.batch : std::vector{axes_.batch.front()};
    const std::vector<std::int64_t> heads =
        by_head ? axes_.heads : std::vector{axes_.heads.front()};
    const std::vector<std::int64_t> rows = is_of_keys ? std::vector<std::int64_t>{-1} : axes_.rows;
    std::vector<double> numbers(batch.size() * heads.size() * rows.size() * extent(b_.keys()),
                                hidden_bias);
    tbb::parallel_for(
        std::size_t{0}, batch.size() * heads.size() * rows.size(), [&](std::size_t n) {
          double* to = numbers.data() + n * extent(b_.keys());
          const std::size_t bh = n / rows.size();
          fill_row(batch[bh / heads.size()], heads[bh % heads.size()], rows[n % rows.size()], to);
        });
    return mask_of(numbers, {std::ssize(batch), std::ssize(heads), std::ssize(rows), b_.keys()});
  }

  void fill_row(std::int64_t batch, std::int64_t head, std::int64_t row, double* to) const {
    std::vector<std::size_t> visible;
    if (row >= 0) {
      visible = keys_of_row(b_, batch, head, row).visible;
    } else {
      visible.resize(extent(b_.keys()));
      std::iota(visible.begin(), visible.end(), std::size_t{0});
    }
    for (const std::size_t j : visible) {
      double added = row >= 0 ? mask_bias(b_, batch, head, row, static_cast<std::int64_t>(j)) : 0;
      for (const KeyShare& keys : b_.key_shares) {
        const auto key = static_cast<std::int64_t>(j);
        if (keys.first <= key && key <= keys.last) added += std::log(keys.share);
      }
      to[j] = added;
    }
  }

  // Boolean where nothing is added.
  static std::shared_ptr<const TypedTensor> mask_of(const std::vector<double>& numbers,
                                                    const Shape& shape) {
    const auto is_flag = [](double x) { return x == 0 || x == hidden_bias; };
    if (!std::ranges::all_of(numbers, is_flag)) {
      return encoded_tensor(ElementType::binary64, shape, numbers);
    }
    std::vector<char> flags;
    flags.reserve(numbers.size());
    for (const double x : numbers) flags.push_back(x == 0 ? 1 : 0);
    if (std::ranges::find(flags, char{0}) == flags.end()) return nullptr;
    return boolean_tensor(shape, flags);
  }

  const DiagnosisCase& problem_;
  const Behaviour& b_;
  RegionAxes axes_;
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs_;  // heads of keys and of values
  std::vector<std::int64_t> head_map_;
};

}  // namespace

std::optional<Confirmation> audited_region(const DiagnosisCase& problem, const Behaviour& behaviour,
                                           const Region& region) {
  if (!is_a_contract(behaviour)) return std::nullopt;
  RegionAxes axes = axes_of(behaviour, region);
  const std::int64_t rows = axes.row_count();
  if (rows == 0) return std::nullopt;
  const AttentionProblem own = RegionProblem(problem, behaviour, std::move(axes)).make();
  AuditOptions options;
  options.tolerance = problem.tolerance;
  // The audit that found the wrong rows has checked the filter, and only the verdict is used here.
  options.self_check = false;
  StoppingRunner stopping(problem.deadline);
  stopping.ask_verdict_alone(options);
  const AuditResult result = audit(own, options);
  if (stopping.was_late()) return Confirmation{false, 0, 0};
  // What the contract gives no number for (a visible NaN) is compared row by row.
  if (result.tally.violations == 0 && result.tally.undecided > 0) return std::nullopt;
  return Confirmation{result.tally.violations == 0, rows, rows};
}

Confirmation confirmed_in_region(const DiagnosisCase& problem, const Behaviour& behaviour,
                                 const Region& region, std::int64_t largest_work) {
  if (const auto audited = audited_region(problem, behaviour, region)) return *audited;
  const RegionAxes axes = axes_of(behaviour, region);
  std::vector<RowPlace> places;
  for (const std::int64_t b : axes.batch) {
    for (const std::int64_t h : axes.heads) {
      for (const std::int64_t i : axes.rows) places.push_back({b, h, i});
    }
  }
  // An allowance takes some ten multiplications for each of the values.
  constexpr std::int64_t per_value = 10, most_enclosed_keys = 20'000;
  const std::int64_t work = std::max<std::int64_t>(
      1, behaviour.keys() * (behaviour.key_size() + per_value * behaviour.value_size()));
  places = spread_out(places, extent(std::max<std::int64_t>(largest_work / work, 64)));
  DiagnosisCase exact = problem;
  exact.asked_columns = 0;
  const bool encloses = std::ssize(places) * behaviour.keys() <= most_enclosed_keys;
  std::atomic<bool> holds = true;
  tbb::parallel_for(std::size_t{0}, places.size(), [&](std::size_t n) {
    if (!holds) return;
    if (problem.is_late()) {
      holds = false;
      return;
    }
    const bool fits = matches_roughly(exact, behaviour, places[n]) &&
                      (!encloses || matches(exact, behaviour, places[n]).certainly());
    if (!fits) holds = false;
  });
  return {holds, std::ssize(places), encloses ? std::ssize(places) : 0};
}

}  // namespace gqa
