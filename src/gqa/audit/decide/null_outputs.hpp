// Would outputs that say nothing have passed as well?
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace gqa {

/// An output in place of the recorded one. The first three have nothing of the right answer in them
/// that a check could be content with: an allowance that lets one of them pass shows nothing.
enum class NullOutput { zeros, negated, doubled, halved };
inline constexpr std::array null_outputs{NullOutput::zeros, NullOutput::negated,
                                         NullOutput::doubled, NullOutput::halved};

/// "zeros", "negated", ...
const char* word(NullOutput null);
/// "zeros", "the negated output", ...
std::string name(NullOutput null);

/// In how many rows null outputs would have failed under the allowances of an audit. Sums, so that
/// any order of merging gives the same.
struct NullCounts {
  std::int64_t rows = 0;  ///< with an element whose exact value is certainly not zero
  std::array<std::int64_t, null_outputs.size()> refuted{};  ///< of those, at least

  std::int64_t refuted_in(NullOutput null) const { return refuted[static_cast<std::size_t>(null)]; }
  void merge(const NullCounts& other);
  /// Those that would have passed, or were not shown to fail, although they differ from the exact
  /// output; empty without rows.
  std::vector<NullOutput> passing() const;
  /// Does one pass that alone makes a pass mean nothing (halved does not)?
  bool shows_nothing() const;
};

/// One row on its way to the counts. An output in place of o is |o| away from it (zeros and
/// doubled), 2 |o| (negated) or |o|/2 (halved).
class NullRow {
 public:
  /// An element with an exact value of magnitude `least` or more and an allowance of at most
  /// `allowed`; infinite or NaN: nothing is refuted.
  void add(double least, double allowed) {
    if (!(least > 0)) return;
    counts_ = true;
    if (least > allowed) zeros_ = true;
    if (2 * least > allowed) negated_ = true;
    if (least / 2 > allowed) halved_ = true;
  }
  /// Is every null output refuted?
  bool is_settled() const { return halved_; }
  bool refutes_zeros() const { return zeros_; }
  bool counts() const { return counts_; }
  void add_to(NullCounts& counts) const;

 private:
  bool counts_ = false;
  bool zeros_ = false;
  bool negated_ = false;
  bool halved_ = false;
};

}  // namespace gqa
