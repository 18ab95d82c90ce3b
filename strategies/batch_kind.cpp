#include <nyala/strategies/batch_kind.h>

#include <bit>
#include <string>

#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/random.h>
#include <nyala/strategies/texts_of_all.h>
#include <nyala/strategies/values_by_ranks.h>

namespace nyala::detail {

int64_t kind_of(const Batch& batch) {
  uint64_t number = 0;
  const auto mix = [&](const Tensor& tensor) {
    const auto kind = tensor.defined() ? 1 + static_cast<uint64_t>(tensor.dtype().index()) * 32 +
                                             static_cast<uint64_t>(tensor.rank())
                                       : 0;
    number = mix_key(number, kind);
  };
  for (const Tensor& tensor : batch.x) mix(tensor);
  number = mix_key(number, batch.x.size());
  for (const Tensor& tensor : batch.y) mix(tensor);
  number = mix_key(number, batch.y.size());
  batch.sample_weight.for_each(mix);
  return std::bit_cast<int64_t>(number);
}

namespace {

std::string text_of(const Tensor& tensor) {
  if (!tensor.defined()) return "none";
  const std::string axes = std::to_string(tensor.rank());
  return std::string(name_of(tensor.dtype())) + " with " + axes + (tensor.rank() == 1 ? " axis" : " axes");
}

std::string text_of(const Batch& batch) {
  std::string x, y, weights;
  const auto add = [](std::string& to, const Tensor& tensor) {
    to += (to.empty() ? "" : ", ") + text_of(tensor);
  };
  for (const Tensor& tensor : batch.x) add(x, tensor);
  for (const Tensor& tensor : batch.y) add(y, tensor);
  batch.sample_weight.for_each([&](const Tensor& tensor) { add(weights, tensor); });
  return "x: " + (x.empty() ? "none" : x) + "; y: " + (y.empty() ? "none" : y) +
         "; sample weights: " + (weights.empty() ? "none" : weights);
}

}  // namespace

void refuse_kinds(ProcessExchange& processes, const Batch* batch, std::string_view what) {
  const std::vector<std::string> all = texts_of_all(processes, batch ? text_of(*batch) : "no batch", what);
  said_by_all(processes, int64_t{0}, what);  // who throws ends what the others speak by: when all have it
  throw StateError(std::string(what) + ": the processes have different data, " + values_by_ranks(all) +
                   ". Give every process the same data: it takes its rows of each batch");
}

}  // namespace nyala::detail
