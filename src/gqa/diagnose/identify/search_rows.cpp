#include "gqa/diagnose/identify/search_rows.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "gqa/num/arithmetic.hpp"

namespace gqa::identification {
namespace {

// Decoded heads kept at most: a search stays with few of them.
constexpr std::size_t kept_histories = 16;

void read_mask(const AttentionProblem& problem, SearchRow& row) {
  const auto& [batch, head, i] = row.place;
  if (problem.visibility.has_mask()) {
    row.hidden.resize(row.products.size());
    for (std::size_t j = 0; j < row.hidden.size(); ++j) {
      const auto key = static_cast<std::int64_t>(j);
      row.hidden[j] = problem.visibility.mask_allows(batch, head, i, key) ? 0 : 1;
    }
  }
  if (!problem.bias) return;
  row.bias.resize(row.products.size());
  for (std::size_t j = 0; j < row.bias.size(); ++j) {
    const auto index =
        broadcast_index(problem.bias->shape(), batch, head, i, static_cast<std::int64_t>(j));
    row.bias[j] = index ? problem.bias->data()[*index] : 0;
  }
}

}  // namespace

std::shared_ptr<const HeadHistory> RowReader::history_of(std::int64_t batch, std::int64_t kv_head) {
  auto& kept = histories_[{batch, kv_head}];
  if (kept) return kept;
  const Dimensions& d = problem_.dimensions;
  auto history = std::make_shared<HeadHistory>();
  history->keys.resize(extent(d.keys) * extent(d.key_size));
  history->values.resize(extent(d.keys) * extent(d.value_size));
  problem_.key.read_rows(batch, kv_head, 0, d.keys, history->keys.data(), extent(d.key_size));
  problem_.value.read_rows(batch, kv_head, 0, d.keys, history->values.data(), extent(d.value_size));
  // What is not finite may be where nobody looks; where somebody does, no row fits.
  for (auto* numbers : {&history->keys, &history->values}) {
    for (double& number : *numbers) number = std::isfinite(number) ? number : 0;
  }
  if (histories_.size() > kept_histories) {
    histories_.clear();
    histories_[{batch, kv_head}] = history;
  } else {
    kept = history;
  }
  return history;
}

std::optional<SearchRow> RowReader::read(const RowPlace& place, std::int64_t kv_head) {
  const Dimensions& d = problem_.dimensions;
  SearchRow row;
  row.place = place;
  row.output.resize(extent(d.value_size));
  problem_.output->read_rows(place.batch, place.head, place.row, place.row + 1, row.output.data(),
                             row.output.size());
  for (const double element : row.output) {
    if (!std::isfinite(element)) return std::nullopt;
    row.square += square(element);
  }
  if (!(row.square > 0)) return std::nullopt;
  row.history = history_of(place.batch, kv_head);
  std::vector<double> query(extent(d.key_size));
  problem_.query.read_rows(place.batch, place.head, place.row, place.row + 1, query.data(),
                           query.size());
  row.products.resize(extent(d.keys));
  for (std::size_t j = 0; j < row.products.size(); ++j) {
    const double* key = row.history->keys.data() + j * query.size();
    double sum = 0;
    for (std::size_t c = 0; c < query.size(); ++c) sum += query[c] * key[c];
    row.products[j] = std::isfinite(sum) ? sum : 0;
  }
  read_mask(problem_, row);
  row.sink = problem_.sink_of(place.head);
  if (problem_.alibi_slopes) {
    row.slope = (*problem_.alibi_slopes)[extent(place.batch * d.q_heads + place.head)];
  }
  // The problem is neither causal nor windowed.
  row.length = problem_.visibility.range(place.batch, 0).end;
  row.length_is_given = lengths_are_given_;
  row.queries = d.queries;
  row.past = d.past;
  return row;
}

std::vector<SearchRow> RowReader::spread(std::int64_t batch, std::int64_t head,
                                         std::int64_t kv_head, std::size_t count) {
  const std::int64_t queries = problem_.dimensions.queries;
  std::set<std::int64_t> numbers;
  const auto last = static_cast<double>(queries - 1);
  for (std::size_t n = 0; n < count; ++n) {
    const double share = count > 1 ? static_cast<double>(n) / static_cast<double>(count - 1) : 1;
    numbers.insert(std::lround(last * share * share));
  }
  // Few rows are all asked.
  for (std::int64_t i = 0; i < queries && numbers.size() < count; ++i) numbers.insert(i);
  std::vector<SearchRow> rows;
  for (const std::int64_t i : numbers) {
    if (auto row = read({batch, head, i}, kv_head)) rows.push_back(std::move(*row));
  }
  return rows;
}

}  // namespace gqa::identification
