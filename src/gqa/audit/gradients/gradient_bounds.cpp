#include "gqa/audit/gradients/gradient_bounds.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>

#include "gqa/audit/filter/blas.hpp"
#include "gqa/audit/gradients/gradient_factor_block.hpp"
#include "gqa/audit/gradients/gradient_model.hpp"
#include "gqa/audit/gradients/gradient_pairs.hpp"
#include "gqa/num/arithmetic.hpp"

namespace gqa {
// Everything that is needed while the rows are read.
class GradientBounds::Reader {
 public:
  Reader(const GradientProblem& gradient, const HistoryGradients& found,
         const PrecisionModel& model, const WantedRows& wanted, std::array<Moved, 3>& moved)
      : gradient_(gradient),
        found_(found),
        facts_(found.facts),
        model_(model),
        wanted_(wanted),
        moved_(moved),
        roundings_(gradient_roundings(model, gradient)),
        copies_(gradient_copies(gradient, found.facts)),
        likely_(found.rows.size()),
        worst_(found.rows.size()) {
    factor_ = std::abs(gradient.factor(static_cast<std::int64_t>(facts_.heads.size())).get_d());
    scale_ = gradient.rule.scale_missing ? 1 : gradient.problem.scale_double();
  }

  void read() {
    const SingleThreadedBlas blas;
    any_key_ = wants_any(1) || wants_any(2);
    read_rows();
    if (any_key_) read_keys();
  }

 private:
  static constexpr std::size_t side = GradientFactorBlock::side;

  bool wants(GradientKind kind, std::size_t r) const {
    const std::vector<char>& rows = wanted_[static_cast<std::size_t>(kind)];
    return !rows.empty() && rows[r] != 0;
  }
  bool wants_any(std::size_t kind) const {
    return std::ranges::any_of(wanted_[kind], [](char c) { return c != 0; });
  }
  bool is_read(std::size_t r) const { return !found_.rows[r].open && !found_.rows[r].silent; }
  std::int64_t head_of(std::size_t r) const {
    return facts_.heads[r / extent(gradient_.queries())];
  }

  void start_row(std::size_t r) {
    const GradientRow& row = found_.rows[r];
    GradientRowGiven<double> given;
    given.lse = row.lse;
    given.delta = row.delta;
    given.grad_lse = facts_.grad_lse[r];
    given.has_grad_lse = gradient_.grad_lse.has_value();
    given.maximum = row.maximum;
    given.query4 = square(roundings_.scale) * facts_.query4[r];
    given.grad4 = facts_.grad4[r];
    given.copies = copies_.query[r];
    given.visible = static_cast<double>(row.terms);
    given.output = row.output;
    likely_[r].start(roundings_, given);
    worst_[r] = gradient_row_worst(
        model_, gradient_,
        gradient_row_size<double>(gradient_, facts_, r, row.terms, row.lse, roundings_.scale));
  }
  void finish_row(std::size_t r) {
    GradientLikelyRow<double>& row = likely_[r];
    if (const auto sink = gradient_.problem.sink_of(head_of(r))) row.add_sink(roundings_, *sink);
    row.finish(roundings_);
    worst_[r].finish(row.magnitudes, facts_.grad_norm[r] * row.value_norms,
                     row.given.output.magnitudes, row.given.grad_lse);
  }

  // Rows in runs of `side`; all if a key is wanted, since every key's sums need theirs.
  void read_rows() {
    const std::size_t runs = (found_.rows.size() + side - 1) / side;
    tbb::parallel_for(std::size_t{0}, runs, [&](std::size_t run) {
      std::vector<std::size_t> rows;
      bool any_wanted = false;
      const std::size_t end = std::min(found_.rows.size(), (run + 1) * side);
      for (std::size_t r = run * side; r < end; ++r) {
        const bool wanted = wants(GradientKind::query, r);
        if (!is_read(r) || !(any_key_ || wanted)) continue;
        rows.push_back(r);
        any_wanted = any_wanted || wanted;
      }
      if (!rows.empty()) read_run(rows, any_wanted);
    });
  }

  void read_run(const std::vector<std::size_t>& rows, bool with_sums) {
    GradientPairs pairs(gradient_, found_, copies_);
    pairs.take_rows(rows);
    for (const std::size_t r : rows) start_row(r);
    const auto width = extent(gradient_.problem.dimensions.key_size);
    GradientFactorBlock block(gradient_factor_counts(roundings_, GradientKind::query), width,
                              pairs.key_stride());
    const auto step = static_cast<std::int64_t>(side);
    for (std::int64_t begin = pairs.range().begin; begin < pairs.range().end; begin += step) {
      pairs.take_keys(begin, std::min(pairs.range().end, begin + step));
      block.clear_factors();
      for_pairs(pairs, [&](std::size_t r, std::size_t j, const GradientPair<double>& pair) {
        GradientLikelyRow<double>& row = likely_[rows[r]];
        const auto errors = gradient_pair_errors(roundings_, row.given, pair);
        row.add(roundings_, pair, errors, pairs.value_norm(j));
        if (!with_sums) return;
        block.set(r, j,
                  query_factors(GradientTerm<double>{roundings_, row, worst_[rows[r]], pair, errors,
                                                     pairs.norms(r, j)}));
      });
      if (with_sums) block.add(rows.size(), pairs.keys(), pairs.key(), true);
    }
    for (const std::size_t r : rows) finish_row(r);
    if (!with_sums) return;
    for (std::size_t r = 0; r < rows.size(); ++r) finish_query(rows[r], r, block);
  }

