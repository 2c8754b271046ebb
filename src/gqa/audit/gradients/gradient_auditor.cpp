#include "gqa/audit/gradients/gradient_auditor.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>

#include "gqa/audit/enclose/audited_element.hpp"
#include "gqa/audit/filter/interval_decision.hpp"
#include "gqa/audit/gradients/gradient_bounds.hpp"
#include "gqa/audit/gradients/gradient_element.hpp"
#include "gqa/audit/gradients/gradient_model.hpp"

namespace gqa {
namespace {

std::size_t place_of(GradientKind kind) {
  return static_cast<std::size_t>(kind);
}

// Rows of one kind that rung 1 left open, by their columns.
struct OpenRow {
  std::size_t row;
  std::vector<std::int64_t> columns;
};

class HistoryAuditor {
 public:
  HistoryAuditor(const GradientProblem& gradient, const RecordedGradients& recorded,
                 const AuditOptions& options, const GradientTallies& empty, std::int64_t batch,
                 std::int64_t kv_head)
      : gradient_(gradient),
        recorded_(recorded),
        options_(options),
        empty_(empty),
        result_(empty),
        batch_(batch),
        kv_head_(kv_head) {
    if (const auto* model = std::get_if<ModelTolerance>(&options.tolerance)) {
      backward_ = backward_model(*model->model);
      model_ = &backward_;
      accept_worst_case_ = model->accept_worst_case;
    } else {
      stated_.emplace(options.tolerance);
    }
  }

  GradientTallies run(bool until_violation) {
    std::array<std::vector<OpenRow>, 3> open;
    if (options_.use_filter) {
      GradientFilterOptions filter;
      filter.model = model_;
      found_ = gradient_reference(gradient_, batch_, kv_head_, filter);
      facts_ = &found_->facts;
      for (const GradientKind kind : gradient_kinds) {
        if (wants(kind)) open[place_of(kind)] = audit_part(kind);
      }
      if (model_ != nullptr) decide_by_bounds(open);
    } else {
      own_facts_ = gradient_facts(gradient_, batch_, kv_head_);
      facts_ = &own_facts_;
      for (const GradientKind kind : gradient_kinds) {
        if (wants(kind)) open[place_of(kind)] = every_row(kind);
      }
    }
    if (!until_violation || !is_violated()) enclose(open);
    return std::move(result_);
  }

 private:
  bool is_violated() const {
    return std::ranges::any_of(result_, [](const std::optional<AuditTally>& tally) {
      return tally && tally->violations > 0;
    });
  }
  bool wants(GradientKind kind) const { return empty_[place_of(kind)].has_value(); }
  const StridedTensor& recorded(GradientKind kind) const { return *recorded_.of(kind); }
  std::int64_t width(GradientKind kind) const { return recorded(kind).shape()[3]; }
  std::int64_t rows(GradientKind kind) const {
    return kind == GradientKind::query ? facts_->rows() : recorded(kind).shape()[2];
  }
  // Rows of the references count past keys, those of the recorded gradients do not.
  std::size_t reference_row(GradientKind kind, std::int64_t row) const {
    return static_cast<std::size_t>(kind == GradientKind::query ? row : row + gradient_.past());
  }

  std::array<std::int64_t, 4> index(GradientKind kind, std::int64_t row,
                                    std::int64_t column) const {
    if (kind != GradientKind::query) return {batch_, kv_head_, row, column};
    const std::int64_t member = row / gradient_.queries();
    return {batch_, facts_->heads[static_cast<std::size_t>(member)], row % gradient_.queries(),
            column};
  }
  double output(GradientKind kind, const std::array<std::int64_t, 4>& at) const {
    return recorded(kind).value(at[0], at[1], at[2], at[3]);
  }
  std::int64_t tally_place(GradientKind kind, const std::array<std::int64_t, 4>& at) const {
    return at[0] * recorded(kind).shape()[1] + at[1];
  }

  std::vector<OpenRow> every_row(GradientKind kind) const {
    std::vector<OpenRow> open;
    for (std::int64_t row = 0; row < rows(kind); ++row) open.push_back(whole(kind, row));
    return open;
  }
  OpenRow whole(GradientKind kind, std::int64_t row) const {
    OpenRow open{static_cast<std::size_t>(row), {}};
    for (std::int64_t c = 0; c < width(kind); ++c) open.columns.push_back(c);
    return open;
  }

  const GradientPart& part_of(GradientKind kind) const {
    if (kind == GradientKind::query) return found_->query;
    return kind == GradientKind::key ? found_->key : found_->value;
  }

