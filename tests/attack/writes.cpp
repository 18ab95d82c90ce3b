// attack_writes [programs] [seed]: random programs under a tape read variables, compute with them and write
// them, in between and behind. A gradient is that of the values that were read, which a second computation of
// derivatives in forward mode gives, or StateError, which only a program may get that writes a variable after
// reading it.
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <nyala/nyala.h>

using namespace nyala;

namespace {

constexpr size_t kVariables = 3;

/// A number and its derivatives with respect to the variables.
struct Dual {
  double value = 0;
  std::array<double, kVariables> by = {};

  Dual operator+(const Dual& other) const { return combined(other, value + other.value, 1, 1); }
  Dual operator-(const Dual& other) const { return combined(other, value - other.value, 1, -1); }
  Dual operator*(const Dual& other) const { return combined(other, value * other.value, other.value, value); }
  Dual tanh() const {
    const double result = std::tanh(value);
    return combined({}, result, 1 - result * result, 0);
  }

 private:
  Dual combined(const Dual& other, double result, double factor, double other_factor) const {
    Dual dual{result};
    for (size_t i = 0; i < kVariables; ++i) dual.by[i] = factor * by[i] + other_factor * other.by[i];
    return dual;
  }
};

class Program {
 public:
  explicit Program(unsigned seed) : random_(seed) {
    for (size_t i = 0; i < kVariables; ++i) {
      duals_[i].value = number();
      duals_[i].by[i] = 1;
      variables_.emplace_back(duals_[i].value, VariableConfig{.name = "v" + std::to_string(i)});
    }
  }

  /// What is wrong; empty where nothing is.
  std::string run() {
    GradientTape tape({.persistent = random_() % 2 == 0});
    Tensor y = variables_[0].value() * 1.0;
    Dual expected = duals_[0];
    read_[0] = true;
    for (size_t steps = 1 + random_() % 12; steps > 0; --steps) step(y, expected);
    for (size_t writes = random_() % 2; writes > 0; --writes) write();
    try {
      const Tensors gradients = tape.gradient(y, variables_);
      return difference(gradients, expected);
    } catch (const StateError& error) {
      return wrote_what_was_read_ ? "" : std::string("refused: ") + error.what();
    }
  }

 private:
  double number() { return static_cast<double>(static_cast<int>(random_() % 41) - 20) / 10; }

  void step(Tensor& y, Dual& expected) {
    const size_t i = random_() % kVariables;
    switch (random_() % 6) {
      case 0:
        return write();
      case 1:
        y = ops::tanh(y);
        expected = expected.tanh();
        return;
      case 2:
        y = y + variables_[i].value();
        expected = expected + duals_[i];
        break;
      case 3:
        y = variables_[i].value() - y;
        expected = duals_[i] - expected;
        break;
      case 4:
        y = y * y;
        expected = expected * expected;
        return;
      default:
        y = y * variables_[i].value();
        expected = expected * duals_[i];
    }
    read_[i] = true;
  }

  void write() {
    const size_t i = random_() % kVariables;
    const double value = number();
    const bool adds = random_() % 2;
    adds ? variables_[i].assign_add(value) : variables_[i].assign(value);
    duals_[i].value = adds ? duals_[i].value + value : value;
    wrote_what_was_read_ = wrote_what_was_read_ || read_[i];
  }

  static std::string difference(const Tensors& gradients, const Dual& expected) {
    for (size_t i = 0; i < kVariables; ++i) {
      const double received = gradients[i].defined() ? gradients[i].item() : 0;
      if (std::abs(received - expected.by[i]) > 1e-3 * (1 + std::abs(expected.by[i])))
        return "variable " + std::to_string(i) + ": expected " + std::to_string(expected.by[i]) +
               ", received " + std::to_string(received);
    }
    return "";
  }

  std::mt19937 random_;
  std::array<Dual, kVariables> duals_;
  Variables variables_;
  std::array<bool, kVariables> read_ = {};
  bool wrote_what_was_read_ = false;
};

}  // namespace

int main(int count, char** arguments) {
  const int programs = count > 1 ? std::atoi(arguments[1]) : 2000;
  const unsigned seed = count > 2 ? static_cast<unsigned>(std::atoi(arguments[2])) : 1;
  int bad = 0;
  for (int i = 0; i < programs; ++i) {
    const std::string defect = Program(seed * 1'000'003u + static_cast<unsigned>(i)).run();
    if (defect.empty()) continue;
    ++bad;
    std::printf("program %d of seed %u: %s\n", i, seed, defect.c_str());
  }
  std::printf("%d programs, seed %u: %d failures\n", programs, seed, bad);
  return bad == 0 ? 0 : 1;
}
