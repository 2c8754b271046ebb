#include "gqa/diagnose/cases/audit_pictures.hpp"

#include <algorithm>
#include <functional>
#include <iterator>

#include "gqa/diagnose/evaluate/row_keys.hpp"

namespace gqa {
namespace {

using Index = std::array<std::int64_t, 4>;
using KeysOfRow = std::function<std::vector<std::size_t>(std::int64_t row)>;

// Beside the worst elements, a few of everywhere.
std::vector<Index> spread_elements(const Dimensions& d, std::int64_t count) {
  const std::int64_t rows = d.batch * d.q_heads * d.queries;
  if (rows * d.value_size == 0) return {};
  std::vector<Index> chosen;
  for (std::int64_t n = 0; n < std::min(count, rows); ++n) {
    const std::int64_t place = n * rows / std::min(count, rows);
    chosen.push_back({place / (d.queries * d.q_heads), place / d.queries % d.q_heads,
                      place % d.queries, (n * 7) % d.value_size});
  }
  return chosen;
}

std::vector<ElementBounds> bounds_of(const AttentionProblem& problem, const Tolerance& tolerance,
                                     std::span<const WorstElement> worst) {
  if (!problem.output) return {};
  std::vector<Index> indices;
  for (const WorstElement& element : worst) indices.push_back(element.index);
  // Enclosures of long rows take their time: about a second in all.
  const Dimensions& d = problem.dimensions;
  const std::int64_t row = std::max<std::int64_t>(1, d.keys * (d.key_size + d.value_size));
  const std::int64_t count = std::clamp<std::int64_t>((std::int64_t{1} << 22) / row, 4, 48);
  for (const Index& index : spread_elements(d, count)) indices.push_back(index);
  return element_bounds(problem, tolerance, indices);
}

// Rows of a block that are asked: all, or a few spread over it.
std::vector<std::int64_t> asked_rows(const VisibleKeysPicture& picture, std::int64_t block) {
  constexpr std::int64_t most_pairs = std::int64_t{1} << 24;
  const std::int64_t begin = block * picture.rows_per_cell;
  const std::int64_t end = std::min(picture.rows, begin + picture.rows_per_cell);
  const std::int64_t affordable = std::max<std::int64_t>(
      2, most_pairs / std::max<std::int64_t>(1, picture.keys) / picture.row_cells());
  const std::int64_t count = std::min(end - begin, affordable);
  std::vector<std::int64_t> rows;
  for (std::int64_t n = 0; n < count; ++n) {
    rows.push_back(count == 1 ? begin : begin + n * (end - 1 - begin) / (count - 1));
  }
  return rows;
}

// Visible keys counted by cell.
class CellCounts {
 public:
  CellCounts(std::int64_t keys, std::int64_t per_cell, std::int64_t cells)
      : keys_(keys), per_cell_(per_cell), seen_(static_cast<std::size_t>(cells), 0) {}

  void add(const std::vector<std::size_t>& visible) {
    ++rows_;
    for (const std::size_t key : visible) {
      if (static_cast<std::int64_t>(key) < keys_)
        ++seen_[key / static_cast<std::size_t>(per_cell_)];
    }
  }
  Share share(std::size_t cell) const {
    const std::int64_t begin = static_cast<std::int64_t>(cell) * per_cell_;
    const std::int64_t all = rows_ * (std::min(keys_, begin + per_cell_) - begin);
    return seen_[cell] == 0 ? Share::none : (seen_[cell] == all ? Share::all : Share::some);
  }

