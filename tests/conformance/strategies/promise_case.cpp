#include <nyala/tests/conformance/strategies/promise_case.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include <gtest/gtest.h>

#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/runtime/random.h>

namespace nyala {

namespace {

std::vector<double> numbers(const Tensor& value) {
  Tensor host = Tensor::empty(value.shape(), value.dtype());
  host.copy_from(value);
  return ops::cast(host, DType::float64).to_vector<double>();
}

std::vector<char> bits(const Tensor& value) {
  std::vector<char> bytes(value.bytes());
  value.copy_to_host(bytes.data());
  return bytes;
}

void expect_equal_copies(const Model& model) {
  for (const Variable& variable : model.weights())
    for (size_t copy = 1; copy < variable.num_copies(); ++copy)
      EXPECT_EQ(bits(variable.value(copy)), bits(variable.value(0)))
          << variable.path() << " of replica " << copy;
}

void expect_trained(const Model& model, const Tensors& before) {
  const Variables after = model.weights();
  for (size_t i = 0; i < before.size(); ++i) {
    if (!after[i].trainable() || after[i].name() == "spare") continue;
    EXPECT_NE(numbers(before[i]), numbers(after[i].value())) << after[i].path() << " did not learn";
  }
}

void add_logs(Outcome& outcome, const Logs& logs) {
  for (const auto& [name, value] : logs) outcome["evaluate " + name] = {value};
}

}  // namespace

const PromiseCase& promise_case(const std::string& name) {
  for (const PromiseCase& training : promise_cases())
    if (training.name == name) return training;
  throw std::out_of_range("there is no case " + name);
}

Outcome outcome_of(const PromiseCase& training, const Strategy& strategy, DType dtype) {
  return outcome_of(training, strategy, DTypePolicy(dtype));
}

std::string input_dtype(const std::string& name) {
  return std::string(name_of(DTypePolicy(name).variable_dtype()));
}

Outcome outcome_of(const PromiseCase& training, const Strategy& strategy, DTypePolicy policy) {
  clear_session();
  set_random_seed(20261);
  const CaseData data = training.data(policy.variable_dtype());
  const Model model = strategy.scope([&] { return training.make(policy.name()); });
  const Tensors before = model.get_weights();
  const History history = model.fit(data.x, data.y, data.fit);
  Outcome outcome;
  int index = 0;
  for (const Variable& variable : model.weights())
    outcome["weight " + std::to_string(index++) + " " + variable.path()] = numbers(variable.value());
  for (const OptimizerVariable& variable : model.optimizer().node().variables_for_file())
    outcome["optimizer " + std::to_string(index++) + " " + variable.name] = numbers(variable.value);
  for (const auto& [name, values] : history.history()) outcome["history " + name] = values;
  add_logs(outcome, model.evaluate(data.x, data.y, {.batch_size = data.fit.batch_size, .verbose = 0}));
  index = 0;
  for (const Tensor& output : model.predict_all(data.x, {.batch_size = data.fit.batch_size, .verbose = 0}))
    outcome["predict " + std::to_string(index++)] = numbers(output);
  expect_equal_copies(model);
  expect_trained(model, before);
  return outcome;
}

Tensor random_numbers(uint64_t key, const Shape& shape, DType dtype) {
  DrawStream generator(key);
  std::vector<double> values(static_cast<size_t>(shape.num_elements()));
  for (double& value : values) value = generator.normal();
  return ops::cast(Tensor::from(values, shape), dtype);
}

Tensor random_labels(uint64_t key, int64_t count, uint64_t bound) {
  DrawStream generator(key);
  std::vector<int64_t> labels(static_cast<size_t>(count));
  for (int64_t& label : labels) label = static_cast<int64_t>(generator.below(bound));
  return Tensor::from(labels);
}

Difference difference_of(const Outcome& received, const Outcome& expected, DType dtype) {
  Difference difference;
  EXPECT_EQ(received.size(), expected.size());
  for (const auto& [name, values] : expected) {
    const auto found = received.find(name);
    if (found == received.end() || found->second.size() != values.size()) {
      ADD_FAILURE() << name << " is missing or has another length";
      continue;
    }
    for (size_t i = 0; i < values.size(); ++i) {
      const double off = std::abs(found->second[i] - values[i]);
      const double tolerance = dtype == DType::float64 ? 1e-10 : 1e-5 + 1e-4 * std::abs(values[i]);
      difference.largest = std::isnan(off) ? off : std::max(difference.largest, off);
      if (off / tolerance <= difference.allowed) continue;
      difference.allowed = std::isnan(off) ? HUGE_VAL : off / tolerance;
      difference.where = name + "[" + std::to_string(i) + "]: received " + std::to_string(found->second[i]) +
                         ", expected " + std::to_string(values[i]);
    }
  }
  return difference;
}

double relative_difference(const Outcome& received, const Outcome& expected, const std::string& names) {
  double difference = 0.0, size = 0.0;
  for (const auto& [name, values] : expected) {
    if (!name.starts_with(names)) continue;
    const std::vector<double>& others = received.at(name);
    EXPECT_EQ(others.size(), values.size()) << name;
    for (size_t i = 0; i < values.size(); ++i) {
      difference += (others[i] - values[i]) * (others[i] - values[i]);
      size += values[i] * values[i];
    }
  }
  EXPECT_GT(size, 0.0) << names;
  return std::sqrt(difference / size);
}

}  // namespace nyala
