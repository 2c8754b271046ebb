// The frame of every page: head, style, the verdict at the top, landmarks.
#pragma once

#include <string>
#include <vector>

#include "gqa/audit/audit.hpp"
#include "gqa/report/html/markup.hpp"
#include "gqa/report/html/page_origin.hpp"

namespace gqa::html {

/// How a page, a case or a rule stands; a word and a mark go with every colour.
enum class Standing { good, bad, open, broken };
Standing standing_of(Verdict verdict);

/// "✓ pass": the mark is hidden from screen readers, the word is not.
Markup badge(Standing standing, std::string_view word);
Markup badge(Verdict verdict);

struct Section {
  std::string id;
  std::string title;
  Markup content;
};

struct Page {
  std::string kind;   ///< "audit": part of the title
  std::string title;  ///< "Audit of 47 recordings"
  Standing standing = Standing::open;
  std::string verdict;  ///< "Fail"
  Markup summary;       ///< a sentence or two beside the verdict
  std::vector<Section> sections;
  PageOrigin origin = {};      ///< told at the end
  std::string footnote;        ///< what the page's figures mean; may be empty
  bool can_be_sorted = false;  ///< it has a table whose rows can be sorted
};

/// The footnote of pages with certified errors.
inline constexpr const char* certified_footnote =
    "Errors, bounds and verdicts on this page are certified: they hold for the exact real-valued "
    "result, not for another float implementation. One ulp is the spacing of the output's format "
    "at the exact value.";

/// One file without anything from elsewhere: its own content security policy forbids connections
/// and everything but its style and, where a table can be sorted, the one script that does so, by
/// its digest. The same input gives the same bytes.
std::string page_text(const Page& page);

/// The last part of a path.
std::string file_name(const std::string& path);

}  // namespace gqa::html
