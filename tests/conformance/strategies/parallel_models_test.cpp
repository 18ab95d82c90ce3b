// The promise, for models that split their batches themselves: DataParallel and multi_gpu_model give the
// numbers of one device in every case of the suite, partial batches, BatchNormalization and Dropout included.
#include <cstdio>

#include <gtest/gtest.h>

#include <nyala/api/parallel/data_parallel.h>
#include <nyala/api/parallel/multi_gpu_model.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/one_device.h>
#include <nyala/tests/conformance/strategies/promise_case.h>

namespace nyala {
namespace {

struct ParallelKind {
  std::string name;
  int devices;
  std::function<Model(const Model&)> wrap;
};

std::vector<ParallelKind> kinds() {
  std::vector<ParallelKind> all;
  for (int count : {1, 2, 3}) {
    std::vector<int> ids;
    for (int i = 0; i < count; ++i) ids.push_back(i);
    all.push_back({"DataParallel on " + std::to_string(count), count,
                   [ids](const Model& net) { return DataParallel(net, {.device_ids = ids}); }});
    if (count > 1)
      all.push_back({"multi_gpu_model on " + std::to_string(count), count,
                     [ids](const Model& net) { return multi_gpu_model(net, {.gpus = ids}); }});
  }
  return all;
}

class ParallelModels : public ::testing::TestWithParam<std::string> {
 protected:
  static void compare(DType dtype) {
    const PromiseCase& training = promise_case(GetParam());
    configure_logical_devices("cpu", 3);
    const Outcome expected = outcome_of(training, OneDeviceStrategy("cpu:0"), dtype);
    for (const ParallelKind& kind : kinds()) {
      PromiseCase parallel = training;
      parallel.make = [&](const std::string& name) { return kind.wrap(training.make(name)); };
      const Difference difference =
          difference_of(outcome_of(parallel, OneDeviceStrategy("cpu:0"), dtype), expected, dtype);
      EXPECT_LE(difference.allowed, 1.0) << kind.name << ", " << name_of(dtype) << ": " << difference.where;
      std::printf("%-42s %-22s %s %.1e\n", training.name.c_str(), kind.name.c_str(),
                  dtype == DType::float32 ? "float32" : "float64", difference.largest);
    }
  }
};

TEST_P(ParallelModels, GiveTheNumbersOfOneDevice) { compare(DType::float32); }
TEST_P(ParallelModels, GiveTheNumbersOfOneDeviceInFloat64) { compare(DType::float64); }

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const PromiseCase& training : promise_cases()) names.push_back(training.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Cases, ParallelModels, ::testing::ValuesIn(case_names()), [](const auto& instance) {
  std::string name = instance.param;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

}  // namespace
}  // namespace nyala
