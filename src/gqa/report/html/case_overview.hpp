// Many audited cases: what is wrong with them, a table of all, and each in a section of its own.
#pragma once

#include <string>
#include <vector>

#include "gqa/report/audit_report.hpp"
#include "gqa/report/html/audit_case_section.hpp"
#include "gqa/report/html/markup.hpp"

namespace gqa::html {

class CaseOverview {
 public:
  /// Cases shown in full, failures first; all are in the table.
  static constexpr std::size_t most_details = 250;
  /// Bytes of details after which cases are told without pictures.
  static constexpr std::size_t room_for_pictures = 1'000'000;
  /// Of so many cases, long heat maps are shown part by part as well, and passes are printed.
  static constexpr std::size_t most_with_parts = 12;
  /// Of fewer cases, all are seen at once: there is nothing to filter and to sort.
  static constexpr std::size_t fewest_sorted = 8;

  /// Keeps a reference. Precondition: not empty.
  explicit CaseOverview(const std::vector<AuditCase>& cases);

  /// " in NAME": the last folder that all paths have in common, if any.
  std::string folder() const;
  /// The named faults and how many cases they explain; empty without any.
  Markup faults() const;
  Markup table() const;
  bool is_sortable() const { return cases_.size() >= fewest_sorted; }
  /// Which verdicts the table shows; empty where there is nothing to choose.
  Markup filter() const;
  Markup details() const;

 private:
  std::string label(const AuditCase& entry) const;
  Markup link(std::size_t number) const;
  Markup detail(std::size_t number, CaseDetail amount) const;

  const std::vector<AuditCase>& cases_;
  std::size_t prefix_ = 0;          ///< what all paths begin with, up to a separator
  std::size_t suffix_ = 0;          ///< what all paths end with, from a separator
  std::vector<std::size_t> order_;  ///< of the table: worst first, otherwise as given
  std::vector<char> is_detailed_;
  std::vector<Markup> details_;  ///< of each case, empty where none is shown
  std::size_t without_pictures_ = 0;
};

}  // namespace gqa::html