  void finish_query(std::size_t at, std::size_t r, const GradientFactorBlock& block) {
    Moved& moved = moved_[0];
    moved.unbounded[at] = worst_[at].is_bounded ? 0 : 1;
    const GradientTiny tiny = gradient_tiny(model_, gradient_, facts_, GradientKind::query);
    for (std::size_t c = 0; c < moved.width; ++c) {
      const GradientFactors<double> sums = block.sums(r, c);
      const double value = found_.query.value(at, c) / factor_;
      moved.likely[at * moved.width + c] =
          factor_ * likely_query(roundings_, likely_[at], scale_, sums, value);
      const double worst =
          scale_ * (sums.magnitudes[2] + worst_[at].query_common() * sums.magnitudes[1] +
                    tiny.of_column * facts_.key.column[c]) +
          tiny.absolute;
      moved.worst[at * moved.width + c] = factor_ * worst;
    }
  }

  void read_keys() {
    const KeyRange seen = facts_.seen;
    const auto step = static_cast<std::int64_t>(side);
    const std::int64_t runs = (seen.end - seen.begin + step - 1) / step;
    tbb::parallel_for(std::int64_t{0}, runs, [&](std::int64_t run) {
      const std::int64_t begin = seen.begin + run * step;
      const std::int64_t end = std::min(seen.end, begin + step);
      bool any = false;
      for (std::int64_t j = begin; j < end; ++j) {
        any = any || wants(GradientKind::key, extent(j)) || wants(GradientKind::value, extent(j));
      }
      if (any) read_key_run(begin, end);
    });
  }

  // One run of keys against all rows, head by head.
  void read_key_run(std::int64_t begin, std::int64_t end) {
    const Dimensions& d = gradient_.problem.dimensions;
    GradientPairs pairs(gradient_, found_, copies_);
    KeyRun run{GradientFactorBlock(gradient_factor_counts(roundings_, GradientKind::key),
                                   extent(d.key_size), pairs.key_stride()),
               GradientFactorBlock(gradient_factor_counts(roundings_, GradientKind::value),
                                   extent(d.value_size), pairs.value_stride()),
               GradientFactorBlock({0, 1, 0}, extent(d.key_size), pairs.key_stride()),
               GradientFactorBlock({0, 1, 0}, extent(d.value_size), pairs.value_stride()),
               std::vector<double>(side * pairs.key_stride()),
               std::vector<double>(side * pairs.value_stride()),
               std::vector<std::int64_t>(side),
               std::vector<char>(side)};
    for (std::size_t member = 0; member < facts_.heads.size(); ++member) {
      run.head_key.clear();
      run.head_value.clear();
      std::vector<std::size_t> rows;
      const std::size_t queries = extent(gradient_.queries());
      for (std::size_t i = 0; i < queries; ++i) {
        const std::size_t r = member * queries + i;
        const KeyRange range =
            gradient_.problem.visibility.range(facts_.batch, static_cast<std::int64_t>(i));
        if (is_read(r) && range.begin < end && range.end > begin) rows.push_back(r);
        if (rows.size() < side && (i + 1 < queries || rows.empty())) continue;
        add_rows(pairs, rows, begin, end, run);
        rows.clear();
      }
      add_head(run, pairs, extent(end - begin));
    }
    for (std::int64_t j = begin; j < end; ++j) finish_key(extent(j), extent(j - begin), run);
  }

  struct KeyRun {
    GradientFactorBlock key, value;
    GradientFactorBlock head_key, head_value;  // one head's part of the gradients
    std::vector<double> key_squares, value_squares;
    std::vector<std::int64_t> terms;
    std::vector<char> unbounded;
  };

  void add_rows(GradientPairs& pairs, const std::vector<std::size_t>& rows, std::int64_t begin,
                std::int64_t end, KeyRun& run) {
    pairs.take_rows(rows);
    pairs.take_keys(begin, end);
    for (GradientFactorBlock* block : {&run.key, &run.value, &run.head_key, &run.head_value}) {
      block->clear_factors();
    }
    for_pairs(pairs, [&](std::size_t r, std::size_t j, const GradientPair<double>& pair) {
      const GradientLikelyRow<double>& row = likely_[rows[r]];
      const auto errors = gradient_pair_errors(roundings_, row.given, pair);
      const GradientTerm<double> term{roundings_, row,    worst_[rows[r]],
                                      pair,       errors, pairs.norms(r, j)};
      run.key.set(r, j, key_factors(term));
      run.value.set(r, j, value_factors(term));
      run.head_key.set(r, j, {.plain = {errors.t}});
      run.head_value.set(r, j, {.plain = {errors.p}});
      ++run.terms[j];
      if (!worst_[rows[r]].is_bounded) run.unbounded[j] = 1;
    });
    run.key.add(rows.size(), pairs.keys(), pairs.query(), false);
    run.value.add(rows.size(), pairs.keys(), pairs.grad(), false);
    run.head_key.add(rows.size(), pairs.keys(), pairs.query(), false);
    run.head_value.add(rows.size(), pairs.keys(), pairs.grad(), false);
  }

