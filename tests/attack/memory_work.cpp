#include <nyala/tests/attack/memory_work.h>

#include <new>
#include <stdexcept>

#include <nyala/nyala.h>

namespace attack {

using namespace nyala;

namespace {

constexpr int64_t kSide = 12, kClasses = 5;

Tensor images(int64_t rows) { return ops::random_uniform({rows, kSide, kSide, 3}, 0, 1, {.key = 5}); }

Tensor labels(int64_t rows) {
  std::vector<int64_t> numbers(static_cast<size_t>(rows));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i) % kClasses;
  return Tensor::from(numbers);
}

Sequential network(int size) {
  return Sequential({Input({kSide, kSide, 3}), Conv2D(8 * size, 3, {.padding = "same", .activation = "relu"}),
                     MaxPooling2D(2), Conv2D(16 * size, 3), BatchNormalization(), ReLU(), Flatten(),
                     Dense(32 * size, {.activation = "tanh"}), Dropout(0.3), Dense(kClasses)});
}

void compile(const Model& model) {
  model.compile({.optimizer = Adam(0.01),
                 .loss = SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
}

double sum_of(const Tensor& values) { return ops::sum(ops::cast(values, DType::float64)).item(); }

void keep(const History& history, std::vector<double>& numbers) {
  for (const double loss : history["loss"]) numbers.push_back(loss);
}

/// A call that is to throw OutOfMemoryError, never std::bad_alloc; its arguments are there already.
template <class Call>
auto verb(Call&& call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    throw std::runtime_error("std::bad_alloc comes out of a call that promises OutOfMemoryError");
  }
}

void work_in_scope(const Work& work, std::vector<double>& numbers) {
  const int64_t batch = 32 * work.size * work.size, rows = 2 * batch;
  const Tensor x = images(rows), y = labels(rows);
  const PredictConfig as_batches{.batch_size = batch, .verbose = 0};
  if (work.task == Task::load) {
    const LoadModelConfig plainly;
    const Model model = verb([&] { return load_model(work.file, plainly); });
    numbers.push_back(sum_of(verb([&] { return model.predict(x, as_batches); })));
    return;
  }
  const Sequential model = network(work.size);
  compile(model);
  const FitConfig twice{.batch_size = batch, .epochs = 2, .verbose = 0};
  if (work.task == Task::save) {
    verb([&] { model.save(work.file + ".saved.keras"); });
    verb([&] { model.save(work.file + ".saved.h5"); });
  }
  if (work.task == Task::train) keep(verb([&] { return model.fit(x, y, twice); }), numbers);
  numbers.push_back(sum_of(verb([&] { return model.predict(x, as_batches); })));
}

}  // namespace

const char* name_of(Task task) {
  switch (task) {
    case Task::train:
      return "train";
    case Task::predict:
      return "predict";
    case Task::load:
      return "load";
    case Task::save:
      return "save";
  }
  return "";
}

void write_model(const std::string& file) {
  set_random_seed(3);
  const Sequential model = network(1);
  compile(model);
  model.fit(images(32), labels(32), {.batch_size = 16, .verbose = 0});
  model.save(file);
}

void do_work(const Work& work, std::vector<double>& numbers) {
  set_random_seed(3);
  configure_logical_devices("cpu", work.devices);
  if (work.devices == 1) return work_in_scope(work, numbers);
  const MirroredStrategy strategy({.devices = {"cpu:0", "cpu:1"}});
  const auto scope = strategy.scope();
  work_in_scope(work, numbers);
}

void train_smaller(std::vector<double>& numbers) {
  set_random_seed(11);
  configure_logical_devices("cpu", 1);
  const Sequential model({Input({kSide, kSide, 3}), Conv2D(4, 3, {.activation = "relu"}), MaxPooling2D(2),
                          Flatten(), Dense(kClasses)});
  compile(model);
  keep(model.fit(images(64), labels(64), {.batch_size = 16, .epochs = 2, .verbose = 0}), numbers);
  for (const Tensor& weight : model.get_weights()) numbers.push_back(sum_of(weight));
}

size_t of_process(const char* which) {
  std::FILE* const status = std::fopen("/proc/self/status", "r");
  size_t found = 0;
  char line[200];
  while (status && std::fgets(line, sizeof line, status))
    if (std::strncmp(line, which, std::strlen(which)) == 0)
      found = std::strtoull(line + std::strlen(which) + 1, nullptr, 10) * 1024;
  if (status) std::fclose(status);
  return found;
}

}  // namespace attack
