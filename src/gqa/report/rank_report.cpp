#include "gqa/report/rank_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "gqa/printable.hpp"

namespace gqa {
namespace {

// x rounded down to `digits` decimals, as text.
std::string truncated(const Rational& x, int digits) {
  mpz_class scale;
  mpz_ui_pow_ui(scale.get_mpz_t(), 10, static_cast<unsigned long>(digits));
  mpz_class scaled;
  const mpz_class numerator = x.get_num() * scale;
  mpz_fdiv_q(scaled.get_mpz_t(), numerator.get_mpz_t(), x.get_den_mpz_t());
  const std::string all = fmt::format("{:0>{}}", mpz_class(abs(scaled)).get_str(),
                                      static_cast<std::size_t>(digits) + 1);
  const std::string_view text = all;
  const std::size_t whole = all.size() - static_cast<std::size_t>(digits);
  return fmt::format("{}{}{}{}", scaled < 0 ? "-" : "", text.substr(0, whole),
                     digits > 0 ? "." : "", text.substr(whole));
}

std::string shape(const GenericRank& rank) {
  return fmt::format("{} x {}", rank.rows, rank.columns);
}

nlohmann::ordered_json enclosure_json(const Ball& x) {
  if (!x.is_finite()) return nullptr;
  return {{"digits", certain_digits(x)}, {"lower", x.lower_double()}, {"upper", x.upper_double()}};
}

}  // namespace

std::string certain_digits(const Ball& x, int most) {
  if (!x.is_finite()) return "?";
  for (int digits = most; digits >= 0; --digits) {
    const std::string text = truncated(x.lower(), digits);
    if (text == truncated(x.upper(), digits)) return text;
  }
  return "?";
}

bool certified(const std::vector<RecordedRanks>& recordings) {
  return !recordings.empty() && std::ranges::all_of(recordings, [](const RecordedRanks& one) {
    return !one.groups.empty() && std::ranges::all_of(one.groups, &GroupRank::certified);
  });
}

std::string rank_text(const RankReport& report) {
  std::size_t width = 0;
  for (const GenericRank& rank : report.ranks) width = std::max(width, rank.quantity.size());
  std::string text = describe(report.configuration) + "\n";
  text += fmt::format("  {:<{}}  {:>15}  {:>6}  {:>6}  {}\n", "generic rank of", width, "matrix",
                      "lower", "upper", "upper bound");
  for (const GenericRank& rank : report.ranks) {
    text += fmt::format("{} {:<{}}  {:>15}  {:>6}  {:>6}  {}\n", rank.proved() ? " " : "?",
                        rank.quantity, width, shape(rank), rank.lower, rank.upper, rank.bound);
  }
  text += fmt::format(
      "lower: the rank of one integer witness modulo the prime {} (seeds from {} on);\n"
      "upper: the number of dimensions. {}\n",
      report.prime, report.seed,
      report.proved() ? "Both are equal: proved."
                      : "Where they differ (marked ?) the generic rank is not decided.");
  return text;
}

std::string rank_text(const std::vector<RecordedRanks>& recordings) {
  std::string text;
  std::int64_t groups = 0, full = 0;
  for (const RecordedRanks& recording : recordings) {
    text += printable_line(recording.path) +
            "\n  batch  KV head  query heads   rank C    recorded  "
            "participation ratio  stable rank\n";
    for (const GroupRank& group : recording.groups) {
      ++groups;
      if (group.certified()) ++full;
      text += fmt::format("{} {:>5}  {:>7}  {:<12}  {:>2} of {:<2}  {:>8}  {:>19}  {:>11}\n",
                          group.certified() ? " " : "?", group.batch, group.kv_head,
                          fmt::format("{}", fmt::join(group.query_heads, ",")),
                          group.certified_rank, group.full_rank(), group.recorded_rank,
                          certain_digits(group.participation_ratio, 8),
                          certain_digits(group.stable_rank, 8));
    }
  }
  text += fmt::format(
      "{} of {} groups: C = softmax(scale Q K^T) V (times the output projection, if given) is "
      "proved to\n"
      "have full rank; all digits shown are certain; recorded: rank of the recorded numbers\n",
      full, groups);
  return text;
}

nlohmann::ordered_json rank_json(const RankReport& report) {
  const RankConfiguration& c = report.configuration;
  nlohmann::ordered_json json;
  json["schema"] = "gqaverify.rank/1";
  nlohmann::ordered_json& configuration = json["configuration"];
  configuration = {{"group_size", c.group_size},
                   {"positions", c.positions},
                   {"key_size", c.key_size},
                   {"value_size", c.value_size}};
  configuration["model_size"] = nullptr;
  if (c.model_size) configuration["model_size"] = *c.model_size;
  configuration["causal"] = c.causal;
  configuration["window"] = nullptr;
  if (c.window) configuration["window"] = *c.window;
  configuration["tied"] = c.tied;
  configuration["constant_column"] = c.constant_column;
  configuration["softmax_reachable"] = c.softmax_reachable;
  json["prime"] = report.prime;
  json["seed"] = report.seed;
  json["ranks"] = nlohmann::ordered_json::array();
  for (const GenericRank& rank : report.ranks) {
    json["ranks"].push_back({{"quantity", rank.quantity},
                             {"verdict", rank.proved() ? "proved" : "undecided"},
                             {"shape", {rank.rows, rank.columns}},
                             {"lower", rank.lower},
                             {"upper", rank.upper},
                             {"bound", rank.bound},
                             {"witness", rank.witness}});
  }
  return json;
}

nlohmann::ordered_json rank_json(const std::vector<RecordedRanks>& recordings) {
  nlohmann::ordered_json json;
  json["schema"] = "gqaverify.rank/1";
  json["recordings"] = nlohmann::ordered_json::array();
  for (const RecordedRanks& recording : recordings) {
    nlohmann::ordered_json groups = nlohmann::ordered_json::array();
    for (const GroupRank& group : recording.groups) {
      groups.push_back({{"batch", group.batch},
                        {"kv_head", group.kv_head},
                        {"query_heads", group.query_heads},
                        {"rank", group.certified_rank},
                        {"full_rank", group.full_rank()},
                        {"recorded_rank", group.recorded_rank},
                        {"participation_ratio", enclosure_json(group.participation_ratio)},
                        {"stable_rank", enclosure_json(group.stable_rank)},
                        {"certified", group.certified()}});
    }
    json["recordings"].push_back({{"path", recording.path}, {"groups", groups}});
  }
  return json;
}

}  // namespace gqa
