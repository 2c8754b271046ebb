#include "gqa/io/backend_test.hpp"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "gqa/error.hpp"
#include "gqa/io/directory.hpp"
#include "gqa/io/json.hpp"
#include "gqa/io/onnx_attention.hpp"
#include "gqa/io/onnx_model.hpp"
#include "gqa/io/onnx_tensor.hpp"

namespace gqa {
namespace {

namespace fs = std::filesystem;

// The number N of "PREFIX N", without leading zeros.
std::optional<std::uint32_t> number_behind(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  if (fmt::to_string(number) != name) return std::nullopt;
  return number;
}

std::map<std::uint32_t, fs::path> data_sets_of(const fs::path& directory) {
  std::map<std::uint32_t, fs::path> data_sets;
  for (const fs::path& entry : visible_entries(directory)) {
    const auto number = number_behind(entry.filename().string(), "test_data_set_");
    std::error_code ignored;
    if (number && fs::is_directory(entry, ignored)) data_sets.emplace(*number, entry);
  }
  if (data_sets.empty()) {
    throw InputError("backend_test.no_data_sets", directory.string(),
                     "has a model.onnx and no directory test_data_set_0");
  }
  return data_sets;
}

// Reads PREFIX_0.pb, PREFIX_1.pb, ... as the values `names`; takes them off `files`.
void read_values(const fs::path& data_set, const std::string& prefix,
                 const std::vector<std::string>& names, std::set<fs::path>& files,
                 OnnxValues& values) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    const fs::path path = data_set / fmt::format("{}_{}.pb", prefix, i);
    OnnxTensor read = read_onnx_tensor(path);
    if (!read.name.empty() && read.name != names[i]) {
      throw InputError("backend_test.name_mismatch", path.string() + ": name",
                       fmt::format("the tensor is called \"{}\", the graph's {} {} \"{}\"",
                                   printable(read.name), prefix, i, printable(names[i])));
    }
    values[names[i]] = std::make_shared<const TypedTensor>(std::move(read.tensor));
    files.erase(path);
  }
}

Recording read_data_set(const OnnxModel& model, const fs::path& data_set,
                        const std::string& model_path) {
  const std::vector<fs::path> entries = visible_entries(data_set);
  std::set<fs::path> files(entries.begin(), entries.end());
  OnnxValues values;
  read_values(data_set, "input", model.inputs, files, values);
  read_values(data_set, "output", model.outputs, files, values);
  if (!files.empty()) {
    throw InputError("backend_test.unexpected_file", files.begin()->string(),
                     fmt::format("the graph has {} inputs and {} outputs", model.inputs.size(),
                                 model.outputs.size()));
  }
  Recording recording = bind_onnx_attention(model, values, model_path);
  recording.path = data_set.string();
  return recording;
}

}  // namespace

std::vector<Recording> read_backend_test(const fs::path& directory) {
  const fs::path model_path = directory / "model.onnx";
  const OnnxModel model = read_onnx_model(model_path);
  std::vector<Recording> recordings;
  for (const auto& [number, data_set] : data_sets_of(directory)) {
    recordings.push_back(read_data_set(model, data_set, model_path.string()));
  }
  return recordings;
}

}  // namespace gqa
