#include "gqa/diagnose/identify/contract_proposal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "gqa/attention/layout_fit.hpp"
#include "gqa/diagnose/identify/rule_scan.hpp"
#include "gqa/num/arithmetic.hpp"

namespace gqa::identification {
namespace {

constexpr std::size_t rows_of_a_head = 3;

// A rational as people write it: 0.1 rather than 1/10, 1/8 rather than 0.125.
std::string written(const Rational& number) {
  const std::string exact = to_text(number);
  if (exact.find('/') == std::string::npos || number.get_den() <= 9) return exact;
  const std::string decimal = fmt::format("{}", Ball(number).midpoint_double());
  return parse_rational(decimal, "number") == number ? decimal : exact;
}

std::vector<std::int64_t> sizes_of(const Dimensions& d) {
  return {d.q_heads, d.kv_heads, d.key_size, d.value_size,
          d.q_heads / std::max<std::int64_t>(d.kv_heads, 1)};
}

// The simplest number within what is known: one with a name, or the shortest digits.
Rational simplest(const MeasuredNumber& number, const Dimensions& d) {
  for (const NamedNumber& named : recognised(number, sizes_of(d))) {
    // A root has no finite digits: those of binary64 stand for it.
    const bool is_rational = named.text.find_first_not_of("0123456789/") == std::string::npos;
    return parse_rational(is_rational ? named.text : fmt::format("{:.17g}", named.value), "number");
  }
  return parse_rational(known_digits(number), "number");
}

// Kernels hold their constants in binary32 at best, and scores are rounded.
MeasuredNumber widened(MeasuredNumber number, double roundoff) {
  constexpr double roundings = 16;
  const double least = roundings * std::min(roundoff, 0x1p-24) * std::abs(number.value);
  number.uncertainty = std::isfinite(number.uncertainty) ? std::max(number.uncertainty, least)
                                                         : std::abs(number.value);
  return number;
}

class Completion {
 public:
  Completion(RowReader& reader, const Contract& plain, const FittedHypothesis& fitted,
             std::int64_t batch, std::int64_t head, std::int64_t kv_head)
      : reader_(reader),
        d_(reader.problem().dimensions),
        fitted_(fitted),
        hypothesis_(fitted.hypothesis),
        batch_(batch),
        head_(head),
        kv_head_(kv_head),
        roundoff_(reader.problem().output->format().unit_roundoff()) {
    proposal_.contract = plain;
    proposal_.misfit = hypothesis_.misfit;
  }

  Proposal run() {
    state_ranges();
    state_numbers();
    if (hypothesis_.score.slope) {
      proposal_.added.alibi_slopes.emplace();
      slopes_ = standard_alibi_slopes(d_.q_heads);
    }
    state_head_map();
    if (hypothesis_.range.length) state_lengths();
    if (hypothesis_.score.sink) state_sinks();
    return std::move(proposal_);
  }

 private:
  Contract& contract() { return proposal_.contract; }

  void state_ranges() {
    const RangeRule& range = hypothesis_.range;
    contract().causal = range.causal;
    contract().window = range.window;
    const bool matters = range.causal || !range.window.is_unbounded() || hypothesis_.score.slope ||
                         reader_.problem().alibi_slopes;
    if (!matters) return;
    contract().causal_alignment = range.alignment;
    contract().stated.causal_alignment = true;
  }

  void state_numbers() {
    const MeasuredNumber scale = widened(fitted_.scale, roundoff_);
    const double usual = 1 / std::sqrt(static_cast<double>(d_.key_size));
    if (scale.allows(usual)) {
      contract().scale.reset();
      hypothesis_.score.scale = usual;
    } else {
      contract().scale = simplest(scale, d_);
      proposal_.notes.push_back(
          fmt::format("scale {}: {}", written(*contract().scale), measured_as(scale)));
    }
    if (fitted_.curvature && hypothesis_.score.curvature > 0) {
      const double cap = 1 / std::sqrt(hypothesis_.score.curvature);
      // d cap = d curvature / (2 curvature^(3/2))
      const MeasuredNumber softcap =
          widened({cap, fitted_.curvature->uncertainty * cap * cap * cap / 2}, roundoff_);
      contract().softcap = simplest(softcap, d_);
      proposal_.notes.push_back(
          fmt::format("softcap {}: {}", written(contract().softcap), measured_as(softcap)));
    }
  }

