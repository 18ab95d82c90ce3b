#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <mutex>
#include <set>

#include <gtest/gtest.h>

#include <nyala/backend/autograd/backward.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/core/tape.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/backend/runtime/random.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {

using namespace nyala::detail;

namespace {

class Collector final : public GradientSink {
 public:
  explicit Collector(size_t count) : gradients(count) {}
  Tensor destination(int32_t) override { return {}; }
  void ready(int32_t leaf, const Tensor& gradient) override {
    Tensor& place = gradients[static_cast<size_t>(leaf)];
    EXPECT_FALSE(place.defined()) << "leaf " << leaf << " was reported twice";
    place = gradient.clone();
  }
  Tensors gradients;
};

/// "op: kernel" of a message that a kernel runs, else empty.
std::string_view entry_of(LogChannel channel, std::string_view text) {
  const size_t end = text.find(" runs");
  return channel == LogChannel::kernels && end != std::string_view::npos ? text.substr(0, end)
                                                                         : std::string_view();
}

/// For the test that asks which kernels no test ran: it starts this program with a file's name in the
/// environment.
class WholeRun final : public ::testing::Environment {
 public:
  static void note(std::string_view entry) {
    static std::mutex mutex;
    static std::set<std::string> written;
    static const char* const path = std::getenv("NYALA_TEST_KERNELS_RAN");
    std::lock_guard lock(mutex);
    if (path && !entry.empty() && written.emplace(entry).second)
      std::ofstream(path, std::ios::app) << entry << '\n';
  }
  static void listen() {
    const bool wanted = std::getenv("NYALA_TEST_KERNELS_RAN") != nullptr;
    set_log_level(wanted ? "kernels" : "");
    if (wanted)
      set_log_sink([](LogChannel channel, std::string_view text) { note(entry_of(channel, text)); });
    else
      set_log_sink({});
  }
  void SetUp() override { listen(); }
};

[[maybe_unused]] const auto* const g_whole_run = ::testing::AddGlobalTestEnvironment(new WholeRun);

/// Collects "op: kernel" for every kernel that runs while it lives.
class KernelRecorder {
 public:
  KernelRecorder() {
    set_log_sink([this](LogChannel channel, std::string_view text) {
      const std::string_view entry = entry_of(channel, text);
      WholeRun::note(entry);
      std::lock_guard lock(mutex_);
      if (!entry.empty()) ran_.emplace(entry);
    });
    set_log_level("kernels");
  }
  ~KernelRecorder() { WholeRun::listen(); }
  std::set<std::string> ran() const {
    std::lock_guard lock(mutex_);
    return ran_;
  }

 private:
  mutable std::mutex mutex_;
  std::set<std::string> ran_;
};

Tensor pattern(const Tensor& like) {
  return random_tensor(like.shape(), 77, -1.0, 1.0, like.dtype()).to(like.device());
}

Tensor widened(const Tensor& x) { return is_floating(x.dtype()) ? ops::cast(x, DType::float64) : x; }

double weighted_sum(const Tensor& y) {
  const std::vector<double> values = values_of(y), weights = values_of(pattern(y));
  double total = 0;
  for (size_t i = 0; i < values.size(); ++i) total += values[i] * weights[i];
  return total;
}

double central_difference(const OpFunction& f, Tensors inputs, size_t input, size_t element) {
  const Tensor original = inputs[input];
  const double x = original.data<double>()[element];
  const double step = 1e-5 * std::max(1.0, std::abs(x));
  auto at = [&](double value) {
    inputs[input] = original.clone();
    inputs[input].data<double>()[element] = value;
    return weighted_sum(f(inputs));
  };
  return (at(x + step) - at(x - step)) / (2 * step);
}

void expect_same(const Outcome& actual, const Outcome& expected, Tolerance tolerance,
                 const std::string& what) {
  expect_close(actual.value, expected.value, tolerance, what + ", result");
  for (size_t i = 0; i < expected.gradients.size(); ++i) {
    ASSERT_EQ(actual.gradients[i].defined(), expected.gradients[i].defined()) << what;
    if (expected.gradients[i].defined())
      expect_close(actual.gradients[i], expected.gradients[i], tolerance,
                   what + ", gradient " + std::to_string(i));
  }
}

/// Names of all fast kernels of the ops that stand before the colon in `ran`.
std::set<std::string> fast_kernels_of(const std::set<std::string>& ran) {
  const KernelTable& table = KernelTable::instance();
  std::map<std::string, const OpDef*> ops;
  for (const OpDef* op : table.ops_with_kernels(DeviceKind::cpu)) ops[std::string(op->name)] = op;
  std::set<std::string> names;
  for (const std::string& entry : ran) {
    const auto op = ops.find(entry.substr(0, entry.find(':')));
    if (op == ops.end()) continue;
    for (const Kernel& kernel : table.fast_kernels(*op->second, DeviceKind::cpu)) names.emplace(kernel.name);
  }
  return names;
}

}  // namespace

