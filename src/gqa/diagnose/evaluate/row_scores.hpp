// Scores of one row under a behaviour.
#pragma once

#include <cmath>
#include <vector>

#include "gqa/attention/numbers.hpp"
#include "gqa/attention/score_stages.hpp"
#include "gqa/diagnose/evaluate/number.hpp"
#include "gqa/diagnose/evaluate/row_keys.hpp"

namespace gqa::evaluation {

/// Scores of the visible keys, and the arithmetic accidents on the way.
template <class T>
struct Scores {
  std::vector<T> raw;         ///< scale q.k (or q.k where the behaviour does not scale)
  std::vector<T> final;       ///< after softcap and bias
  std::vector<char> dropped;  ///< the score overflowed to minus infinity: weight zero
  bool is_nan = false;        ///< a NaN that spoils the row
};

/// The largest argument of exp that binary32 can take, and the least that is not zero.
constexpr double largest_exponent = 88.7228;
constexpr double least_exponent = -103.9;
/// What a partial sum must reach to become infinite in binary16.
constexpr double binary16_overflow = 65520;

template <class T>
class ScoreReader {
 public:
  ScoreReader(const Behaviour& behaviour, std::int64_t batch, std::int64_t head, std::int64_t row)
      : behaviour_(behaviour),
        batch_(batch),
        head_(head),
        row_(row),
        scale_(number<T>(behaviour.scale)),
        cap_(number<T>(Ball(behaviour.contract.softcap))) {
    for (std::int64_t d = 0; d < behaviour.key_size(); ++d) {
      query_.emplace_back(behaviour.query.at(batch, head, row, d));
    }
  }

  Scores<T> of(const RowKeys& keys) const {
    Scores<T> scores;
    const T slope = slope_of(keys);
    const KnownProducts known = known_products();
    scores.dropped.assign(keys.visible.size(), 0);
    for (std::size_t k = 0; k < keys.visible.size(); ++k) {
      const auto j = static_cast<std::int64_t>(keys.visible[k]);
      if (keys.filled[k] != 0) {
        scores.raw.emplace_back(0);
        scores.final.push_back(behaviour_.softcap_after_mask ? T(-cap_) : T(0));
        continue;
      }
      T raw(0);
      if (!keys.reads_zero(k)) raw = known.is_known() ? T(known.of(j)) : product(j, scores, k);
      if (behaviour_.score_scaled) raw = T(raw * scale_);
      scores.final.push_back(finished(raw, slope, keys, j, scores));
      scores.raw.push_back(std::move(raw));
    }
    return scores;
  }

 private:
  // Products in binary64 that were taken before, past keys first.
  struct KnownProducts {
    std::int64_t past = 0;
    OperandProducts::Numbers of_past;
    OperandProducts::Numbers of_new;
    bool is_known() const { return of_new != nullptr; }
    double of(std::int64_t j) const {
      return j < past ? (*of_past)[static_cast<std::size_t>(j)]
                      : (*of_new)[static_cast<std::size_t>(j - past)];
    }
  };

  // Enclosures, and sums that may overflow on the way, are made term by term.
  KnownProducts known_products() const {
    KnownProducts known;
    if constexpr (std::is_same_v<T, double>) {
      if (!behaviour_.products || behaviour_.overflow.dot_product) return known;
      const std::int64_t kv_head = behaviour_.key_head[static_cast<std::size_t>(head_)];
      const RowOfView query{behaviour_.query, batch_, head_, row_};
      known.past = behaviour_.past();
      if (known.past > 0) {
        known.of_past =
            behaviour_.products->dot_products(query, {*behaviour_.past_key, batch_, kv_head});
      }
      known.of_new = behaviour_.products->dot_products(query, {behaviour_.key, batch_, kv_head});
    }
    return known;
  }

  T slope_of(const RowKeys& keys) const {
    if (!behaviour_.slopes) return T(0);
    const bool per_head = behaviour_.slopes->size() == behaviour_.key_head.size();
    const std::int64_t entry = behaviour_.documents ? keys.document : batch_;
    const std::int64_t index = per_head ? head_ : entry * behaviour_.query_heads() + head_;
    return number<T>((*behaviour_.slopes)[static_cast<std::size_t>(index)]);
  }

  T product(std::int64_t j, Scores<T>& scores, std::size_t k) const {
    const std::int64_t kv_head = behaviour_.key_head[static_cast<std::size_t>(head_)];
    T sum(0);
    bool overflowed = false;
    const OperandRow key = behaviour_.key_row(batch_, kv_head, j);
    for (std::int64_t d = 0; d < behaviour_.key_size(); ++d) {
      sum += T(query_[static_cast<std::size_t>(d)] * T(key[d]));
      if (behaviour_.overflow.dot_product && !overflowed &&
          std::abs(middle(sum)) >= binary16_overflow) {
        overflowed = true;
        if (middle(sum) > 0) {
          scores.is_nan = true;
        } else {
          scores.dropped[k] = 1;
        }
      }
    }
    return sum;
  }

  T finished(const T& raw, const T& slope, const RowKeys& keys, std::int64_t j,
             Scores<T>& scores) const {
    using std::log;
    using std::tanh;
    using Numbers = RealNumbers<T>;
    T added(mask_bias(behaviour_, batch_, head_, row_, j));
    if (behaviour_.slopes) {
      const std::int64_t distance = std::abs(keys.position - (j - keys.begin));
      added -= T(slope * T(static_cast<double>(distance)));
    }
    for (const KeyShare& shared : behaviour_.key_shares) {
      if (shared.first <= j && j <= shared.last) added += T(log(T(shared.share)));
    }
    const bool capped = behaviour_.contract.softcap != 0;
    if (!capped) return score_stages<Numbers>(raw, nullptr, nullptr, &added);
    if (behaviour_.overflow.softcap && std::abs(middle(raw) / middle(cap_)) > largest_exponent) {
      scores.is_nan = true;
    }
    if (behaviour_.softcap_as_product) return T(T(raw / cap_) * tanh(T(raw / cap_)) + added);
    if (behaviour_.softcap_after_mask) return Numbers::softcapped(T(raw + added), cap_);
    return score_stages<Numbers>(raw, nullptr, &cap_, &added);
  }

  const Behaviour& behaviour_;
  std::int64_t batch_;
  std::int64_t head_;
  std::int64_t row_;
  T scale_;
  T cap_;
  std::vector<T> query_;
};

}  // namespace gqa::evaluation
