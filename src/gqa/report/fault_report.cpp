#include "gqa/report/fault_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "gqa/attention/problem_tensor_names.hpp"
#include "gqa/diagnose/probes/fault_example.hpp"

namespace gqa {
namespace {

// Beyond that many elements a tensor is told by its shape alone.
constexpr std::size_t shown_elements = 16;

std::string number(double x) {
  return std::isnan(x) ? "NaN" : fmt::format("{:.6g}", x);
}

std::string row_text(const std::vector<double>& row) {
  std::vector<std::string> numbers;
  for (const double x : row) numbers.push_back(number(x));
  if (numbers.size() > shown_elements) {
    numbers.resize(shown_elements);
    numbers.push_back("...");
  }
  return fmt::format("{}", fmt::join(numbers, ", "));
}

std::string elements_text(const TypedTensor& tensor) {
  if (float_format(tensor.type) != nullptr) return row_text(decode(tensor, "example").data());
  const auto integers = decode_integers(tensor, "example").data();
  return fmt::format("{}", fmt::join(integers, ", "));
}

std::string tensor_text(const TypedTensor& tensor) {
  std::string text = fmt::format("[{}]", fmt::join(tensor.shape, ", "));
  const bool is_short = static_cast<std::size_t>(element_count(tensor.shape)) <= shown_elements;
  // Masks are told by their shape.
  if (is_short && tensor.type != ElementType::boolean) {
    text += fmt::format(" = ({})", elements_text(tensor));
  }
  return text;
}

std::vector<std::string> operand_lines(const ProblemTensors& tensors) {
  std::vector<std::string> lines;
  for (const NamedProblemTensor& input : input_tensors()) {
    const auto& tensor = tensors.*input.field;
    if (tensor) lines.push_back(fmt::format("{} {}", input.name, tensor_text(*tensor)));
  }
  return lines;
}

std::string place(const FaultExample& example) {
  return fmt::format("output [{}, {}, {}, :]", example.batch, example.head, example.row);
}

std::int64_t key_size(const FaultExample& example) {
  const std::int64_t width = example.probe.tensors.query->shape.back();
  return example.probe.contract.q_num_heads ? width / *example.probe.contract.q_num_heads : width;
}

std::string parameters_text(const FaultKind& kind) {
  std::vector<std::string> texts;
  for (const std::int64_t parameter : kind.parameters) {
    texts.push_back(fmt::format(fmt::runtime(kind.parameter_name), parameter));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string example_text(const FaultExample& example) {
  std::string text =
      fmt::format("  smallest probe that shows it: {} ({})\n    {}\n", example.probe.name,
                  example.probe.reads, describe(example.probe.contract, key_size(example)));
  for (const std::string& line : operand_lines(example.probe.tensors)) {
    text += fmt::format("    {}\n", line);
  }
  return text + fmt::format("    {}: right ({}), wrong ({})\n", place(example),
                            row_text(example.right), row_text(example.wrong));
}

std::string example_markdown(const FaultExample& example) {
  std::string text =
      fmt::format("- smallest probe: `{}`, {}; {}\n", example.probe.name, example.probe.reads,
                  describe(example.probe.contract, key_size(example)));
  text +=
      fmt::format("- operands: `{}`\n", fmt::join(operand_lines(example.probe.tensors), "`, `"));
  return text + fmt::format("- `{}`: right `({})`, wrong `({})`\n", place(example),
                            row_text(example.right), row_text(example.wrong));
}

// A sentence on contents begins with the name of the tensor that it is about.
std::string sentence_text(const FaultKind& kind) {
  return (family(kind) == "content" ? "the tensor " : "") + std::string(kind.sentence);
}

bool is_measured(const FaultKind& kind) {
  return find_fault(kind.slug) == nullptr;
}

// How a kind is found that is no edit to search for.
std::string found_by(const FaultKind& kind) {
  const std::string_view how = family(kind) == "gradient"
                                   ? "found by comparing a recorded gradient with what this gives"
                                   : "read off the data, where no known fault explains them";
  if (kind.measurement.empty()) return std::string(how);
  return fmt::format("{}; in parentheses: {}", how, kind.measurement);
}

std::string kind_markdown(const FaultKind& kind) {
  std::string text = fmt::format("### `{}`\n\n{}.\n\n- wrong formula: `{}`\n", kind.slug,
                                 sentence_text(kind), kind.formula);
  if (is_measured(kind)) return text + fmt::format("- {}\n\n", found_by(kind));
  if (!kind.parameters.empty()) text += fmt::format("- with: {}\n", parameters_text(kind));
  const auto example = smallest_example(kind);
  return text +
         (example ? example_markdown(*example) : "- no probe shows it by its output alone\n") +
         "\n";
}

std::string kind_text(const FaultKind& kind) {
  std::string text =
      fmt::format("{}\n  {}\n  wrong formula: {}\n", kind.slug, sentence_text(kind), kind.formula);
  if (is_measured(kind)) return text + fmt::format("  {}\n", found_by(kind));
  if (!kind.parameters.empty()) text += fmt::format("  with: {}\n", parameters_text(kind));
  const auto example = smallest_example(kind);
  return text + (example ? example_text(*example) : "  no probe shows it by its output alone\n");
}

}  // namespace

std::string fault_list(std::span<const FaultKind* const> kinds) {
  std::string text;
  for (const FaultKind* kind : kinds) {
    text += fmt::format("{:34} {}\n", kind->slug, sentence_text(*kind));
  }
  return text;
}

std::string fault_text(std::span<const FaultKind* const> kinds) {
  std::string text;
  for (const FaultKind* kind : kinds) text += (text.empty() ? "" : "\n") + kind_text(*kind);
  return text;
}

std::string fault_markdown(std::span<const FaultKind* const> kinds) {
  std::string text =
      "# Faults that gqaverify names\n\n"
      "Made by `gqaverify faults --markdown FILE`; a test keeps it up to date. These are all names "
      "that\na report can print. Most are edits of what an implementation does: the wrong formula, "
      "and the\nsmallest of gqaverify's probes on which the right and the wrong output differ, "
      "rounded "
      "to six\ndigits. Others are read off the data, with what was found in parentheses.\n";
  std::string_view last;
  for (const FaultKind* kind : kinds) {
    if (family(*kind) != last) text += fmt::format("\n## {}\n\n", last = family(*kind));
    text += kind_markdown(*kind);
  }
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

nlohmann::ordered_json faults_json(std::span<const FaultKind* const> kinds) {
  nlohmann::ordered_json json{{"schema", "gqaverify.faults/1"}};
  json["faults"] = nlohmann::ordered_json::array();
  for (const FaultKind* kind : kinds) {
    nlohmann::ordered_json fault{{"name", kind->slug},
                                 {"family", family(*kind)},
                                 {"sentence", sentence_text(*kind)},
                                 {"wrong_formula", kind->formula},
                                 {"measured", is_measured(*kind)},
                                 {"parameters", kind->parameters}};
    const auto texts = [](const std::vector<double>& row) {
      std::vector<std::string> numbers;
      for (const double x : row) numbers.push_back(number(x));
      return numbers;
    };
    if (!kind->measurement.empty()) fault["measurement"] = kind->measurement;
    if (is_measured(*kind)) {
      json["faults"].push_back(std::move(fault));
      continue;
    }
    if (const auto example = smallest_example(*kind)) {
      fault["example"] = {{"probe", example->probe.name},
                          {"index", {example->batch, example->head, example->row}},
                          {"right", texts(example->right)},
                          {"wrong", texts(example->wrong)}};
    }
    json["faults"].push_back(std::move(fault));
  }
  return json;
}

}  // namespace gqa
