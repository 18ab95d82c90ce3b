// A program as a user writes it, against the installed package: learns to add up four numbers.
#include <cstdio>
#include <vector>

#include <nyala/nyala.h>

using namespace nyala;

int main() {
  set_random_seed(1);
  std::vector<float> inputs;
  std::vector<float> sums;
  for (int row = 0; row < 64; ++row) {
    float sum = 0;
    for (int column = 0; column < 4; ++column) {
      const float value = static_cast<float>((row * 7 + column * 13) % 11) / 11.0f;
      inputs.push_back(value);
      sum += value;
    }
    sums.push_back(sum);
  }
  const Tensor x(inputs, {64, 4});
  const Tensor y(sums, {64, 1});

  Sequential net({Input({4}), Dense(8, {.activation = "relu"}), Dense(1)});
  net.compile({.optimizer = Adam({.learning_rate = 0.02}), .loss = "mse"});
  const History history = net.fit(x, y, {.batch_size = 16, .epochs = 10, .verbose = 0});
  const auto losses = history["loss"];
  if (losses.size() != 10 || !(losses.back() < losses.front())) return 1;
  std::printf("nyala %s: trained, loss %g -> %g\n", std::string(version()).c_str(), losses.front(),
              losses.back());
}
