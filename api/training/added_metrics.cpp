#include <nyala/api/training/added_metrics.h>

#include <algorithm>

#include <nyala/api/base/at_least_float32.h>
#include <nyala/api/model/model_node.h>
#include <nyala/api/training/model_training.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/reduction/reduction.h>

namespace nyala {

namespace {

void add_to(const Tensor& place, const Tensor& value) {
  const Tensor source = ops::cast(value, DType::float64).with_shape(place.shape());
  dispatch_into(ops::kAddInPlace, NoDescriptor{}, {&source}, place);
}

void put_into_logs(std::vector<LoggedValue>& logged, const std::string& name, const Tensor& value,
                   int64_t rows) {
  logged.push_back({name, ReduceOp::mean, ops::mean(value), rows});
}

}  // namespace

// Two sums each: the values and how many they are. What a replica without rows has is a mean over nothing.
void count_added_metrics(const ModelNode& model, const Call& call) {
  auto& [compiled, sums, memory, resume] = *model.training();
  const auto replica = static_cast<size_t>(call.options().local_index);
  const int64_t rows = call.options().rows;
  const double share =
      static_cast<double>(rows) / static_cast<double>(std::max<int64_t>(call.options().global_rows, 1));
  size_t& next = memory.counted_metrics[replica];
  for (; next < call.metrics().size(); ++next) {
    const auto& [name, given] = call.metrics()[next];
    const Tensor value = detail::at_least_float32(given);
    const auto& known = compiled.added_metrics;
    const auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end() && !compiled.steps_itself)
      throw StateError("model " + detail::in_quotes(model.name()) + ": add_metric(\"" + name +
                       "\") was not called when the model was built; call it in every pass");
    if (rows == 0) continue;
    if (found == known.end()) {
      put_into_logs(sums.logged[replica], name, value, rows);
      continue;
    }
    const int64_t first = compiled.first_added_sum + 2 * (found - known.begin());
    const bool scalar = value.rank() == 0;
    const double count = scalar ? share : static_cast<double>(value.num_elements());
    add_to(sums.of_replicas[replica].rows(first, 1), scalar ? value * share : ops::sum(value));
    add_to(sums.of_replicas[replica].rows(first + 1, 1),
           Tensor::full({}, count, DType::float64, value.device()));
  }
}

}  // namespace nyala
