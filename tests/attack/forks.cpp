// Forks at random moments while threads of the parent train and predict; each child predicts and trains. What
// must not happen: a child that hangs or dies, or whose numbers are not the parent's. A child may refuse,
// with StateError. Arguments: the number of forks, the seed.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <nyala/nyala.h>
#include <nyala/tests/support/forked.h>

using namespace nyala;

namespace {

Tensor numbers(const Shape& shape, double step) {
  std::vector<float> values;
  for (int64_t i = 0; i < shape.num_elements(); ++i)
    values.push_back(static_cast<float>(std::sin(static_cast<double>(i) * step)));
  return Tensor::from(values).with_shape(shape);
}

MirroredStrategy two_devices() { return MirroredStrategy({.devices = {"cpu:0", "cpu:1"}}); }

Model make_model() {
  Model model = Sequential({Input({12, 12, 4}), Conv2D(16, 3, {.activation = "relu"}), BatchNormalization(),
                            MaxPooling2D(2), Flatten(), Dense(48, {.activation = "relu"}), Dense(4)});
  model.compile({.optimizer = SGD(0.01), .loss = "mse"});
  return model;
}

struct Work {
  Tensor x = numbers({32, 12, 12, 4}, 0.37), y = numbers({32, 4}, 0.11);
  Model model = make_model();
  std::vector<float> predict() const { return model.predict(x, {.verbose = 0}).to_vector<float>(); }
  void fit(int epochs) { model.fit(x, y, {.batch_size = 16, .epochs = epochs, .verbose = 0}); }
};

/// Threads of the parent at work until this ends.
class Parent {
 public:
  Parent(Work& asked, bool first_uses) {
    threads_.emplace_back([this] { train(); });
    threads_.emplace_back([this] { two_devices().scope([this] { train(); }); });
    threads_.emplace_back([this, &asked] {
      while (!stop_) asked.predict();
    });
    if (first_uses)  // new shapes all the time: kernels are made while the process forks
      threads_.emplace_back([this, &asked] {
        for (int64_t rows = 1; !stop_; rows = rows % 31 + 1)
          asked.model.predict(asked.x.rows(0, rows), {.batch_size = rows, .verbose = 0});
      });
  }
  ~Parent() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void train() const {
    Work own;
    while (!stop_) own.fit(1);
  }

  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

/// Whether the child's numbers are right. `kind` says what it does.
bool child(int kind, Work& asked, const std::vector<float>& expected) {
  if (kind == 0) return asked.predict() == expected;
  Work own;
  own.model.set_weights(asked.model.get_weights());
  if (kind == 1) return own.predict() == expected;
  if (kind == 2) {
    own.fit(2);
    return std::isfinite(own.predict()[0]);
  }
  const Strategy own_strategy = kind == 3 ? Strategy(OneDeviceStrategy("cpu:0")) : Strategy(two_devices());
  return own_strategy.scope([&] {
    Work inside;
    inside.model.set_weights(asked.model.get_weights());
    inside.fit(2);
    return std::isfinite(inside.predict()[0]);
  });
}

}  // namespace

int main(int count, char** arguments) {
  const int forks = count > 1 ? std::atoi(arguments[1]) : 40;
  const unsigned seed = count > 2 ? static_cast<unsigned>(std::atoi(arguments[2])) : 1;
  std::printf("%d forks, seed %u\n", forks, seed);
  configure_logical_devices("cpu", 2);
  set_random_seed(seed);
  std::mt19937 random(seed);
  const char* kinds[] = {"ask the parent's model", "ask an own model", "train where the parent does",
                         "train on a strategy of its own", "train on two devices"};
  std::map<std::string, int> ends;
  int bad = 0;
  Work asked;
  const std::vector<float> expected = asked.predict();
  const Parent parent(asked, true);
  for (int i = 0; i < forks; ++i) {
    const int kind = static_cast<int>(random() % 5);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 5000));
    const ForkedEnd end = in_forked_child([&] { return child(kind, asked, expected); }, 30);
    const std::string name = end.worked()            ? "worked"
                             : end.refused()         ? "refused"
                             : end.code == 1         ? "WRONG NUMBERS"
                             : end.signal == SIGALRM ? "HUNG"
                             : end.signal != 0       ? "DIED of signal " + std::to_string(end.signal)
                                                     : "OTHER ERROR: " + end.text;
    ++ends[std::string(kinds[kind]) + ": " + name];
    if (end.refused()) ++ends["  " + end.text.substr(0, 100)];
    bad += !end.worked() && !end.refused();
  }
  for (const auto& [name, times] : ends) std::printf("%6d  %s\n", times, name.c_str());
  std::fflush(stdout);
  return bad == 0 ? 0 : 1;
}
