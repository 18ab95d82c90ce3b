#include <nyala/datasets/base/listed_shapes.h>

namespace nyala {

std::string detail::listed_shapes(const Element& element) {
  std::string text;
  const auto list = [&](const char* name, const Tensors& tensors) {
    for (size_t i = 0; i < tensors.size(); ++i)
      text += (text.empty() ? "" : ", ") + std::string(name) + "[" + std::to_string(i) + "] " +
              tensors[i].shape().to_string();
  };
  Tensors weights;
  element.sample_weight.for_each([&](const Tensor& tensor) { weights.push_back(tensor); });
  list("x", element.x);
  list("y", element.y);
  list("sample_weight", weights);
  return text;
}

}  // namespace nyala