 private:
  std::int64_t keys_;
  std::int64_t per_cell_;
  std::int64_t rows_ = 0;
  std::vector<std::int64_t> seen_;
};

void mark_differences(const std::vector<std::size_t>& all, const std::vector<std::size_t>& part,
                      std::int64_t per_cell, char* cells) {
  std::vector<std::size_t> only;
  std::ranges::set_difference(all, part, std::back_inserter(only));
  for (const std::size_t key : only) cells[key / static_cast<std::size_t>(per_cell)] = 1;
}

void draw_block(VisibleKeysPicture& picture, std::int64_t block, const KeysOfRow& declared,
                const KeysOfRow& found) {
  const std::int64_t cells = picture.key_cells();
  const auto first = static_cast<std::size_t>(block * cells);
  CellCounts declared_counts(picture.keys, picture.keys_per_cell, cells);
  CellCounts found_counts = declared_counts;
  const std::vector<std::int64_t> rows = asked_rows(picture, block);
  const std::int64_t all =
      std::min(picture.rows_per_cell, picture.rows - block * picture.rows_per_cell);
  if (static_cast<std::int64_t>(rows.size()) < all) picture.every_row = false;
  for (const std::int64_t row : rows) {
    const std::vector<std::size_t> should = declared(row);
    declared_counts.add(should);
    if (!found) continue;
    const std::vector<std::size_t> does = found(row);
    found_counts.add(does);
    mark_differences(should, does, picture.keys_per_cell, picture.is_missing.data() + first);
    mark_differences(does, should, picture.keys_per_cell, picture.is_extra.data() + first);
  }
  for (std::size_t cell = 0; cell < static_cast<std::size_t>(cells); ++cell) {
    picture.declared.push_back(declared_counts.share(cell));
    if (found) picture.found.push_back(found_counts.share(cell));
  }
}

VisibleKeysPicture draw_keys(const Dimensions& d, std::int64_t batch, std::int64_t head,
                             const KeysOfRow& declared, const KeysOfRow& found) {
  VisibleKeysPicture picture;
  picture.batch = batch;
  picture.head = head;
  picture.rows = d.queries;
  picture.keys = d.keys;
  constexpr std::int64_t most = VisibleKeysPicture::most_cells;
  picture.rows_per_cell = std::max<std::int64_t>(1, (d.queries + most - 1) / most);
  picture.keys_per_cell = std::max<std::int64_t>(1, (d.keys + most - 1) / most);
  const auto cells = static_cast<std::size_t>(picture.row_cells() * picture.key_cells());
  picture.is_missing.assign(found ? cells : 0, 0);
  picture.is_extra.assign(found ? cells : 0, 0);
  for (std::int64_t block = 0; block < picture.row_cells(); ++block) {
    draw_block(picture, block, declared, found);
  }
  return picture;
}

// Pictures are of `output`, and of faults that are edits of a behaviour.
bool is_edit(const Explanation& explanation) {
  return explanation.tensor == "output" && !explanation.faults.empty() &&
         std::ranges::none_of(explanation.faults, [](const Fault& fault) {
           const bool is_edited = bool(fault.measured) || !is_read_off_data(*fault.kind);
           return fault.kind == &modes_swapped || !is_edited;
         });
}

// A mistaken layout may change what the axes are; then only the declared side can be drawn.
bool same_axes(const Behaviour& found, const Dimensions& d) {
  return !found.axes_swapped && found.query_heads() == d.q_heads && found.queries() == d.queries &&
         found.keys() == d.keys && found.key.head_count() == d.kv_heads &&
         static_cast<std::int64_t>(found.key_head.size()) == d.q_heads;
}

}  // namespace

AuditPictures audit_pictures(const ProblemTensors& tensors, const Contract& contract,
                             const Tolerance& tolerance, std::span<const WorstElement> worst,
                             const Diagnosis* diagnosis) {
  const AttentionProblem problem = make_problem(tensors, contract);
  const Dimensions& d = problem.dimensions;
  AuditPictures pictures;
  pictures.bounds = bounds_of(problem, tolerance, worst);
  std::optional<Behaviour> found;
  if (diagnosis != nullptr && !diagnosis->explanations.empty() &&
      is_edit(diagnosis->explanations.front())) {
    const Explanation& explanation = diagnosis->explanations.front();
    found = edited(behaviour_of(tensors, contract), explanation.faults);
    if (same_axes(*found, d)) {
      pictures.found_by = explanation.describe();
    } else {
      found.reset();
    }
  }
  pictures.heads = HeadMapPicture{d.kv_heads, problem.head_map, {}, {}};
  if (found && found->key_head != problem.head_map) pictures.heads->found_key = found->key_head;
  if (found && found->value_head != problem.head_map) {
    pictures.heads->found_value = found->value_head;
  }
  const bool violated = !worst.empty() && worst.front().within.certainly_not();
  const std::int64_t batch = violated ? worst.front().index[0] : 0;
  const std::int64_t head = violated ? worst.front().index[1] : 0;
  if (d.batch == 0 || d.q_heads == 0) return pictures;
  const KeysOfRow declared = [&](std::int64_t row) {
    return problem.visibility.keys_of(batch, head, row);
  };
  KeysOfRow does;
  if (found) does = [&](std::int64_t row) { return keys_of_row(*found, batch, head, row).visible; };
  pictures.visible_keys = draw_keys(d, batch, head, declared, does);
  return pictures;
}

}  // namespace gqa
