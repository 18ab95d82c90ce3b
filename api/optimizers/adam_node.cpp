#include <cmath>

#include <nyala/api/optimizers/adam_node.h>
#include <nyala/api/optimizers/base/optimizer_config.h>

namespace nyala {

using namespace nyala::detail;

namespace {

template <class T>
T corrected_rate(const AdamNumbers& numbers, int64_t step, double learning_rate, DType dtype) {
  const T power_1 = static_cast<T>(power_of(numbers.beta_1, step + 1, dtype));
  const T power_2 = static_cast<T>(power_of(numbers.beta_2, step + 1, dtype));
  return static_cast<T>(learning_rate) * std::sqrt(T(1) - power_2) / (T(1) - power_1);
}

}  // namespace

std::vector<double> detail::adam_scalars(const AdamNumbers& numbers, int64_t step, double learning_rate,
                                         DType dtype) {
  const double alpha = dtype == DType::float64 ? corrected_rate<double>(numbers, step, learning_rate, dtype)
                                               : corrected_rate<float>(numbers, step, learning_rate, dtype);
  return {alpha, 1.0 - numbers.beta_1, 1.0 - numbers.beta_2, numbers.epsilon};
}

std::vector<std::string> AdamNode::slot_names() const {
  std::vector<std::string> names = {"momentum", "velocity"};
  if (numbers_.amsgrad) names.push_back("velocity_hat");
  return names;
}

std::vector<double> AdamNode::step_scalars(int64_t step, double learning_rate, DType dtype) const {
  return adam_scalars(numbers_, step, learning_rate, dtype);
}

void AdamNode::update(const UpdateRange& range) const {
  numbers_.amsgrad ? run_update<formulas::AdamAmsgrad>(range) : run_update<formulas::Adam>(range);
}

}  // namespace nyala