  Hypothesis of_head(std::int64_t head) const {
    Hypothesis own = hypothesis_;
    if (own.score.slope) own.score.slope = slopes_[extent(head)];
    return own;
  }

  // How badly a head fits, whatever its sink.
  double misfit_of(std::int64_t head, std::int64_t kv_head) {
    const std::vector<SearchRow> rows = reader_.spread(batch_, head, kv_head, rows_of_a_head);
    if (rows.empty()) return 0;
    Hypothesis own = of_head(head);
    if (own.score.sink) own.score.sink = sink_of(own, rows).value_or(*own.score.sink);
    return misfit(own, rows);
  }

  void state_head_map() {
    const double noise = square(16 * std::max(roundoff_, 0x1p-24));
    constexpr double worse = 30;
    const double fits = std::max(worse * hypothesis_.misfit, noise);
    std::vector<std::int64_t> map(extent(d_.q_heads), 0);
    const bool even = d_.q_heads % d_.kv_heads == 0;
    const std::int64_t group = even ? d_.q_heads / d_.kv_heads : 1;
    for (std::int64_t h = 0; h < d_.q_heads; ++h) {
      const std::int64_t usual = even ? h / group : 0;
      map[extent(h)] = h == head_ ? kv_head_ : usual;
      if (h == head_ || d_.kv_heads == 1 || misfit_of(h, usual) <= fits) continue;
      double least = std::numeric_limits<double>::infinity();
      for (std::int64_t n = 0; n < d_.kv_heads; ++n) {
        // h mod Hkv first: where several fit, the usual other map is told.
        const std::int64_t kv_head = (h + n) % d_.kv_heads;
        const double own = misfit_of(h, kv_head);
        if (own < least) map[extent(h)] = kv_head;
        least = std::min(least, own);
        if (own <= fits) break;
      }
    }
    state_map(std::move(map), even, group);
  }

  void state_map(std::vector<std::int64_t> map, bool even, std::int64_t group) {
    bool contiguous = even;
    bool interleaved = even;
    for (std::int64_t h = 0; h < d_.q_heads; ++h) {
      contiguous = contiguous && map[extent(h)] == h / group;
      interleaved = interleaved && map[extent(h)] == h % d_.kv_heads;
    }
    contract().head_map = {};
    if (contiguous) return;
    contract().head_map.kind = interleaved ? HeadMapKind::interleaved : HeadMapKind::explicit_list;
    if (!interleaved) contract().head_map.list = std::move(map);
  }

  // The length of another batch entry is the one with which the rest of the range fits it best.
  void state_lengths() {
    std::vector<std::int64_t> lengths;
    for (std::int64_t b = 0; b < d_.batch; ++b) {
      if (b == batch_) {
        lengths.push_back(*hypothesis_.range.length);
        continue;
      }
      lengths.push_back(length_of_batch(b));
    }
    proposal_.added.lengths = std::move(lengths);
  }

  std::int64_t length_of_batch(std::int64_t batch) {
    constexpr std::size_t count = 6;
    const std::vector<SearchRow> rows = reader_.spread(batch, head_, kv_head_, count);
    // Rows without any key are zero.
    if (rows.empty()) return 0;
    return scan_lengths(rows, hypothesis_.score, hypothesis_.range, false)
        .rule.length.value_or(d_.keys);
  }

  // exp of the logit: a row without the sink is o, with it f o, f = W / (W + sink).
  static std::optional<double> sink_of(const Hypothesis& hypothesis,
                                       const std::vector<SearchRow>& rows) {
    Hypothesis start = hypothesis;
    if (!start.score.sink) start.score.sink = 1;
    const FittedHypothesis fit = fit_numbers(start, rows, {false, true});
    return fit.hypothesis.score.sink;
  }