  // Rung 1.
  std::vector<OpenRow> audit_part(GradientKind kind) {
    const GradientPart& part = part_of(kind);
    const UlpTable ulps(recorded(kind).format());
    std::vector<OpenRow> open;
    for (std::int64_t row = 0; row < rows(kind); ++row) {
      if (part.open[reference_row(kind, row)] != 0) {
        open.push_back(whole(kind, row));
        continue;
      }
      OpenRow left{static_cast<std::size_t>(row), {}};
      NullRow nulls;
      for (std::int64_t c = 0; c < width(kind); ++c) {
        if (!decide(kind, part, ulps, row, c, nulls)) left.columns.push_back(c);
      }
      nulls.add_to(result_[place_of(kind)]->nulls);
      if (!left.columns.empty()) open.push_back(std::move(left));
    }
    return open;
  }

  std::optional<GradientElement> element(GradientKind kind, const GradientPart& part,
                                         const UlpTable& ulps, std::int64_t row,
                                         std::int64_t column) const {
    const auto at = index(kind, row, column);
    return gradient_element(part, ulps, reference_row(kind, row), static_cast<std::size_t>(column),
                            at, output(kind, at));
  }

  bool decide(GradientKind kind, const GradientPart& part, const UlpTable& ulps, std::int64_t row,
              std::int64_t column, NullRow& nulls) {
    const auto e = element(kind, part, ulps, row, column);
    if (!e) return false;
    ElementDecision decision;
    Interval allowed{0, std::numeric_limits<double>::infinity()};
    if (model_ == nullptr) {
      allowed = stated_->allowed(e->magnitude, e->ulp);
      decision = {within(e->error, allowed), FailureStrength::proved};
      nulls.add(e->magnitude.lower, allowed.upper);
    } else {
      allowed.lower = surely_allowed(kind, part, *e);
      telling_[place_of(kind)].ask(row, e->magnitude.lower, allowed.lower);
      if (e->error.upper <= allowed.lower) decision.within = Uncertain::yes();
    }
    if (!decision.within.is_decided()) return false;
    record(kind, *e, decision, allowed);
    return true;
  }

  // At most the smaller of both bounds of the model.
  double surely_allowed(GradientKind kind, const GradientPart& part,
                        const GradientElement& e) const {
    const FloatFormat& format = recorded(kind).format();
    return rounded_down(part.surely_moved(e.r, e.c, model_->lambda) +
                        std::max(model_->output_rounding(format, true).roundoff * e.magnitude.lower,
                                 model_->output_rounding(format, true).underflow));
  }

  // Between the rungs: both bounds in binary64 of what is left. Enclosures are for the rest.
  void decide_by_bounds(std::array<std::vector<OpenRow>, 3>& open) {
    WantedRows wanted;
    bool any = false;
    for (const GradientKind kind : gradient_kinds) {
      const GradientPart& part = part_of(kind);
      std::vector<char>& rows = wanted[place_of(kind)];
      const UlpTable ulps(recorded(kind).format());
      for (const OpenRow& row : open[place_of(kind)]) {
        const auto at = static_cast<std::int64_t>(row.row);
        const std::size_t r = reference_row(kind, at);
        // What binary64 cannot tell apart from zero is for the enclosures at once.
        const bool helps =
            part.open[r] == 0 && std::ranges::any_of(row.columns, [&](std::int64_t column) {
              return element(kind, part, ulps, at, column).has_value();
            });
        if (!helps) continue;
        rows.resize(part.open.size(), 0);
        rows[r] = 1;
        any = true;
      }
    }
    for (const GradientKind kind : gradient_kinds) {
      const TellingRow& telling = telling_[place_of(kind)];
      if (!telling.row) continue;
      wanted[place_of(kind)].resize(part_of(kind).open.size(), 0);
      wanted[place_of(kind)][reference_row(kind, *telling.row)] = 1;
      any = true;
    }
    if (!any) return;
    const GradientBounds bounds(gradient_, *found_, *model_, recorded_.formats(), wanted);
    for (const GradientKind kind : gradient_kinds) {
      if (wanted[place_of(kind)].empty()) continue;
      refute_nulls(kind, bounds);
      decide_rows(kind, bounds, open[place_of(kind)]);
      std::erase_if(open[place_of(kind)], [](const OpenRow& row) { return row.columns.empty(); });
    }
  }

