// A model in a service: one model, several threads that ask it for predictions at the same time, and how long
// they wait. With a path it serves that file's model, else a small convolutional network made on the spot.
//
//   inference_service [--model model.keras] [--requests 200] [--threads 4] [--devices 1]
#include <nyala/examples/support/strategy_argument.h>
#include <nyala/nyala.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

using namespace nyala;
using Clock = std::chrono::steady_clock;

std::string make_file() {
  const Sequential net({Input({28, 28, 1}), Conv2D(16, 3, {.activation = "relu"}), MaxPooling2D(2),
                        Conv2D(32, 3, {.activation = "relu"}), MaxPooling2D(2), Flatten(),
                        Dense(10, {.activation = "softmax"})});
  const std::string path = (std::filesystem::temp_directory_path() / "service.keras").string();
  net.save(path);
  return path;
}

int main(int argc, char** argv) {
  const Strategy strategy = examples::strategy_argument(argc, argv);
  const int64_t requests = examples::number_argument(argc, argv, "--requests", 200);
  const int64_t threads = examples::number_argument(argc, argv, "--threads", 4);
  set_random_seed(1);
  const auto scope = strategy.scope();
  const std::string given = examples::text_argument(argc, argv, "--model", "");
  const Model model = load_model(given.empty() ? make_file() : given, {.compile = false});
  const Shape image = model.model_node().input_shapes().at(0).with(0, 1);
  const Tensor request = ops::random_uniform(image);
  const std::vector<float> expected = model.predict_on_batch(request).to_vector<float>();  // and warms up

  std::vector<std::vector<double>> milliseconds(static_cast<size_t>(threads));
  std::atomic<int> wrong = 0;
  const auto begin = Clock::now();
  {
    std::vector<std::jthread> clients;
    for (std::vector<double>& times : milliseconds)
      clients.emplace_back([&] {
        for (int64_t i = 0; i < requests; ++i) {
          const auto start = Clock::now();
          if (model.predict_on_batch(request).to_vector<float>() != expected) ++wrong;
          times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
        }
      });
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();

  std::vector<double> all;
  for (const std::vector<double>& times : milliseconds) all.insert(all.end(), times.begin(), times.end());
  std::sort(all.begin(), all.end());
  const auto percentile = [&](double part) {
    return all[static_cast<size_t>(part * static_cast<double>(all.size() - 1))];
  };
  std::printf("%zu requests in %.2f s (%.0f per second), ms: median %.2f, 95 %% %.2f, 99 %% %.2f, max %.2f\n",
              all.size(), seconds, static_cast<double>(all.size()) / seconds, percentile(0.5),
              percentile(0.95), percentile(0.99), all.back());
  std::printf("%d wrong answers\n", wrong.load());
  return wrong ? 1 : 0;
}
