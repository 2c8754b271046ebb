#include "gqa/diagnose/arithmetic/entry.hpp"

#include <algorithm>
#include <utility>

namespace gqa {

std::string_view name(ReadingStatus status) {
  switch (status) {
    case ReadingStatus::known:
      return "known";
    case ReadingStatus::open:
      return "open";
    case ReadingStatus::not_identifiable:
      break;
  }
  return "not identifiable";
}

ArithmeticEntry arithmetic_entry(std::string entry, std::vector<std::string> values,
                                 std::string shown_by, std::string note) {
  std::vector<std::string> distinct;
  for (std::string& value : values) {
    if (std::ranges::find(distinct, value) == distinct.end()) distinct.push_back(std::move(value));
  }
  const ReadingStatus status = distinct.empty()       ? ReadingStatus::not_identifiable
                               : distinct.size() == 1 ? ReadingStatus::known
                                                      : ReadingStatus::open;
  return {std::move(entry), std::move(distinct), status, std::move(shown_by), std::move(note)};
}

}  // namespace gqa
