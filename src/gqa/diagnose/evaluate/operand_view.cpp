#include "gqa/diagnose/evaluate/operand_view.hpp"

#include "gqa/attention/strided_tensor.hpp"

namespace gqa {

OperandView view_of(const std::shared_ptr<const TypedTensor>& tensor, Layout layout,
                    std::int64_t heads, const std::string& where, FlatValues values) {
  const StridedTensor strided(tensor, layout, heads, where);
  const auto& strides = strided.strides();
  OperandView view;
  view.batch = strided.shape()[0];
  view.rows = strided.shape()[2];
  view.width = strided.shape()[3];
  for (std::int64_t h = 0; h < strided.shape()[1]; ++h) {
    view.heads.push_back({values, h * strides[1], strides[0], strides[2], strides[3]});
  }
  return view;
}

OperandView view_of(const std::shared_ptr<const TypedTensor>& tensor, Layout layout,
                    std::int64_t heads, const std::string& where) {
  auto values = std::make_shared<const std::vector<double>>(decode(*tensor, where).data());
  return view_of(tensor, layout, heads, where, std::move(values));
}

}  // namespace gqa
