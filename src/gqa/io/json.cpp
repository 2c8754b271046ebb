#include "gqa/io/json.hpp"

#include <fmt/format.h>

#include <set>
#include <utility>
#include <vector>

#include "gqa/error.hpp"

namespace gqa {
namespace {

using Json = nlohmann::json;

// Watches a parse, knows where it is, and stops it at the first breach.
class StrictWatcher {
 public:
  explicit StrictWatcher(const std::string& where) : where_(where) {}

  void on_event(Json::parse_event_t event, const Json& value) {
    switch (event) {
      case Json::parse_event_t::object_start:
      case Json::parse_event_t::array_start:
        next_element();
        open(event == Json::parse_event_t::array_start);
        break;
      case Json::parse_event_t::value:
        next_element();
        break;
      case Json::parse_event_t::key:
        on_key(value.get_ref<const std::string&>());
        break;
      case Json::parse_event_t::object_end:
      case Json::parse_event_t::array_end:
        levels_.pop_back();
        break;
    }
  }

 private:
  struct Level {
    bool is_array = false;
    long index = -1;
    std::string key;
    std::set<std::string> keys;
  };

  void next_element() {
    if (!levels_.empty() && levels_.back().is_array) ++levels_.back().index;
  }
  void open(bool is_array) {
    if (levels_.size() == static_cast<std::size_t>(max_json_depth)) {
      throw InputError("json.too_deep", place(),
                       fmt::format("nests deeper than {} levels", max_json_depth));
    }
    levels_.push_back({is_array, -1, {}, {}});
  }
  void on_key(const std::string& key) {
    Level& level = levels_.back();
    level.key = key;
    if (!level.keys.insert(key).second) {
      throw InputError("json.duplicate_key", place(), "the key is given twice");
    }
  }

  std::string place() const {
    std::string path;
    for (const Level& level : levels_) {
      if (level.is_array) {
        path += fmt::format("[{}]", level.index);
      } else {
        path += (path.empty() ? "" : ".") + printable(level.key);
      }
    }
    return fmt::format("{}: {}", where_, path);
  }

  const std::string& where_;
  std::vector<Level> levels_;
};

// The library's text behind its "[json.exception.parse_error.101] " tag.
std::string reason_of(const Json::exception& error) {
  const std::string_view text = error.what();
  const std::size_t tag_end = text.find("] ");
  return printable(tag_end == std::string_view::npos ? text : text.substr(tag_end + 2));
}

}  // namespace

Json parse_json_strictly(std::string_view text, const std::string& where) {
  // The library takes a NUL for the end of the text and would ignore the rest.
  const std::size_t nul = text.find('\0');
  if (nul != std::string_view::npos) {
    throw InputError("json.syntax", where, fmt::format("at byte {}: a NUL is not JSON", nul));
  }
  StrictWatcher watcher(where);
  const auto watch = [&watcher](int, Json::parse_event_t event, Json& value) {
    watcher.on_event(event, value);
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::parse_error& error) {
    // The library counts from one, and counts the byte it stumbled over.
    const std::size_t offset = error.byte == 0 ? 0 : error.byte - 1;
    throw InputError("json.syntax", where, fmt::format("at byte {}: {}", offset, reason_of(error)));
  } catch (const Json::out_of_range& error) {
    throw InputError("json.syntax", where, reason_of(error));
  }
}

std::string printable(std::string_view text) {
  constexpr std::size_t limit = 160;
  const std::string quoted =
      Json(text.substr(0, limit)).dump(-1, ' ', true, Json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2) + (text.size() > limit ? "..." : "");
}

}  // namespace gqa
