#include <nyala/api/training/check_status.h>

#include <algorithm>
#include <optional>
#include <vector>

#include <nyala/api/training/state/step_memory.h>
#include <nyala/backend/ops/base/cast.h>

namespace nyala {

namespace {

/// The first place of the trouble's value in one of `arrays` alone, as Status::row counts; nothing where
/// there is none.
std::optional<Status> located(const Status& status, const Tensors& arrays) {
  std::optional<Status> found;
  for (const Tensor& array : arrays) {
    if (!array.defined() || array.num_elements() == 0) continue;
    const std::vector<double> values = ops::cast(array.detached(), DType::float64).to_vector<double>();
    const auto place = std::find(values.begin(), values.end(), static_cast<double>(status.value));
    if (place == values.end()) continue;
    if (found) return std::nullopt;
    found = status;
    found->row = place - values.begin();
    const bool one_for_each_row = array.num_elements() == array.shape()[0];
    found->shape = one_for_each_row ? Shape() : array.shape();
  }
  return found;
}

std::string text_of(const Status& status, const Element* given) {
  if (!given) return status.to_string();
  const bool is_label = status.code == StatusCode::label_out_of_range;
  if (const auto place = located(status, is_label ? given->y : given->x)) return place->to_string();
  return status.to_string() + " (counted within its batch)";
}

}  // namespace

void check_trained_status(const ModelNode& model) {
  if (model.training()) model.step_memory().status.check();
}

void check_status(StatusWords& status, const ModelNode& model, const Element* given) {
  naming_its_file(model, [&] {
    const Status found = status.read();
    try {
      status.check();
    } catch (const NumericError& error) {
      std::string text = error.what();
      const std::string within_batch = found.to_string();
      if (const size_t at = text.find(within_batch); at != std::string::npos)
        text.replace(at, within_batch.size(), text_of(found, given));
      throw NumericError("model " + detail::in_quotes(model.name()) + ": " + text);
    }
  });
}

}  // namespace nyala
