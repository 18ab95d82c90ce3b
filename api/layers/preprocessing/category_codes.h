#pragma once

#include <string>

#include <nyala/backend/core/tensor.h>

namespace nyala {

/// How whole numbers become vectors. `one_hot` gives each number an axis of `depth` behind the others, and
/// drops a last axis of size 1 first; `multi_hot` and `count` say for each row which numbers are in it, or
/// how often (summing weights where there are any). Numbers outside of 0 to depth - 1 are left out.
enum class CategoryCode { one_hot, multi_hot, count };

namespace detail {

/// By Keras' name ("binary" is an old one of multi_hot). Throws InvalidArgumentError naming `layer`.
CategoryCode category_code_of(const std::string& layer, const std::string& name);

/// Throws InvalidArgumentError naming `layer` for Keras' argument sparse = true: there are no sparse tensors.
void check_not_sparse(const std::string& layer, bool sparse);

}  // namespace detail

struct CategoryCodes {
  CategoryCode code = CategoryCode::multi_hot;
  int64_t depth = 1;
  DType dtype = DType::float32;
  Tensor weights = {};  // for `count`, in the shape of the numbers
};

namespace detail {

Tensor encode_categories(const Tensor& numbers, const CategoryCodes& codes);

}  // namespace detail

}  // namespace nyala
