// Data parallelism with nothing but ops, gradients and devices: every device holds the weights, works on its
// part of each batch, and all of them step by the sum of everybody's gradients. Trains a LeNet on
// Fashion-MNIST on one device and on two, one thread each, and prints what an epoch takes and the accuracy on
// the test images.
//
// In float32 the order of a sum is enough to move the accuracy by a hundredth, because the weights begin
// close to zero and 0.2 is a large rate; float64 shows that one device and two compute the same.
//
//   data_parallel_from_scratch [epochs [training images [test images [seed [float32 or float64]]]]]
#include <nyala/nyala.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <numeric>

using namespace nyala;
using namespace nyala::detail;

using Devices = std::vector<Device>;

// The network: two convolutions and two dense layers. Its weights are plain tensors.
Tensors initial_params(uint64_t seed, DType dtype) {
  auto normal = [dtype, key = 8 * seed](const Shape& shape) mutable {
    return ops::cast(ops::random_normal(shape, 0.0, 0.01, {.key = key++}), dtype);
  };
  auto zeros = [dtype](int64_t size) { return Tensor::zeros({size}, dtype); };
  return {normal({3, 3, 1, 20}), zeros(20),  normal({5, 5, 20, 50}), zeros(50),
          normal({800, 128}),    zeros(128), normal({128, 10}),      zeros(10)};
}

Tensor lenet(const Tensor& images, const Tensors& params) {
  Tensor x = ops::cast(images, params[0].dtype()) * (1 / 255.0);
  x = ops::average_pooling2d(ops::relu(ops::conv2d(x, params[0], params[1])));
  x = ops::average_pooling2d(ops::relu(ops::conv2d(x, params[2], params[3])));
  x = ops::reshape(x, {-1, 800});
  x = ops::relu(ops::dense(x, params[4], params[5]));
  return ops::dense(x, params[6], params[7]);
}

Tensors get_params(const Tensors& params, Device device) {
  Tensors copies;
  for (const Tensor& param : params) copies.push_back(param.to(device));
  return copies;
}

// Makes every tensor of the list the sum of all, each on its own device.
void allreduce(Tensors& list) {
  for (size_t i = 1; i < list.size(); ++i) list[0] = list[0] + list[i].to(list[0].device());
  for (size_t i = 1; i < list.size(); ++i) list[i] = list[0].to(list[i].device());
}

// Consecutive rows for every device, the first devices taking one more where they do not divide evenly.
Tensors split_and_load(const Tensor& batch, const Devices& devices) {
  const auto count = static_cast<int64_t>(devices.size()), rows = batch.shape()[0];
  Tensors parts;
  for (int64_t i = 0, first = 0; i < count; ++i) {
    const int64_t own = rows / count + (i < rows % count ? 1 : 0);
    parts.push_back(batch.rows(first, own).to(devices[static_cast<size_t>(i)]));
    first += own;
  }
  return parts;
}

// The gradients of the summed loss of some rows, on the device that holds them.
Tensors gradients_of(const Tensor& images, const Tensor& labels, const Tensors& params) {
  GradientTape tape;
  Tensors watched;
  for (const Tensor& param : params) watched.push_back(tape.watch(param));
  const Tensor logits = lenet(images, watched);
  const Tensor losses = ops::sparse_categorical_crossentropy(labels, logits, {.from_logits = true});
  return tape.gradient(ops::sum(losses), watched);
}

void sgd(Tensors& params, const Tensors& gradients, double rate) {
  for (size_t i = 0; i < params.size(); ++i) params[i] = params[i] - gradients[i] * rate;
}

// Lets the ops of the calling thread use one device's share of the cores. Otherwise each thread takes all of
// them, and a team that waits for its next op spins on the cores of the others.
void use_share_of_cores() { thread_context().compute_threads = threads_per_cpu_device(); }

// Calls work(i) for every device at the same time, each in a thread of its own.
template <class Work>
void on_all(const Devices& devices, const Work& work) {
  std::vector<std::future<void>> threads;
  for (size_t i = 0; i < devices.size(); ++i)
    threads.push_back(std::async(std::launch::async, [&, i] {
      const auto here = device(devices[i]);
      use_share_of_cores();
      work(i);
    }));
  for (std::future<void>& thread : threads) thread.get();
}

// One step: split, compute everywhere, add up, step everywhere.
void train_batch(const Arrays& batch, std::vector<Tensors>& params, const Devices& devices, double lr) {
  const Tensors x = split_and_load(batch.x, devices), y = split_and_load(batch.y, devices);
  std::vector<Tensors> gradients(devices.size());
  on_all(devices, [&](size_t i) { gradients[i] = gradients_of(x[i], y[i], params[i]); });
  for (size_t p = 0; p < params[0].size(); ++p) {
    Tensors list;
    for (const Tensors& of_device : gradients) list.push_back(of_device[p]);
    allreduce(list);
    for (size_t i = 0; i < devices.size(); ++i) gradients[i][p] = list[i];
  }
  const double rate = lr / static_cast<double>(batch.x.shape()[0]);
  on_all(devices, [&](size_t i) { sgd(params[i], gradients[i], rate); });
}

