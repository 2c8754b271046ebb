// What was read of one habit of a kernel's arithmetic.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gqa {

enum class ReadingStatus {
  known,             ///< one value
  open,              ///< several values, between which the probes could not choose; one is true
  not_identifiable,  ///< nothing that is listed fits, or the kernel refused the probe
};
/// "known", "open", "not identifiable".
std::string_view name(ReadingStatus status);

/// "stored weights: bfloat16".
struct ArithmeticEntry {
  std::string entry;
  std::vector<std::string> values;  ///< every value that fits
  ReadingStatus status = ReadingStatus::not_identifiable;
  std::string shown_by;  ///< the probe, in words
  std::string note;      ///< why nothing is known, or what limits the reading; may be empty

  bool operator==(const ArithmeticEntry&) const = default;
};

/// known for one value, open for several, not_identifiable for none; equal values are one.
ArithmeticEntry arithmetic_entry(std::string entry, std::vector<std::string> values,
                                 std::string shown_by, std::string note = {});

}  // namespace gqa