namespace {

/// `seed(y)` is the gradient of the result.
Outcome run_seeded(const OpFunction& f, const Tensors& inputs, Device device,
                   const std::function<Tensor(const Tensor&)>& seed) {
  Tape tape;
  Tensors watched;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor copy = device == inputs[i].device() ? inputs[i].clone() : inputs[i].to(device);
    watched.push_back(is_floating(copy.dtype()) ? tape.watch(copy, static_cast<int32_t>(i)) : copy);
  }
  const Tensor y = f(watched);
  Outcome out{y.to(Device{}), Tensors(inputs.size())};
  if (y.tape() != &tape) return out;
  Collector collector(inputs.size());
  backward(tape, y, collector, seed(y));
  for (size_t i = 0; i < inputs.size(); ++i)
    if (collector.gradients[i].defined()) out.gradients[i] = collector.gradients[i].to(Device{});
  return out;
}

}  // namespace

Outcome run_with_gradients(const OpFunction& f, const Tensors& inputs, Device device) {
  return run_seeded(f, inputs, device, pattern);
}

Outcome run_with_gradients_of(DType dtype, const OpFunction& f, const Tensors& inputs) {
  return run_seeded(f, inputs, Device{}, [dtype](const Tensor& y) {
    const Tensor rounded = ops::cast(random_tensor(y.shape(), 77, -1.0, 1.0), dtype);
    return ops::cast(rounded, y.dtype());
  });
}

void expect_gradients(const OpFunction& f, const Tensors& inputs, Tolerance tolerance) {
  ScopedValue<std::string_view> reference(thread_context().only_kernel, "reference");
  Tensors wide;
  for (const Tensor& input : inputs) wide.push_back(widened(input));
  const Outcome outcome = run_with_gradients(f, wide);
  for (size_t i = 0; i < wide.size(); ++i) {
    if (!is_floating(wide[i].dtype())) continue;
    ASSERT_TRUE(outcome.gradients[i].defined()) << "input " << i << " has no gradient";
    ASSERT_EQ(outcome.gradients[i].shape(), wide[i].shape());
    const std::vector<double> gradient = values_of(outcome.gradients[i]);
    for (size_t k = 0; k < gradient.size(); ++k) {
      const double expected = central_difference(f, wide, i, k);
      ASSERT_NEAR(gradient[k], expected, tolerance.absolute + tolerance.relative * std::abs(expected))
          << "input " << i << " of shape " << wide[i].shape().to_string() << ", element " << k << " (value "
          << wide[i].data<double>()[k] << ")";
    }
  }
}