  void state_sinks() {
    constexpr std::size_t count = 12;
    std::vector<double> logits;
    bool all_zero = true;
    for (std::int64_t h = 0; h < d_.q_heads; ++h) {
      const std::int64_t kv_head = kv_head_of(h);
      const std::vector<SearchRow> rows = reader_.spread(batch_, h, kv_head, count);
      if (rows.empty()) {
        logits.push_back(0);
        continue;
      }
      const FittedHypothesis fit = fit_numbers(of_head(h), rows, {false, true});
      const MeasuredNumber& sink = *fit.sink;
      // d logit = d sink / sink
      const MeasuredNumber logit =
          widened({std::log(sink.value), sink.uncertainty / sink.value}, roundoff_);
      const double known = std::max(logit.uncertainty, 1e-6);
      all_zero = all_zero && std::abs(logit.value) <= known;
      logits.push_back(std::strtod(known_digits({logit.value, known / 64}).c_str(), nullptr));
    }
    if (all_zero) logits.assign(1, 0.0);
    proposal_.added.sink = std::move(logits);
  }

  std::int64_t kv_head_of(std::int64_t head) const {
    return resolve_head_map(proposal_.contract.head_map, d_.q_heads, d_.kv_heads)[extent(head)];
  }

  RowReader& reader_;
  const Dimensions& d_;
  const FittedHypothesis& fitted_;
  Hypothesis hypothesis_;
  std::int64_t batch_;
  std::int64_t head_;
  std::int64_t kv_head_;
  double roundoff_;
  std::vector<double> slopes_;
  Proposal proposal_;
};

std::string map_flag(const HeadMap& map) {
  if (map.kind != HeadMapKind::explicit_list) return std::string(name(map.kind));
  return fmt::format("{}", fmt::join(map.list, ","));
}

}  // namespace

Proposal completed(RowReader& reader, const Contract& plain, const FittedHypothesis& fitted,
                   std::int64_t batch, std::int64_t head, std::int64_t kv_head) {
  return Completion(reader, plain, fitted, batch, head, kv_head).run();
}

std::vector<std::string> flags_of(const Proposal& proposal, const Contract& declared) {
  const Contract& contract = proposal.contract;
  std::vector<std::string> flags = proposal.reading;
  if (layout_flags(contract) != layout_flags(declared)) flags.push_back(layout_flags(contract));
  if (contract.head_map != declared.head_map) {
    flags.push_back("--head-map " + map_flag(contract.head_map));
  }
  const bool aligned_alike = contract.causal_alignment == declared.causal_alignment;
  if (contract.causal != declared.causal || (contract.causal && !aligned_alike)) {
    const bool usual = contract.causal_alignment == CausalAlignment::bottom_right;
    flags.push_back(!contract.causal ? std::string("--causal=off")
                    : usual          ? std::string("--causal")
                                     : fmt::format("--causal={}", name(contract.causal_alignment)));
  } else if (!aligned_alike && contract.stated.causal_alignment) {
    flags.push_back(fmt::format("--contract '{{\"causal_alignment\": \"{}\"}}'",
                                name(contract.causal_alignment)));
  }
  if (contract.window != declared.window) {
    flags.push_back(fmt::format("--window={},{}", contract.window.left, contract.window.right));
  }
  if (contract.scale != declared.scale) {
    flags.push_back("--scale " + (contract.scale ? written(*contract.scale) : "default"));
  }
  if (contract.softcap != declared.softcap) {
    flags.push_back("--softcap " + written(contract.softcap));
  }
  if (proposal.added.lengths) {
    flags.push_back(fmt::format("--lengths {}", fmt::join(*proposal.added.lengths, ",")));
  }
  if (proposal.added.sink) {
    flags.push_back(fmt::format("--sink={}", fmt::join(*proposal.added.sink, ",")));
  }
  if (proposal.added.alibi_slopes) {
    const std::vector<double>& slopes = *proposal.added.alibi_slopes;
    flags.push_back(slopes.empty() ? std::string("--alibi standard")
                                   : fmt::format("--alibi {}", fmt::join(slopes, ",")));
  }
  return flags;
}

}  // namespace gqa::identification