  void add_head(KeyRun& run, const GradientPairs& pairs, std::size_t keys) const {
    const auto add = [&](const GradientFactorBlock& head, const Moved& moved, double scale,
                         std::size_t stride, std::vector<double>& to) {
      for (std::size_t j = 0; j < keys; ++j) {
        for (std::size_t c = 0; c < moved.width; ++c) {
          const double part = scale * std::abs(head.sums(j, c).plain[0]);
          to[j * stride + c] +=
              square(std::max(moved.finish.roundoff * part, moved.finish.underflow));
        }
      }
    };
    if (facts_.heads.size() <= 1) return;
    add(run.head_key, moved_[1], scale_, pairs.key_stride(), run.key_squares);
    add(run.head_value, moved_[2], 1, pairs.value_stride(), run.value_squares);
  }

  void finish_key(std::size_t at, std::size_t j, const KeyRun& run) {
    for (const GradientKind kind : {GradientKind::key, GradientKind::value}) {
      Moved& moved = moved_[static_cast<std::size_t>(kind)];
      if (moved.width == 0) continue;
      const bool is_key = kind == GradientKind::key;
      const GradientTiny tiny = gradient_tiny(model_, gradient_, facts_, kind);
      GradientFinish finish = moved.finish;
      finish.terms = static_cast<double>(run.terms[j]);
      moved.unbounded[at] = run.unbounded[j];
      const GradientPart& part = is_key ? found_.key : found_.value;
      const double scale = is_key ? scale_ : 1;
      const std::vector<double>& squares = is_key ? run.key_squares : run.value_squares;
      const Magnitudes& magnitudes = is_key ? facts_.query : facts_.grad;
      for (std::size_t c = 0; c < moved.width; ++c) {
        const GradientFactors<double> sums = (is_key ? run.key : run.value).sums(j, c);
        const double value = part.value(at, c) / factor_;
        const double heads = squares[j * part.stride + c];
        const double likely = is_key ? likely_key(roundings_, finish, scale, sums, heads, value)
                                     : likely_value(roundings_, finish, sums, heads, value);
        const double worst =
            scale * (sums.magnitudes[1] + tiny.of_column * magnitudes.column[c]) + tiny.absolute;
        // A sum without terms is stored, and that is all.
        const double any = run.terms[j] > 0 ? factor_ : 0;
        moved.likely[at * moved.width + c] = any * likely;
        moved.worst[at * moved.width + c] = any * worst;
      }
    }
  }

  template <class Use>
  void for_pairs(const GradientPairs& pairs, const Use& use) const {
    for (std::size_t r = 0; r < pairs.rows().size(); ++r) {
      for (std::size_t j = 0; j < pairs.keys(); ++j) {
        if (pairs.sees(r, j)) use(r, j, pairs.pair(r, j));
      }
    }
  }

  const GradientProblem& gradient_;
  const HistoryGradients& found_;
  const GradientFacts& facts_;
  const PrecisionModel& model_;
  const WantedRows& wanted_;
  std::array<Moved, 3>& moved_;
  GradientRoundings roundings_;
  GradientCopies copies_;
  std::vector<GradientLikelyRow<double>> likely_;
  std::vector<GradientRowWorst<double>> worst_;
  double factor_ = 1;
  double scale_ = 1;
  bool any_key_ = false;
};

GradientBounds::GradientBounds(const GradientProblem& gradient, const HistoryGradients& found,
                               const PrecisionModel& model, const GradientFormats& formats,
                               const WantedRows& wanted) {
  const Dimensions& d = gradient.problem.dimensions;
  for (std::size_t kind = 0; kind < moved_.size(); ++kind) {
    const FloatFormat* format = formats.of(static_cast<GradientKind>(kind));
    if (format == nullptr || wanted[kind].empty()) continue;
    Moved& moved = moved_[kind];
    moved.width = extent(kind == 2 ? d.value_size : d.key_size);
    moved.likely.assign(wanted[kind].size() * moved.width, 0.0);
    moved.worst = moved.likely;
    moved.wanted = wanted[kind];
    moved.unbounded.assign(wanted[kind].size(), 0);
    moved.finish = {0, static_cast<double>(found.facts.heads.size()),
                    model.output_rounding(*format, true).roundoff,
                    model.output_rounding(*format, true).underflow};
  }
  Reader(gradient, found, model, wanted, moved_).read();
}

GradientBounds::~GradientBounds() = default;

}  // namespace gqa
