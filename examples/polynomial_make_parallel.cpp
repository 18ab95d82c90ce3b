// Finds the polynomial behind samples: w of three numbers is fitted to 5x^2 + 3 by Adam, 100 fresh
// samples of [-10, 10] per step. make_parallel() computes the losses of each batch on several devices; their
// number does not change the numbers.
//
//   polynomial_make_parallel [steps]
#include <nyala/nyala.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

using namespace nyala;

// y = [x^2, x, 1] . w
struct PolynomialNode : LayerNode {
  std::string class_name() const override { return "Polynomial"; }
  void build(Builder& b, const Shape&) override { w = b.weight("w", {3, 1}, "glorot_uniform"); }
  Tensor call(Call& c, const Tensor& x) const override {
    const Tensor features = ops::stack({ops::square(x), x, ops::ones_like(x)}, 1);
    return ops::squeeze(ops::matmul(features, c[w]), {1});
  }
  Variable w;
};

Arrays samples(std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(-10.0f, 10.0f);
  std::vector<float> x(100), y(100);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = uniform(random);
    y[i] = 5.0f * x[i] * x[i] + 3.0f;
  }
  return {Tensor::from(x), Tensor::from(y)};
}

std::vector<float> fitted(int num_devices, int steps) {
  set_random_seed(1);
  std::mt19937 random(1);
  const Layer polynomial = make_layer<PolynomialNode>();
  polynomial(samples(random).x);  // makes w
  auto losses = [&](const NamedInputs& in) { return ops::square(polynomial(in["x"]) - in["y"]); };
  Adam optimizer({.learning_rate = 0.1});
  for (int step = 1; step <= steps; ++step) {
    const Arrays batch = samples(random);
    GradientTape tape;
    const Tensor loss = ops::mean(make_parallel(losses, num_devices, {{"x", batch.x}, {"y", batch.y}}));
    const Variables variables = polynomial.trainable_variables();
    optimizer.apply_gradients(tape.gradient(loss, variables), variables);
  }
  return polynomial.get_weights()[0].to_vector<float>();
}

int main(int argc, char** argv) {
  configure_logical_devices("cpu", 3);
  bool same = true;
  std::vector<std::vector<float>> first;
  for (int devices : {1, 2, 3}) {
    int row = 0;
    for (int steps : {1000, argc > 1 ? std::atoi(argv[1]) : 3000}) {
      const std::vector<float> w = fitted(devices, steps);
      std::printf("%d device%s %d steps: [%.4f, %.4f, %.4f]\n", devices, devices > 1 ? "s," : ", ", steps,
                  w[0], w[1], w[2]);
      if (devices == 1) first.push_back(w);
      for (size_t i = 0; i < w.size(); ++i)
        same = same && std::abs(w[i] - first[static_cast<size_t>(row)][i]) < 1e-3;
      ++row;
    }
  }
  return same ? 0 : 1;
}
