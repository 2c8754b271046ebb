#include "gqa/io/recordings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "gqa/error.hpp"
#include "gqa/io/backend_test.hpp"
#include "gqa/io/directory.hpp"
#include "gqa/io/npy.hpp"
#include "gqa/io/npz.hpp"
#include "gqa/near_words.hpp"

namespace gqa {
namespace {

namespace fs = std::filesystem;

enum class Kind { safetensors, npz, npy_directory, backend_test, directory, other };

// Suffixes in any case: a file that nobody looks at would count as right.
bool has_suffix(const fs::path& path, std::string_view suffix) {
  const std::string found = path.extension().string();
  return std::ranges::equal(found, suffix, {},
                            [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
}

// A link that leads nowhere is told when it is read.
bool is_npy(const fs::path& path) {
  std::error_code ignored;
  return has_suffix(path, ".npy") && !fs::is_directory(path, ignored);
}

// "; did you mean NAME?", of what lies beside it.
std::string meant_sibling(const fs::path& path) {
  std::error_code error;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (path.filename().empty() || !fs::is_directory(folder, error)) return "";
  std::vector<std::string> names;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  std::ranges::sort(names);
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::vector<std::string> near = near_words(path.filename().string(), known, 1);
  return near.empty() ? "" : "; " + did_you_mean({(path.parent_path() / near.front()).string()});
}

Kind kind_of(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) {
    throw InputError("file.not_found", path.string(),
                     "there is no such file or directory" + meant_sibling(path));
  }
  if (error) throw InputError("file.unreadable", path.string(), error.message());
  if (status.type() != fs::file_type::directory) {
    if (has_suffix(path, ".safetensors")) return Kind::safetensors;
    return has_suffix(path, ".npz") ? Kind::npz : Kind::other;
  }
  if (fs::exists(path / "model.onnx", error)) return Kind::backend_test;
  for (const fs::path& entry : visible_entries(path)) {
    if (is_npy(entry)) return Kind::npy_directory;
  }
  return Kind::directory;
}

bool is_recording(Kind kind) {
  return kind != Kind::directory && kind != Kind::other;
}

// What to do with files that people have instead.
std::string_view way_out(const fs::path& path) {
  if (has_suffix(path, ".npy")) {
    return "; name the directory that holds query.npy, key.npy, value.npy and output.npy";
  }
  for (const std::string_view suffix : {".pt", ".pth", ".bin", ".pkl"}) {
    if (has_suffix(path, suffix)) {
      return "; write the tensors with safetensors.torch.save_file or numpy.savez";
    }
  }
  if (has_suffix(path, ".gguf")) return "; it holds weights, not what a kernel was given and gave";
  return "";
}

[[noreturn]] void unknown_kind(const fs::path& path) {
  throw InputError("recording.unknown_kind", path.string(),
                   fmt::format("is not a .safetensors or .npz file, a directory of .npy files, or "
                               "an ONNX backend test with a model.onnx{}",
                               way_out(path)));
}

std::map<std::string, TypedTensor> read_npy_directory(const fs::path& path) {
  std::map<std::string, TypedTensor> tensors;
  for (const fs::path& entry : visible_entries(path)) {
    if (!is_npy(entry)) {
      throw InputError("recording.unexpected_file", entry.string(),
                       "a directory of .npy files must hold nothing else");
    }
    tensors.emplace(entry.stem().string(), read_npy(entry));
  }
  return tensors;
}

// What cannot be looked at, such as a link that leads nowhere, is no reason to leave its neighbours
// unread: it becomes a recording that cannot be read, unless its name says another kind of file.
std::optional<Kind> kind_of_entry(const fs::path& entry) {
  try {
    return kind_of(entry);
  } catch (const InputError&) {
    const bool is_candidate =
        !entry.has_extension() || has_suffix(entry, ".safetensors") || has_suffix(entry, ".npz");
    return is_candidate ? std::nullopt : std::optional(Kind::other);
  }
}

}  // namespace

std::vector<fs::path> find_recordings(const fs::path& path) {
  const Kind kind = kind_of(path);
  if (is_recording(kind)) return {path};
  if (kind == Kind::other) unknown_kind(path);
  std::vector<fs::path> found;
  for (const fs::path& entry : visible_entries(path)) {
    const std::optional<Kind> entry_kind = kind_of_entry(entry);
    // A case that nobody looks at would count as right.
    if (entry_kind == Kind::directory) unknown_kind(entry);
    if (!entry_kind || is_recording(*entry_kind)) found.push_back(entry);
  }
  if (found.empty()) {
    throw InputError(
        "recording.none_found", path.string(),
        "the directory holds no recording: no .safetensors, .npz or .npy file, and no model.onnx");
  }
  return found;
}

std::vector<Recording> read_recordings(const fs::path& path, const TensorChoice& choice) {
  switch (kind_of(path)) {
    case Kind::safetensors:
      return read_safetensors_recordings(path, choice);
    case Kind::npz:
      return recordings_of(read_npz(path), path.string(), choice);
    case Kind::npy_directory:
      return recordings_of(read_npy_directory(path), path.string(), choice);
    case Kind::backend_test:
      return read_backend_test(path);
    case Kind::directory:
    case Kind::other:
      break;
  }
  unknown_kind(path);
}

}  // namespace gqa
