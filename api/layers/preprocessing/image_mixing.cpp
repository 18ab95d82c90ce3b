#include <nyala/api/layers/preprocessing/image_mixing.h>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/preprocessing/image_boxes.h>
#include <nyala/api/layers/preprocessing/image_numbers.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/creation.h>
#include <nyala/backend/ops/base/replica_exchange.h>
#include <nyala/backend/ops/elementwise/activation.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/shape/gather.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/backend/ops/shape/transpose.h>

namespace nyala {

using namespace nyala::detail;

ImageMixing::ImageMixing(int64_t seed, std::string_view kind, const std::string& data_format)
    : SeededNode(seed, kind), channels_first_(data_format == "channels_first") {
  check_either_data_format(std::string(kind), data_format);
}

void ImageMixing::build(Builder&, const Shapes& inputs) {
  if (inputs.size() > 2)
    throw InvalidArgumentError("expected images and perhaps labels, received " +
                               std::to_string(inputs.size()) + " inputs");
  check_images(inputs[0]);
  has_labels_ = inputs.size() == 2;
  if (has_labels_ && inputs[0].rank() == 4 && inputs[1].rank() != 2)
    throw ShapeError("expected labels (rows, classes), received shape " + inputs[1].to_string() +
                     "; ops::one_hot makes them of class numbers");
}

std::vector<std::string> ImageMixing::keys(size_t count) const {
  if (count == 1) return {"images"};
  return {"images", "labels"};
}

Tensor ImageMixing::call(Call& c, const Tensor& images) const { return call(c, Inputs(&images, 1)).front(); }

Outputs ImageMixing::call(Call& c, Inputs inputs) const {
  Tensors own;
  for (const Tensor& input : inputs) own.push_back(as_floating(input, compute_dtype()));
  if (!c.training() || own[0].rank() == 3) return own;
  if (own[0].is_abstract()) {  // who looks at a graph counts draws
    for (int i = 0; i < num_draws() + 1; ++i) c.random_key(0);
    return own;
  }
  if (channels_first_) own[0] = ops::moveaxis(own[0], -3, -1);
  Tensors result = trained(c, own);
  if (channels_first_) result[0] = ops::moveaxis(result[0], -1, -3);
  return result;
}

// Replicas may hold any numbers of rows, and only the first row's place in the batch is known on the host;
// what lies before this replica's rows in all of them is their distance from the first row of all.
Tensors ImageMixing::trained(Call& c, const Tensors& own) const {
  const ImageDraws numbers = draws(c, own[0]);
  const auto first = static_cast<double>(c.options().first_row);
  const Tensor rows = ops::arange(first, first + static_cast<double>(own[0].shape()[0]),
                                  {.dtype = DType::int64, .device = own[0].device()});
  const Tensor all_rows = ops::detail::replica_all_gather(rows, c.replica());
  const Tensor order = permutation_for_all(c, own[0], all_rows.shape()[0]);
  if (all_rows.num_elements() == 0) return own;
  const Tensor partner_rows = ops::take(order, rows - ops::min(all_rows));
  Tensors partners;
  for (const Tensor& tensor : own)
    partners.push_back(ops::take(ops::detail::replica_all_gather(tensor, c.replica()), partner_rows));
  return mixed(own, partners, numbers);
}

Tensor ImageMixing::weighted(const Tensor& weight, const Tensor& own, const Tensor& partner) {
  return weight * own + (1.0 - weight) * partner;
}

Tensor ImageMixing::beta_numbers(const Tensor& log_gammas) {
  return ops::sigmoid(column(log_gammas, 0) - column(log_gammas, 1));
}

}  // namespace nyala
