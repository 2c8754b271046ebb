#include "gqa/diagnose/local/reordered_pages.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "gqa/diagnose/local/key_shares.hpp"
#include "gqa/num/arithmetic.hpp"

namespace gqa {
namespace {

constexpr std::array<std::int64_t, 8> page_sizes{8, 16, 32, 64, 128, 256, 512, 1024};

// Page `ends_early` of `size` keys comes last instead of the one that is not full.
struct PageOrder {
  std::int64_t size = 0;
  std::int64_t length = 0;
  std::int64_t ends_early = 0;

  std::int64_t full_pages() const { return length / size; }
  IndexRange skipped() const {
    return {ends_early * size + length % size, (ends_early + 1) * size - 1};
  }
  IndexRange beyond() const { return {length, (full_pages() + 1) * size - 1}; }
};

// Does every row see all keys up to its length, whatever position it has?
bool sees_whole_length(const Behaviour& b) {
  const Contract& contract = b.contract;
  const bool ends_with_length =
      !contract.causal ||
      (b.queries() == 1 && contract.causal_alignment != CausalAlignment::top_left);
  return b.lengths && !b.documents && !b.mask && !b.bias && !b.slopes && b.past() == 0 &&
         contract.window.is_unbounded() && ends_with_length;
}

// The length of all batch entries with wrong rows; nullopt if they have several.
std::optional<std::int64_t> common_length(const LocalEvidence& evidence) {
  const auto& lengths = *evidence.problem.declared.lengths;
  const auto length_of = [&](const RowPlace& place) { return lengths[extent(place.batch)]; };
  const std::int64_t first = length_of(evidence.witnesses.front());
  const bool is_common = std::ranges::all_of(
      evidence.wrong.places(), [&](const RowPlace& place) { return length_of(place) == first; });
  return is_common ? std::optional(first) : std::nullopt;
}

Edit reorder(Behaviour& behaviour, const PageOrder& order) {
  // Beyond every key at both ends: positions move with the length.
  constexpr std::int64_t far = std::int64_t{1} << 40;
  behaviour.range_override = {-far, far};
  for (std::int64_t& length : *behaviour.lengths) {
    if (length == order.length) length = order.beyond().last + 1;
  }
  const IndexRange skipped = order.skipped();
  behaviour.key_shares.push_back({skipped.first, skipped.last, 0});
  return Edit::changed;
}

std::string page_words(const PageOrder& order) {
  const IndexRange skipped = order.skipped(), beyond = order.beyond();
  return fmt::format("{} {} not read, and {} beyond the length of {} {}", describe_keys(skipped),
                     skipped.first == skipped.last ? "is" : "are", describe_keys(beyond),
                     order.length, beyond.first == beyond.last ? "is" : "are");
}

// "32 (page 1 last) or 64 (page 0 last)": all sizes that come to the same keys.
std::string sizes_of_pages(const PageOrder& order, std::int64_t keys) {
  std::vector<std::string> all;
  for (const std::int64_t size : page_sizes) {
    PageOrder other{size, order.length, 0};
    const bool is_same_end = order.length % size != 0 && other.beyond() == order.beyond();
    if (!is_same_end || other.beyond().last >= keys) continue;
    other.ends_early = order.skipped().first / size;
    if (other.skipped() != order.skipped()) continue;
    all.push_back(fmt::format("{} (page {} last)", size, other.ends_early));
  }
  return fmt::format("{}", fmt::join(all, " or "));
}

}  // namespace

std::optional<Explanation> reordered_pages(const LocalEvidence& evidence) {
  const Behaviour& b = evidence.problem.declared;
  if (!sees_whole_length(b) || evidence.region.columns) return std::nullopt;
  const auto length = common_length(evidence);
  if (!length) return std::nullopt;
  for (const std::int64_t size : page_sizes) {
    PageOrder order{size, *length, 0};
    if (*length % size == 0 || order.beyond().last >= b.keys()) continue;
    for (; order.ends_early < order.full_pages(); ++order.ends_early) {
      const Fault fault{&keys_reordered, 0,
                        [order](Behaviour& behaviour) { return reorder(behaviour, order); },
                        "pages of " + sizes_of_pages(order, b.keys())};
      auto found = confirmed_explanation(evidence, fault, {}, [&](const Region& region) {
        return fmt::format("{}{}, as where pages of {} keys are taken in another order",
                           page_words(order), in_place(region), sizes_of_pages(order, b.keys()));
      });
      if (found) return found;
    }
  }
  return std::nullopt;
}

}  // namespace gqa
