#include "gqa/diagnose/explain/explanation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace gqa {

std::string Explanation::describe() const {
  std::vector<std::string> names;
  for (const Fault& fault : faults) names.push_back(fault.describe());
  return fmt::format("{}", fmt::join(names, " + "));
}

std::string Explanation::sentence() const {
  if (faults.empty()) return place_sentence;
  std::vector<std::string> sentences;
  for (const Fault& fault : faults) {
    const std::string said =
        fault.sentence.empty() ? std::string(fault.kind->sentence) : fault.sentence;
    const bool begins_with_name = family(*fault.kind) == "content";
    const std::string subject = tensor == "output" ? "the output" : tensor;
    sentences.push_back(begins_with_name ? fmt::format("{} {}", subject, said) : said);
  }
  const std::string joined = fmt::format("{}", fmt::join(sentences, "; and "));
  const bool tells_tensor =
      tensor == "output" || (!faults.empty() && family(*faults.front().kind) == "content");
  return tells_tensor ? joined : fmt::format("{}: {}", tensor, joined);
}

bool Explanation::is_of_catalogue() const {
  return !faults.empty() && std::ranges::none_of(faults, [](const Fault& fault) {
    return bool(fault.measured) || is_read_off_data(*fault.kind);
  });
}

bool Explanation::same_slugs(const Explanation& other) const {
  return std::ranges::equal(faults, other.faults, {}, &Fault::kind, &Fault::kind);
}

Behaviour edited(const Behaviour& declared, std::span<const Fault> faults) {
  Behaviour behaviour = declared;
  for (const Fault& fault : faults) {
    Behaviour next = behaviour;
    if (fault.apply(next) != Edit::not_applicable) behaviour = std::move(next);
  }
  return behaviour;
}

std::vector<DiagnosisCase> under_tolerance(std::span<const DiagnosisCase> cases,
                                           const Tolerance& tolerance) {
  std::vector<DiagnosisCase> all(cases.begin(), cases.end());
  for (DiagnosisCase& problem : all) problem.tolerance = tolerance;
  return all;
}

std::vector<RowPlace> places_of(const Behaviour& behaviour, std::int64_t limit) {
  const std::int64_t total = behaviour.batch() * behaviour.query_heads() * behaviour.queries();
  const std::int64_t count = std::min(limit, total);
  std::vector<RowPlace> places;
  for (std::int64_t n = 0; n < count; ++n) {
    // Spread evenly; rows vary fastest, so that every head is met.
    const std::int64_t index =
        count == total ? n : n * total / count + (n * 7919) % (total / count);
    const std::int64_t row = index % behaviour.queries();
    const std::int64_t batch_head = index / behaviour.queries();
    places.push_back(
        {batch_head / behaviour.query_heads(), batch_head % behaviour.query_heads(), row});
  }
  return places;
}

std::vector<RowPlace> spread_out(const std::vector<RowPlace>& places, std::size_t count) {
  if (places.size() <= count) return places;
  std::vector<RowPlace> chosen;
  for (std::size_t n = 0; n < count; ++n) {
    chosen.push_back(places[n * (places.size() - 1) / (count - 1)]);
  }
  return chosen;
}

}  // namespace gqa