namespace {

Tensor in_dtype(const Tensor& x, DType from, DType to) {
  return x.dtype() == from ? ops::cast(x, to) : x.clone();
}

/// What a 16-bit float can be held to: one rounding, and the distance of its smallest numbers.
struct Rounding {
  double relative, smallest, largest;
  explicit Rounding(DType dtype)
      : relative(dtype == DType::bfloat16 ? 0x1p-8 : 0x1p-10),
        smallest(dtype == DType::bfloat16 ? 0x1p-133 : 0x1p-24),
        largest(dtype == DType::bfloat16 ? 0x1.fep127 : 65504.0) {}
};

double largest_of(const std::vector<double>& values) {
  double largest = 0.0;
  for (const double value : values)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  return largest;
}

/// Where there are more roundings than one they may be as large as those of the largest number. Beside it
/// float32 loses something, too, where numbers cancel out.
void expect_rounded(const Tensor& actual, const Tensor& expected, const Rounding& rounding, double steps,
                    const std::string& what) {
  ASSERT_EQ(actual.shape(), expected.shape()) << what;
  const std::vector<double> a = values_of(actual), b = values_of(expected);
  constexpr double kOfFloat32 = 1e-5, kNearZero = 4e-6;
  const double share = steps > 1 ? steps * rounding.relative : kOfFloat32;
  const double absolute = std::max(rounding.smallest, kNearZero) + share * largest_of(b);
  size_t wrong = 0;
  for (size_t i = 0; i < a.size() && wrong < 5; ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (std::isinf(a[i]) && std::abs(b[i]) >= rounding.largest && (a[i] > 0) == (b[i] > 0)) continue;
    if (std::abs(a[i] - b[i]) <= absolute + steps * rounding.relative * std::abs(b[i])) continue;
    ADD_FAILURE() << what << ": element " << i << " of " << actual.shape().to_string() << " is " << a[i]
                  << ", expected " << b[i];
    ++wrong;
  }
}

void expect_half_of(DType dtype, const OpFunction& f, const Tensors& inputs, Tolerance tolerance) {
  Tensors narrow, wide;
  for (const Tensor& input : inputs) {
    narrow.push_back(in_dtype(input, DType::float32, dtype));
    wide.push_back(in_dtype(narrow.back(), dtype, DType::float64));
  }
  const Outcome actual = run_with_gradients_of(dtype, f, narrow);
  const ScopedValue<std::string_view> reference(thread_context().only_kernel, "reference");
  const Outcome expected = run_with_gradients_of(dtype, f, wide);
  const std::string what(name_of(dtype));
  const Rounding rounding(dtype);
  expect_rounded(actual.value, expected.value, rounding, tolerance.half_values, what + ", result");
  for (size_t i = 0; i < inputs.size(); ++i) {
    ASSERT_EQ(actual.gradients[i].defined(), expected.gradients[i].defined()) << what;
    if (!actual.gradients[i].defined()) continue;
    EXPECT_EQ(name_of(actual.gradients[i].dtype()), name_of(narrow[i].dtype())) << what;
    expect_rounded(actual.gradients[i], expected.gradients[i], rounding, tolerance.half_gradients,
                   what + ", gradient " + std::to_string(i));
  }
}

}  // namespace

void expect_half(const OpFunction& f, const Tensors& inputs, Tolerance tolerance) {
  for (const DType dtype : {DType::bfloat16, DType::float16}) expect_half_of(dtype, f, inputs, tolerance);
}

void expect_kernels_agree(const OpFunction& f, const Tensors& inputs, Tolerance tolerance) {
  if (tolerance.half) expect_half(f, inputs, tolerance);
  KernelRecorder recorder;
  Outcome expected;
  {
    ScopedValue<std::string_view> reference(thread_context().only_kernel, "reference");
    expected = run_with_gradients(f, inputs);
  }
  const std::set<std::string> ran = recorder.ran();
  expect_same(run_with_gradients(f, inputs), expected, tolerance, "the chosen kernels");
  for (const std::string& name : fast_kernels_of(ran)) {
    ScopedValue<std::string_view> only(thread_context().only_kernel, name);
    try {
      expect_same(run_with_gradients(f, inputs), expected, tolerance, "kernel " + name);
    } catch (const NotFoundError&) {
      continue;  // it refuses these shapes
    }
  }
  enable_ghost_device();
  expect_same(run_with_gradients(f, inputs, "ghost:0"), expected, tolerance, "ghost:0");
}

std::vector<std::string> kernels_that_run(const OpFunction& f, const Tensors& inputs) {
  KernelRecorder recorder;
  run_with_gradients(f, inputs);
  const std::set<std::string> ran = recorder.ran();
  return {ran.begin(), ran.end()};
}

void expect_close(const Tensor& actual, const Tensor& expected, Tolerance tolerance,
                  const std::string& what) {
  ASSERT_EQ(actual.shape(), expected.shape()) << what;
  ASSERT_EQ(name_of(actual.dtype()), name_of(expected.dtype())) << what;
  const std::vector<double> a = values_of(actual), b = values_of(expected);
  size_t wrong = 0;
  for (size_t i = 0; i < a.size() && wrong < 5; ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (std::abs(a[i] - b[i]) <= tolerance.absolute + tolerance.relative * std::abs(b[i])) continue;
    ADD_FAILURE() << what << ": element " << i << " of " << actual.shape().to_string() << " is " << a[i]
                  << ", expected " << b[i];
    ++wrong;
  }
}

std::vector<double> values_of(const Tensor& tensor) {
  return ops::cast(tensor.to(Device{}), DType::float64).to_vector<double>();
}

Tensor random_tensor(const Shape& shape, uint64_t seed, double low, double high, DType dtype) {
  DrawStream generator(mix_key(seed, "random_tensor"));
  std::vector<double> values(static_cast<size_t>(shape.num_elements()));
  for (double& value : values) value = generator.uniform(low, high);
  return tensor_of(values, shape, dtype);
}

Tensor tensor_of(const std::vector<double>& values, const Shape& shape, DType dtype) {
  return ops::cast(Tensor::from(values, shape), dtype);
}

}  // namespace nyala::testing
