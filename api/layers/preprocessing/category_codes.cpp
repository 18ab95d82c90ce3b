#include <nyala/api/layers/preprocessing/category_codes.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/shape/gather.h>
#include <nyala/backend/ops/shape/shape.h>

namespace nyala {

using namespace nyala::detail;

void detail::check_not_sparse(const std::string& layer, bool sparse) {
  if (sparse)
    throw InvalidArgumentError(layer +
                               ": sparse outputs (sparse=true) are not supported; leave it out: dense ones "
                               "hold the same numbers");
}

CategoryCode detail::category_code_of(const std::string& layer, const std::string& name) {
  if (name == "one_hot") return CategoryCode::one_hot;
  if (name == "multi_hot" || name == "binary") return CategoryCode::multi_hot;
  if (name == "count") return CategoryCode::count;
  throw InvalidArgumentError(layer + ": expected output_mode 'one_hot', 'multi_hot' or 'count', received " +
                             in_quotes(name) + did_you_mean(name, {"one_hot", "multi_hot", "count"}));
}

Tensor detail::encode_categories(const Tensor& numbers, const CategoryCodes& codes) {
  const bool whole = numbers.dtype() == DType::int32 || numbers.dtype() == DType::int64;
  Tensor indices = whole ? numbers : ops::cast(numbers, DType::int64);
  if (indices.rank() == 0) indices = ops::expand_dims(indices, 0);
  if (codes.code == CategoryCode::one_hot && indices.rank() > 1 && indices.shape().back() == 1)
    indices = ops::squeeze(indices, {-1});
  Tensor vectors = ops::one_hot(indices, codes.depth, -1, codes.dtype);
  if (codes.code == CategoryCode::one_hot) return vectors;
  const int axis = indices.rank() > 1 ? 1 : 0;
  if (codes.code == CategoryCode::multi_hot) return ops::max(vectors, {axis});
  if (codes.weights.defined()) vectors = vectors * ops::expand_dims(codes.weights, -1);
  return ops::sum(vectors, {axis});
}

}  // namespace nyala
