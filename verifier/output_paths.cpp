#include "output_paths.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "gqa/error.hpp"
#include "gqa/io/file.hpp"
#include "other_tools.hpp"

namespace gqa::program {
namespace {

namespace fs = std::filesystem;

// What is read out of a folder, by one command or another.
constexpr std::array<std::string_view, 5> read_suffixes{".safetensors", ".npz", ".npy", ".pb",
                                                        ".onnx"};

struct NamedPath {
  std::string flag;
  fs::path path;
};

struct Paths {
  std::vector<NamedPath> outputs;
  std::vector<fs::path> inputs;
};

Paths paths_of(const CLI::App& command) {
  Paths paths;
  for (const CLI::Option* option : command.get_options()) {
    const std::string flag = option->get_name();
    for (const std::string& value : option->results()) {
      if (value.empty() || value == "-") continue;
      std::error_code ignored;
      if (value_is_output(flag)) {
        paths.outputs.push_back({flag, value});
      } else if (fs::exists(value, ignored)) {
        paths.inputs.emplace_back(value);
      }
    }
  }
  for (const CLI::App* chosen : command.get_subcommands()) {
    const Paths more = paths_of(*chosen);
    paths.outputs.insert(paths.outputs.end(), more.outputs.begin(), more.outputs.end());
    paths.inputs.insert(paths.inputs.end(), more.inputs.begin(), more.inputs.end());
  }
  return paths;
}

// The same file: by its identity if it is there, otherwise by its place.
bool is_same(const fs::path& a, const fs::path& b) {
  std::error_code error;
  if (fs::equivalent(a, b, error)) return true;
  const fs::path left = fs::weakly_canonical(a, error);
  if (error) return false;
  const fs::path right = fs::weakly_canonical(b, error);
  return !error && left == right;
}

// Fixtures are JSON; beside recordings it is left alone, so that a report may lie there.
bool is_read_from_folders(const fs::path& path, bool json_too) {
  std::string suffix = path.extension().string();
  std::ranges::transform(suffix, suffix.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::find(read_suffixes, suffix) != read_suffixes.end() ||
         (json_too && suffix == ".json");
}

bool is_inside(const fs::path& file, const fs::path& folder) {
  std::error_code error;
  const fs::path inner = fs::weakly_canonical(fs::absolute(file, error), error);
  const fs::path outer = fs::weakly_canonical(fs::absolute(folder, error), error);
  return !error && std::ranges::mismatch(outer, inner).in1 == outer.end();
}

// A folder of arrays is one recording and holds nothing else.
bool is_recording_folder(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder / "model.onnx", error)) return true;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    if (entry->path().extension() == ".npy") return true;
  }
  return false;
}

void require_no_input(const NamedPath& output, const fs::path& input, bool json_too) {
  std::error_code error;
  if (is_same(output.path, input)) {
    throw InputError("output.is_input", output.flag,
                     output.path.string() + " is an input of this command");
  }
  if (!fs::is_directory(input, error) || !is_inside(output.path, input)) return;
  const fs::path folder = output.path.has_parent_path() ? output.path.parent_path() : fs::path(".");
  if ((is_read_from_folders(output.path, json_too) && fs::exists(output.path, error)) ||
      is_recording_folder(folder)) {
    throw InputError(
        "output.is_input", output.flag,
        output.path.string() + " is, or would be, read with the folder " + input.string());
  }
}

}  // namespace

void check_outputs(const CLI::App& command) {
  const auto [outputs, inputs] = paths_of(command);
  const bool json_too = command.get_name() == "verify";
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const NamedPath& output = outputs[i];
    for (const fs::path& input : inputs) require_no_input(output, input, json_too);
    for (std::size_t j = 0; j < i; ++j) {
      if (!is_same(output.path, outputs[j].path)) continue;
      throw InputError("output.stated_twice", output.flag,
                       output.path.string() + " is the file of " + outputs[j].flag + " too");
    }
    // The journal says itself what is wrong with its file, and may be one that is only read.
    if (output.flag != "--journal") require_writable(output.path);
  }
}

}  // namespace gqa::program
