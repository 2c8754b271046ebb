#include <pybind11/stl.h>

#include <chrono>
#include <optional>

#include "bindings.hpp"
#include "gqa/error.hpp"
#include "gqa/report/enumeration_report.hpp"
#include "gqa/report/ledger_report.hpp"

namespace py = pybind11;

namespace gqa::python {
namespace {

std::optional<StorageFormat> format_of(const std::optional<std::string>& text, const char* where) {
  if (!text) return std::nullopt;
  return parse_storage_format(*text, where);
}

// (JSON "gqaverify.ledger/1", text). `config` is the text of a config.json, called `source`.
py::tuple ledger(const std::string& config, const std::string& source,
                 const std::optional<std::string>& key_type,
                 const std::optional<std::string>& value_type, bool pad_blocks,
                 const std::optional<std::int64_t>& positions, std::int64_t batch,
                 std::int64_t ranks, std::int64_t page_size,
                 const std::optional<std::string>& budget) {
  const py::gil_scoped_release release;
  const ModelConfig parsed = parse_model_config(config, source);
  LedgerReport report;
  report.source = source;
  report.model_type = parsed.model_type;
  report.class_defaults = parsed.class_defaults;
  report.model =
      cache_model(parsed, format_of(key_type, "key_type"), format_of(value_type, "value_type"),
                  pad_blocks ? PartialBlock::pad : PartialBlock::refuse);
  report.use = {batch, positions.value_or(0), ranks, page_size};
  report.has_positions = positions.has_value();
  if (budget) report.budget = mpz_class(*budget);
  validate(report.model);
  validate(report.model, report.use);
  const std::string json = ledger_json(report).dump();
  const std::string text = ledger_text(report);
  const py::gil_scoped_acquire acquire;
  return py::make_tuple(json, text);
}

// JSON "gqaverify.enumerate/1".
std::string enumerate(std::int64_t max_heads, const std::string& engine) {
  if (engine != "gmp" && engine != "boost") {
    throw InputError("enumerate.engine", "engine", "\"" + engine + "\" is neither gmp nor boost");
  }
  const py::gil_scoped_release release;
  const auto start = std::chrono::steady_clock::now();
  EnumerationReport report;
  report.result = enumerate_cases(max_heads, engine == "gmp" ? Engine::gmp : Engine::boost);
  report.engine = engine;
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return enumeration_json(report).dump();
}

}  // namespace

void bind_theory(py::module_& module) {
  module.def("ledger", &ledger, py::arg("config"), py::arg("source"), py::arg("key_type"),
             py::arg("value_type"), py::arg("pad_blocks"), py::arg("positions"), py::arg("batch"),
             py::arg("ranks"), py::arg("page_size"), py::arg("budget"));
  module.def("enumerate_cases", &enumerate, py::arg("max_heads"), py::arg("engine"));
}

}  // namespace gqa::python
