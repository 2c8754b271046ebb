#include "gqa/report/pool_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "gqa/error.hpp"
#include "gqa/report/number_json.hpp"
#include "gqa/theory/certificate.hpp"
#include "gqa/theory/certificate_writer.hpp"
#include "gqa/theory/exact_input.hpp"

namespace gqa {
namespace {

using Json = nlohmann::ordered_json;

GroupDecision decide(const PlacedGroup& placed, PooledPositions positions) {
  GroupDecision decision;
  decision.batch = placed.batch;
  decision.kv_head = placed.kv_head;
  decision.loss = pooling_loss(placed.group, positions);
  decision.at_equal_scores = pooling_loss_at_equal_scores(placed.group);
  decision.certificate = certificate_of(decision.loss, placed.group, positions);
  // In numbers over all positions only: a prefix is another history.
  if (decision.loss && decision.loss->positions == placed.group.positions()) {
    decision.witness = pooling_witness(placed.group, decision.loss->head);
  }
  return decision;
}

// The statement is the checker's: no more than what it verified of these weights.
WeightDecision decide(const ProjectionGroup& group) {
  WeightDecision decision;
  decision.loss = weight_pooling_loss(group);
  decision.certificate = certificate_of(decision.loss, group);
  const CertificateVerdict verdict = check_certificate(decision.certificate.dump(), "certificate");
  if (!verdict.verified) {
    throw std::logic_error("the checker rejects the decision on pooled weights: " + verdict.reason);
  }
  decision.statement = verdict.statement;
  return decision;
}

// Heads as rows: everything behind the first axis is one row.
RationalMatrix head_rows(const Tensor<Rational>& tensor) {
  const std::int64_t heads = tensor.extent(0);
  const auto width = static_cast<std::int64_t>(tensor.size()) / heads;
  return to_matrix(Tensor<Rational>({heads, width}, tensor.data()));
}

const char* word(const std::optional<WeightPoolingLoss>& loss) {
  if (!loss) return "lossless";
  return *loss == WeightPoolingLoss::values_differ ? "values_differ" : "scores_differ";
}

// With the numbers of the certificate.
std::string weight_text(const WeightDecision& decision) {
  if (!decision.loss) return "lossless, for every input: " + decision.statement;
  const Json& c = decision.certificate;
  const auto list = [&c](const char* field) { return list_text(c.at(field)); };
  std::string text =
      fmt::format("{}: LOSES at head {} of its group: ", word(decision.loss), c.at("head").dump());
  if (*decision.loss == WeightPoolingLoss::values_differ) {
    text += fmt::format("on the one position {} the output {} becomes {}", list("input"),
                        list("output"), list("pooled_output"));
  } else if (c.contains("score_difference")) {
    text += fmt::format(
        "the query {} at the input {} sets the scores of {}, {} position{} before, and its own {} "
        "apart, pooled {}",
        list("query"), list("input"), list("earlier_input"), c.at("distance").dump(),
        c.at("distance") == 1 ? "" : "s", c.at("score_difference").get<std::string>(),
        c.at("pooled_score_difference").get<std::string>());
  } else {
    text += fmt::format("the query {} at the input {} sees the key change", list("query"),
                        list("input"));
  }
  return text + "\n  " + decision.statement;
}

Json decision_json(const GroupDecision& decision) {
  Json json{{"batch", decision.batch},
            {"kv_head", decision.kv_head},
            {"lossless", !decision.loss.has_value()},
            {"loss_at_equal_scores", exact_json(decision.at_equal_scores)}};
  if (decision.loss) {
    json["head_in_group"] = decision.loss->head;
    json["positions"] = decision.loss->positions;
  }
  if (decision.witness) {
    json["counterexample"] = {{"query_logarithms_of", exact_json(decision.witness->bases)},
                              {"query_scale", exact_json(decision.witness->key_scale)},
                              {"output", exact_json(decision.witness->own)},
                              {"pooled_output", exact_json(decision.witness->pooled)}};
  }
  json["certificate"] = decision.certificate;
  return json;
}

std::string vector_text(const RationalVector& values) {
  constexpr std::size_t most = 8;
  std::string text = "(";
  for (std::size_t i = 0; i < std::min(values.size(), most); ++i) {
    text += (i > 0 ? ", " : "") + to_text(values[i]);
  }
  return text + (values.size() > most ? ", ...)" : ")");
}

std::string decision_text(const GroupDecision& decision) {
  std::string text = fmt::format("batch {}, KV head {}: ", decision.batch, decision.kv_head);
  if (!decision.loss) return text + "lossless, for every query\n";
  text += fmt::format("LOSES at head {} of its group, over the first {} position{}\n",
                      decision.loss->head, decision.loss->positions,
                      decision.loss->positions == 1 ? "" : "s");
  if (decision.witness) {
    text += fmt::format("  with the query {} x ln{}: {} becomes {}\n",
                        to_text(decision.witness->key_scale), vector_text(decision.witness->bases),
                        vector_text(decision.witness->own), vector_text(decision.witness->pooled));
  }
  for (std::size_t h = 0; h < decision.at_equal_scores.size(); ++h) {
    text += fmt::format("  at equal scores head {} loses {}\n", h,
                        vector_text(decision.at_equal_scores[h]));
  }
  return text;
}

std::string match_text(const RuleMatch& match) {
  return fmt::format("{:<16} {}; largest difference {}\n", name(match.rule),
                     match.matches ? "matches" : "does not match", to_text(match.max_difference));
}

// The pair's entry; every claim in it is decided here.
Json smallest_entry(std::int64_t q_heads, std::int64_t kv_heads) {
  Json entry{{"q_num_heads", q_heads}, {"kv_num_heads", kv_heads}};
  const auto by_value = smallest_pooling_loss(q_heads, kv_heads);
  const auto by_key = smallest_key_pooling_loss(q_heads, kv_heads);
  entry["lossless"] = !by_value.has_value();
  for (const auto& [field, group] : {std::pair{"values", by_value}, std::pair{"keys", by_key}}) {
    if (!group) continue;
    const GroupDecision decision = decide({0, 0, *group}, PooledPositions::all);
    if (!decision.loss) throw std::logic_error("a smallest counterexample loses nothing");
    entry[field] = decision_json(decision);
  }
  return entry;
}

}  // namespace

bool PoolReport::holds() const {
  if (kind == "conversion") return !conversion.empty() && conversion[0].matches;
  for (const GroupDecision& decision : histories) {
    if (decision.loss) return false;
  }
  for (const WeightDecision& decision : weights) {
    if (decision.loss) return false;
  }
  return !histories.empty() || !weights.empty() || kind == "smallest";
}

PoolReport pool_report(const PoolInput& input, std::int64_t kv_heads, PooledPositions positions) {
  PoolReport report;
  if (input.has("heads")) {
    report.kind = "conversion";
    report.conversion = identify_pooling(head_rows(input.tensors.at("heads")),
                                         head_rows(input.tensors.at("pooled")), input.format);
  } else if (input.has("key_weight")) {
    report.kind = "weights";
    for (std::int64_t g = 0; g == 0 || g < kv_heads; ++g) {
      report.weights.push_back(decide(projections_of_group(input, kv_heads, g)));
    }
  } else {
    report.kind = "histories";
    for (const PlacedGroup& placed : groups_of(input, kv_heads)) {
      report.histories.push_back(decide(placed, positions));
    }
  }
  return report;
}

PoolReport smallest_report(std::int64_t max_heads) {
  if (max_heads < 1 || max_heads > 64) {
    throw InputError("pooling.max_heads", "--smallest", "must be from 1 to 64");
  }
  PoolReport report;
  report.kind = "smallest";
  report.smallest = Json::array();
  for (std::int64_t q_heads = 1; q_heads <= max_heads; ++q_heads) {
    for (std::int64_t kv_heads = 1; kv_heads <= q_heads; ++kv_heads) {
      if (q_heads % kv_heads == 0) report.smallest.push_back(smallest_entry(q_heads, kv_heads));
    }
  }
  return report;
}

std::string pool_text(const PoolReport& report) {
  std::string text;
  for (const GroupDecision& decision : report.histories) text += decision_text(decision);
  for (std::size_t g = 0; g < report.weights.size(); ++g) {
    text += fmt::format("KV head {}: {}\n", g, weight_text(report.weights[g]));
  }
  for (const RuleMatch& match : report.conversion) text += match_text(match);
  for (const Json& entry : report.smallest) {
    text += fmt::format("{} query heads on {} KV heads: ", entry["q_num_heads"].get<int>(),
                        entry["kv_num_heads"].get<int>());
    if (entry["lossless"].get<bool>()) {
      text += "lossless, each head is its own mean\n";
      continue;
    }
    const Json& found = entry["values"]["counterexample"];
    text += fmt::format("one position, value 1 in one head, 0 in the others: {} becomes {}\n",
                        found["output"][0].get<std::string>(),
                        found["pooled_output"][0].get<std::string>());
  }
  if (report.kind == "smallest") return text;
  if (report.kind == "conversion") {
    return text +
           (report.holds() ? "the mean of adjacent heads\n" : "NOT the mean of adjacent heads\n");
  }
  return text + (report.holds() ? "lossless\n" : "NOT lossless\n");
}

Json pool_json(const PoolReport& report) {
  Json json{{"schema", "gqaverify.pool/1"}, {"kind", report.kind}, {"holds", report.holds()}};
  if (report.kind == "histories") {
    json["groups"] = Json::array();
    for (const GroupDecision& one : report.histories) json["groups"].push_back(decision_json(one));
  }
  if (report.kind == "weights") {
    json["groups"] = Json::array();
    for (std::size_t g = 0; g < report.weights.size(); ++g) {
      json["groups"].push_back({{"kv_head", g},
                                {"verdict", word(report.weights[g].loss)},
                                {"statement", report.weights[g].statement},
                                {"certificate", report.weights[g].certificate}});
    }
  }
  if (report.kind == "conversion") {
    json["rules"] = Json::array();
    for (const RuleMatch& match : report.conversion) {
      json["rules"].push_back({{"rule", name(match.rule)},
                               {"matches", match.matches},
                               {"max_difference", exact_json(match.max_difference)}});
    }
  }
  if (report.kind == "smallest") json["pairs"] = report.smallest;
  return json;
}

}  // namespace gqa
