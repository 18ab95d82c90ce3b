#include <nyala/api/parallel/make_parallel.h>

#include <algorithm>
#include <map>
#include <mutex>

#include <nyala/api/parallel/device_slices.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/mutex.h>
#include <nyala/backend/runtime/context.h>

namespace nyala {

using namespace nyala::detail;

const Tensor& NamedInputs::operator[](const std::string& name) const {
  std::vector<std::string> names;
  for (const auto& [own, tensor] : values_) {
    if (own == name) return tensor;
    names.push_back(own);
  }
  throw NotFoundError("there is no input " + in_quotes(name) + did_you_mean(name, names) + "; there are " +
                      quoted_list(names));
}

namespace {

/// Threads are made once for a list of devices, not once for a call.
DeviceSlices slices_on(const std::vector<Device>& devices, Device output) {
  static auto* const made = new std::map<std::pair<std::vector<Device>, Device>, DeviceSlices>;
  static Mutex& mutex = *new Mutex(Mutex::AtFork::is_waited);
  const std::lock_guard lock(mutex);
  const auto found = made->find({devices, output});
  if (found != made->end()) return found->second;
  return made
      ->emplace(std::pair(devices, output), DeviceSlices({.devices = devices, .output_device = output}))
      .first->second;
}

}  // namespace

Tensor make_parallel(const ParallelFunction& fn, int n, const NamedInputs& inputs) {
  if (n < 1)
    throw InvalidArgumentError("make_parallel: expected n >= 1 devices, received " + std::to_string(n));
  // Of the replicas of a strategy each may come; a slice would wait for itself.
  if (thread_context().replica && !thread_context().replica_context)
    throw StateError(
        "make_parallel was called inside a slice of make_parallel or of a parallel model, which has split "
        "the "
        "batch already; call the inner function itself there");
  std::vector<int> ids;
  // One more than there are is enough to be refused by its name.
  const int most = static_cast<int>(devices_for_slices().size()) + 1;
  for (int i = 0; i < std::min(n, most); ++i) ids.push_back(i);
  Tensors tensors;
  for (const auto& [name, tensor] : inputs.values()) tensors.push_back(tensor);
  if (tensors.empty()) throw InvalidArgumentError("make_parallel: expected at least one input");
  auto work = [&](Call&, const Tensors& slices) -> Tensors {
    std::vector<std::pair<std::string, Tensor>> named;
    for (size_t i = 0; i < slices.size(); ++i) named.emplace_back(inputs.values()[i].first, slices[i]);
    return {fn(NamedInputs(std::move(named)))};
  };
  Call alone({.tape = thread_context().tape, .step = {}});
  const RunningCall* const running = thread_context().running;
  Call& outer = running && running->call ? *running->call : alone;
  const DeviceSlices slices = slices_on(devices_for_slices(ids, "make_parallel"), tensors[0].device());
  return slices.run(outer, tensors, work)[0];
}

}  // namespace nyala
