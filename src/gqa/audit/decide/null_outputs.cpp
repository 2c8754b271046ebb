#include "gqa/audit/decide/null_outputs.hpp"

#include <algorithm>
#include <iterator>

namespace gqa {

const char* word(NullOutput null) {
  switch (null) {
    case NullOutput::zeros:
      return "zeros";
    case NullOutput::negated:
      return "negated";
    case NullOutput::doubled:
      return "doubled";
    case NullOutput::halved:
      return "halved";
  }
  return "?";
}

std::string name(NullOutput null) {
  const std::string shown = word(null);
  return null == NullOutput::zeros ? shown : "the " + shown + " output";
}

void NullCounts::merge(const NullCounts& other) {
  rows += other.rows;
  for (std::size_t i = 0; i < refuted.size(); ++i) refuted[i] += other.refuted[i];
}

std::vector<NullOutput> NullCounts::passing() const {
  std::vector<NullOutput> passing;
  if (rows == 0) return passing;
  std::ranges::copy_if(null_outputs, std::back_inserter(passing),
                       [this](NullOutput null) { return refuted_in(null) == 0; });
  return passing;
}

bool NullCounts::shows_nothing() const {
  return std::ranges::any_of(passing(), [](NullOutput null) { return null != NullOutput::halved; });
}

void NullRow::add_to(NullCounts& counts) const {
  if (!counts_) return;
  ++counts.rows;
  const auto add = [&counts](NullOutput null, bool refuted) {
    if (refuted) ++counts.refuted[static_cast<std::size_t>(null)];
  };
  add(NullOutput::zeros, zeros_);
  add(NullOutput::negated, negated_);
  add(NullOutput::doubled, zeros_);
  add(NullOutput::halved, halved_);
}

}  // namespace gqa