  NullRow nulls_of(GradientKind kind, const GradientBounds& bounds, std::int64_t row) const {
    const UlpTable ulps(recorded(kind).format());
    NullRow nulls;
    for (std::int64_t c = 0; c < width(kind); ++c) {
      const auto e = element(kind, part_of(kind), ulps, row, c);
      if (!e) continue;
      nulls.add(e->magnitude.lower,
                allowance(bounds.element(kind, e->r, e->c, e->radius, e->magnitude)).upper);
    }
    return nulls;
  }

  // The null outputs of one row of the history, that in which they are most easily told apart: one
  // refuted row is enough for a verdict, and a row's upper bounds cost a pass of their own. Only if
  // that one does not refute them are the others asked.
  void refute_nulls(GradientKind kind, const GradientBounds& bounds) {
    const TellingRow& telling = telling_[place_of(kind)];
    if (!telling.row) return;
    NullCounts& counts = result_[place_of(kind)]->nulls;
    const NullRow told = nulls_of(kind, bounds, *telling.row);
    if (told.refutes_zeros()) return told.add_to(counts);
    const GradientPart& part = part_of(kind);
    WantedRows all;
    for (const char open : part.open) all[place_of(kind)].push_back(open == 0 ? 1 : 0);
    const GradientBounds more(gradient_, *found_, *model_, recorded_.formats(), all);
    for (std::int64_t row = 0; row < rows(kind); ++row) {
      if (part.open[reference_row(kind, row)] == 0) nulls_of(kind, more, row).add_to(counts);
    }
  }

  // Of a model; nothing is known of what is not bounded.
  Interval allowance(const GradientBounds::Element& known) const {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (!known.is_known) return {0, infinity};
    if (!accept_worst_case_) return known.likely;
    return known.is_bounded ? known.worst : Interval{0, infinity};
  }

  void decide_rows(GradientKind kind, const GradientBounds& bounds, std::vector<OpenRow>& open) {
    const GradientPart& part = part_of(kind);
    const UlpTable ulps(recorded(kind).format());
    for (OpenRow& row : open) {
      const auto at = static_cast<std::int64_t>(row.row);
      if (!bounds.has(kind, reference_row(kind, at))) continue;
      std::erase_if(row.columns, [&](std::int64_t column) {
        const auto e = element(kind, part, ulps, at, column);
        if (!e) return false;
        const GradientBounds::Element known =
            bounds.element(kind, e->r, e->c, e->radius, e->magnitude);
        const ElementDecision decision = gqa::decide(known, e->error, accept_worst_case_);
        if (decision.within.is_decided()) record(kind, *e, decision, allowance(known));
        return decision.within.is_decided();
      });
    }
  }

  void record(GradientKind kind, const GradientElement& e, const ElementDecision& decision,
              const Interval& allowed) {
    AuditTally& tally = *result_[place_of(kind)];
    ++tally.elements;
    ++tally.decided_by_filter;
    const WorstElement worst = measured_element(e.at, e.value, e.centre, e.radius, e.error,
                                                in_ulps(e.error, e.ulp), allowed, decision.within);
    tally.add_errors(worst.absolute_error, worst.ulp_error,
                     std::abs(e.value - e.centre) / e.ulp.upper);
    tally.error_map.add_error(tally_place(kind, e.at), e.at[2], worst.ulp_error.upper);
    if (decision.within.certainly_not()) {
      tally.add_violation(tally_place(kind, e.at), e.at[2], e.at[3]);
      if (decision.strength == FailureStrength::proved) ++tally.proved_violations;
    } else {
      tally.max_share = std::max(tally.max_share, worst.share());
      if (!tally.may_be_worst(worst.share())) return;
    }
    tally.add_worst(worst);
  }

  // Rungs 2 and 3.
  void enclose(const std::array<std::vector<OpenRow>, 3>& open) {
    const auto& query = open[place_of(GradientKind::query)];
    std::vector<std::array<const OpenRow*, 2>> keys(
        static_cast<std::size_t>(gradient_.problem.key.current().shape()[2]), {nullptr, nullptr});
    bool any_key = false;
    for (const std::size_t kind : {std::size_t{1}, std::size_t{2}}) {
      for (const OpenRow& row : open[kind]) keys[row.row][kind - 1] = &row;
      any_key = any_key || !open[kind].empty();
    }
    if (query.empty() && !any_key) return;
    const GradientEnclosure reader(gradient_, *facts_, model_, recorded_.formats());
    const PrecisionScope precision(options_.first_precision);
    if (any_key) reader.prepare();
    tbb::parallel_for(std::size_t{0}, query.size(), [&](std::size_t i) {
      const PrecisionScope scope(options_.first_precision);
      GradientTallies tallies = empty_;
      enclose_query(reader, query[i], tallies);
      merge(tallies);
    });
    tbb::parallel_for(std::size_t{0}, keys.size(), [&](std::size_t j) {
      if (keys[j][0] == nullptr && keys[j][1] == nullptr) return;
      const PrecisionScope scope(options_.first_precision);
      GradientTallies tallies = empty_;
      enclose_key(reader, static_cast<std::int64_t>(j), keys[j], tallies);
      merge(tallies);
    });
  }

