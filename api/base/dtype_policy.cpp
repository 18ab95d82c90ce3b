#include <nyala/api/base/dtype_policy.h>

#include <array>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/core/mutex.h>

namespace nyala {

using namespace nyala::detail;

namespace {

constexpr std::string_view kMixed = "mixed_";

/// The policy that is set, for all threads.
struct GlobalPolicy {
  Mutex mutex;
  DTypePolicy policy;
};

GlobalPolicy& global() {
  static GlobalPolicy& global = *new GlobalPolicy;
  return global;
}

}  // namespace

DTypePolicy DTypePolicy::of(std::string_view name) {
  static constexpr std::array<DType, 4> kWhole = {DType::float32, DType::float64, DType::bfloat16,
                                                  DType::float16};
  static constexpr std::array<DType, 2> kHalves = {DType::bfloat16, DType::float16};
  for (const DType dtype : {DType::int32, DType::int64})
    if (name == name_of(dtype)) return DTypePolicy(dtype, dtype);
  std::vector<std::string> names;
  for (const DType dtype : kWhole) {
    if (name == name_of(dtype)) return DTypePolicy(dtype, dtype);
    names.emplace_back(name_of(dtype));
  }
  for (const DType dtype : kHalves) {
    names.push_back(std::string(kMixed) + std::string(name_of(dtype)));
    if (name == names.back()) return DTypePolicy(dtype, DType::float32);
  }
  throw InvalidArgumentError("unknown dtype policy " + in_quotes(name) + did_you_mean(name, names) +
                             "; there are " + quoted_list(names));
}

DTypePolicy::DTypePolicy(DType dtype) : compute_(dtype), variable_(dtype) {
  if (!is_floating(dtype))
    throw DTypeError("dtype policy: expected a floating dtype, received " + std::string(name_of(dtype)));
}

std::string DTypePolicy::name() const {
  return std::string(compute_ == variable_ ? "" : kMixed) + std::string(name_of(compute_));
}

void set_dtype_policy(DTypePolicy policy) {
  if (!is_floating(policy.compute_dtype()))
    throw InvalidArgumentError("set_dtype_policy: expected a policy of floats, received " +
                               in_quotes(policy.name()));
  const std::lock_guard lock(global().mutex);
  global().policy = policy;
}

void set_global_policy(DTypePolicy policy) { set_dtype_policy(policy); }

DTypePolicy dtype_policy() {
  const std::lock_guard lock(global().mutex);
  return global().policy;
}

DTypePolicy detail::policy_named(const std::string& dtype) {
  return dtype.empty() ? dtype_policy() : DTypePolicy(dtype);
}

void detail::note_float16() {
  static std::atomic<bool> noted{false};
  if (noted.exchange(true)) return;
  log(LogChannel::warning,
      "float16: CPUs compute it through float32 here, which is correct and no faster than float32; "
      "bfloat16 needs no loss scale, and its instructions are used where there are any");
}

}  // namespace nyala