double accuracy(const Arrays& test, const Tensors& params) {
  const int64_t rows = test.x.shape()[0], step = 500;
  double right = 0;
  for (int64_t first = 0; first < rows; first += step) {
    const int64_t count = std::min(step, rows - first);
    const Tensor predicted = ops::argmax(lenet(test.x.rows(first, count), params), -1);
    const Tensor hits = ops::equal(ops::cast(predicted, DType::int64), test.y.rows(first, count));
    right += ops::sum(ops::cast(hits, DType::float32)).item();
  }
  return right / static_cast<double>(rows);
}

// The rows in an order that depends on the epoch alone.
Tensor shuffled_rows(int64_t rows, int epoch) {
  const ops::RandomOptions draw = {.key = static_cast<uint64_t>(epoch), .dtype = DType::float64};
  const std::vector<double> lots = ops::random_uniform({rows}, 0.0, 1.0, draw).to_vector<double>();
  std::vector<int64_t> order(lots.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](int64_t row) { return lots[static_cast<size_t>(row)]; });
  return Tensor::from(order);
}

struct Task {
  TrainTest data = {};
  int epochs = 4;
  uint64_t seed = 1;
  DType dtype = DType::float32;

  Tensors initial() const { return initial_params(seed, dtype); }
};

struct Result {
  double accuracy = 0.0;
  double seconds_per_epoch = 0.0;  // of the fastest epoch
  Tensors early;                   // weights after the first 20 steps
};

Result train(int num_devices, const Task& task, int64_t batch_size = 256, double lr = 0.2) {
  const TrainTest& data = task.data;
  const Devices all = list_logical_devices("cpu");
  const Devices devices(all.begin(), all.begin() + num_devices);
  std::vector<Tensors> params;
  for (Device device : devices) params.push_back(get_params(task.initial(), device));
  const int64_t rows = data.train.x.shape()[0];
  Result result;
  for (int epoch = 1; epoch <= task.epochs; ++epoch) {
    const Tensor order = shuffled_rows(rows, epoch);
    const auto start = std::chrono::steady_clock::now();
    for (int64_t first = 0; first < rows; first += batch_size) {
      const Tensor indices = order.rows(first, std::min(batch_size, rows - first));
      train_batch({ops::take(data.train.x, indices), ops::take(data.train.y, indices)}, params, devices, lr);
      if (epoch == 1 && first <= 19 * batch_size) result.early = params[0];
    }
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    result.accuracy = accuracy(data.test, params[0]);
    result.seconds_per_epoch = epoch == 1 ? time.count() : std::min(result.seconds_per_epoch, time.count());
    std::printf("  epoch %d: %5.2f s, test accuracy %.4f\n", epoch, time.count(), result.accuracy);
    std::fflush(stdout);
  }
  return result;
}

double largest_difference(const Tensors& a, const Tensors& b) {
  double largest = 0.0;
  for (size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, ops::max(ops::absolute(a[i] - b[i])).item());
  return largest;
}

int main(int argc, char** argv) {
  auto argument = [&](int i, int64_t otherwise) { return argc > i ? std::atoll(argv[i]) : otherwise; };
  configure_logical_devices("cpu", 2);
  use_share_of_cores();
  Task task{datasets::fashion_mnist()};
  task.epochs = static_cast<int>(argument(1, 4));
  task.data.train = {task.data.train.x.rows(0, argument(2, 60000)),
                     task.data.train.y.rows(0, argument(2, 60000))};
  task.data.test = {task.data.test.x.rows(0, argument(3, 10000)),
                    task.data.test.y.rows(0, argument(3, 10000))};
  task.seed = static_cast<uint64_t>(argument(4, 1));
  if (argc > 5) task.dtype = parse_dtype(argv[5]);
  std::vector<Result> results;
  for (int devices : {1, 2}) {
    std::printf("%d device%s\n", devices, devices > 1 ? "s" : "");
    results.push_back(train(devices, task));
  }
  std::printf("20 steps change weights by up to %.1e, 2 devices do so with a difference of %.1e\n",
              largest_difference(results[0].early, task.initial()),
              largest_difference(results[0].early, results[1].early));
  std::printf("accuracy differs by %.4f, 2 devices are %.2f times as fast\n",
              std::abs(results[0].accuracy - results[1].accuracy),
              results[0].seconds_per_epoch / results[1].seconds_per_epoch);
  return 0;
}