  void merge(const GradientTallies& tallies) {
    const std::lock_guard lock(mutex_);
    for (std::size_t k = 0; k < tallies.size(); ++k) {
      if (tallies[k]) result_[k]->merge(*tallies[k]);
    }
  }

  void enclose_query(const GradientEnclosure& reader, const OpenRow& open,
                     GradientTallies& tallies) const {
    const auto first = reader.query_row(open.row);
    settle_columns(reader, GradientKind::query, open, first ? &*first : nullptr, tallies,
                   [&](std::size_t c) { return (*reader.query_row(open.row))[c]; });
  }

  void enclose_key(const GradientEnclosure& reader, std::int64_t key,
                   const std::array<const OpenRow*, 2>& open, GradientTallies& tallies) const {
    const std::size_t j = reference_row(GradientKind::key, key);
    const auto first = reader.key_row(j);
    if (open[0] != nullptr) {
      settle_columns(reader, GradientKind::key, *open[0], first ? &first->key : nullptr, tallies,
                     [&](std::size_t c) { return reader.key_row(j)->key[c]; });
    }
    if (open[1] != nullptr) {
      settle_columns(reader, GradientKind::value, *open[1], first ? &first->value : nullptr,
                     tallies, [&](std::size_t c) { return reader.key_row(j)->value[c]; });
    }
  }

  template <class Enclose>
  void settle_columns(const GradientEnclosure& reader, GradientKind kind, const OpenRow& open,
                      const std::vector<Enclosed>* first, GradientTallies& tallies,
                      const Enclose& enclose) const {
    AuditTally& tally = *tallies[place_of(kind)];
    const auto row = static_cast<std::int64_t>(open.row);
    NullRow nulls;
    for (const std::int64_t column : open.columns) {
      AuditedElement element;
      element.index = index(kind, row, column);
      element.output = output(kind, element.index);
      element.format = &recorded(kind).format();
      const auto c = static_cast<std::size_t>(column);
      if (first == nullptr) {
        ++tally.not_finite_references;
      } else {
        settle(element, (*first)[c],
               {[&] { return enclose(c); },
                [&] { return reader.exact(kind, reference_row(kind, row), c); }},
               options_);
      }
      add_element(tally, element, tally_place(kind, element.index), nulls);
    }
    // Other rows were asked already; what is refuted here they may not have known.
    const bool is_whole = !found_ || part_of(kind).open[reference_row(kind, row)] != 0;
    if (is_whole || nulls.refutes_zeros()) nulls.add_to(tally.nulls);
  }

  // The row whose elements are largest beside what they are surely allowed.
  struct TellingRow {
    std::optional<std::int64_t> row;
    double ratio = 0;

    void ask(std::int64_t asked, double magnitude, double allowed) {
      if (!(magnitude > ratio * allowed) || !(magnitude > 0)) return;
      row = asked;
      ratio = allowed > 0 ? magnitude / allowed : std::numeric_limits<double>::infinity();
    }
  };

  const GradientProblem& gradient_;
  const RecordedGradients& recorded_;
  const AuditOptions& options_;
  const GradientTallies& empty_;
  GradientTallies result_;
  std::array<TellingRow, 3> telling_;
  std::int64_t batch_;
  std::int64_t kv_head_;
  PrecisionModel backward_;
  const PrecisionModel* model_ = nullptr;
  bool accept_worst_case_ = false;
  std::optional<StatedTolerance> stated_;
  std::optional<HistoryGradients> found_;
  GradientFacts own_facts_;
  const GradientFacts* facts_ = nullptr;
  std::mutex mutex_;
};

}  // namespace

GradientFormats RecordedGradients::formats() const {
  const auto format = [](const std::optional<StridedTensor>& tensor) {
    return tensor ? &tensor->format() : nullptr;
  };
  return {format(query), format(key), format(value)};
}

GradientTallies audit_history(const GradientProblem& gradient, const RecordedGradients& recorded,
                              const AuditOptions& options, const GradientTallies& empty,
                              std::int64_t batch, std::int64_t kv_head, bool until_violation) {
  return HistoryAuditor(gradient, recorded, options, empty, batch, kv_head).run(until_violation);
}

}  // namespace gqa
