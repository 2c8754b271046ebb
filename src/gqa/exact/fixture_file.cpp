#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "gqa/error.hpp"
#include "gqa/exact/fixture.hpp"
#include "gqa/io/directory.hpp"
#include "gqa/io/file.hpp"
#include "gqa/io/json.hpp"
#include "gqa/io/natural_order.hpp"

namespace gqa {
namespace {

// What a document says it expects, read leniently: a fixture may be there to show that
// its own text is refused.
std::optional<ExpectedError> stated_error(const std::string& text) {
  const auto lenient = nlohmann::json::parse(text, nullptr, false);
  if (lenient.is_discarded()) return std::nullopt;
  return expected_error(lenient);
}

std::string stated_field(const std::string& text, const char* field) {
  const auto lenient = nlohmann::json::parse(text, nullptr, false);
  if (!lenient.is_object() || !lenient.contains(field) || !lenient[field].is_string()) return "";
  return lenient[field].get<std::string>();
}

nlohmann::json document_of(const std::string& text) {
  nlohmann::json document = parse_json_strictly(text, "");
  require_moderate_exponents(document, "");
  return document;
}

FixtureReport check_negative(const std::string& text, const ExpectedError& expected) {
  FixtureReport report;
  report.negative = true;
  report.name = stated_field(text, "name");
  report.statement = stated_field(text, "statement");
  try {
    attention(read_fixture(document_of(text)).problem);
    report.failures.push_back(fmt::format("nothing was refused; expected error {}", expected.code));
  } catch (const InputError& error) {
    report.observed_error = error.code();
    const bool place_fits =
        !expected.where || error.where().find(*expected.where) != std::string::npos;
    if (error.code() != expected.code || !place_fits) {
      report.failures.push_back(fmt::format("refused with {} at \"{}\"; expected {} at \"{}\"",
                                            error.code(), error.where(), expected.code,
                                            expected.where.value_or("")));
    }
  }
  report.passed = report.failures.empty();
  return report;
}

}  // namespace

FixtureReport check_fixture_file(const std::filesystem::path& path) {
  const std::string text = read_text_file(path);
  FixtureReport report;
  if (const auto expected = stated_error(text)) {
    report = check_negative(text, *expected);
  } else {
    try {
      report = check_fixture(read_fixture(document_of(text)));
    } catch (const InputError& error) {
      throw error.within(path.string());
    }
  }
  report.path = path.string();
  if (report.name != path.stem().string()) {
    report.failures.push_back(fmt::format("the name \"{}\" is not that of the file", report.name));
    report.passed = false;
  }
  return report;
}

std::vector<std::filesystem::path> find_fixtures(const std::vector<std::filesystem::path>& paths) {
  std::vector<std::filesystem::path> found;
  std::error_code error;
  for (const std::filesystem::path& path : paths) {
    const std::filesystem::file_status status = std::filesystem::status(path, error);
    if (status.type() == std::filesystem::file_type::not_found) {
      throw InputError("file.not_found", path.string(), "does not exist");
    }
    if (error) throw InputError("file.unreadable", path.string(), error.message());
    if (!std::filesystem::is_directory(status)) {
      found.push_back(path);
      continue;
    }
    for (const std::filesystem::path& entry : visible_entries(path)) {
      if (entry.extension() == ".json") found.push_back(entry);
    }
  }
  if (found.empty())
    throw InputError("fixture.none_found",
                     paths.empty() ? std::string("PATH") : paths.front().string(),
                     "holds no fixture (.json)");
  std::ranges::sort(found, natural_path_less);
  return found;
}

}  // namespace gqa
