#include <nyala/tests/conformance/strategies/stress_kinds.h>

#include <stdexcept>

#include <nyala/nyala.h>
#include <nyala/tests/conformance/strategies/promise_case.h>

namespace nyala {

using namespace nyala::detail;

void Fuse::arm(int victim, int step) {
  victim_ = victim;
  for (auto& steps : steps_) steps = 0;
  step_ = step;
}

void Fuse::burn() {
  const int device = thread_context().device.index;
  if (!armed() || device != victim_) return;
  if (++steps_[static_cast<size_t>(device)] < step_) return;
  step_ = 0;
  throw std::runtime_error(kPlanted);
}

namespace {

using Fused = std::shared_ptr<Fuse>;

bool heads(DrawStream& chance) { return chance.below(2) == 0; }

int between(DrawStream& chance, int low, int high) {
  return low + static_cast<int>(chance.below(static_cast<uint64_t>(high - low + 1)));
}

std::vector<std::string> cpus(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back("cpu:" + std::to_string(i));
  return names;
}

std::vector<int> ids(int count) {
  std::vector<int> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(i);
  return numbers;
}

std::vector<double> random_weights(DrawStream& chance, int count, std::string& text) {
  if (!heads(chance)) return {};
  std::vector<double> weights;
  text += ", weights";
  for (int i = 0; i < count; ++i) {
    weights.push_back(0.25 * between(chance, 1, 12));
    text += " " + std::to_string(weights.back()).substr(0, 4);
  }
  return weights;
}

CrossDeviceOpsOption random_ops(DrawStream& chance, std::string& text) {
  switch (chance.below(5)) {
    case 0:
      text += ", ring";
      return RingAllReduce();
    case 1:
      text += ", tree";
      return HierarchicalCopyAllReduce({.num_packs = between(chance, 0, 3)});
    case 2:
      text += ", to one";
      return ReductionToOneDevice({.device = cpus(8)[chance.below(8)]});
    case 3:
      text += ", direct";
      return DirectAllReduce();
    default:
      return {};
  }
}

int64_t random_bucket(DrawStream& chance) {
  const int64_t sizes[] = {16, 64, 65536};
  return sizes[chance.below(3)];
}

void make_mirrored(DrawStream& chance, StressStrategy& out) {
  MirroredStrategyConfig config{.devices = cpus(out.devices)};
  out.text = "Mirrored";
  config.cross_device_ops = random_ops(chance, out.text);
  config.device_weights = random_weights(chance, out.devices, out.text);
  if (heads(chance)) {
    config.shared_weights = SharedWeights::never;
    out.text += ", separate";
  }
  config.bucket_elements = random_bucket(chance);
  out.make = [config] { return MirroredStrategy(config); };
}

void make_central(DrawStream& chance, StressStrategy& out) {
  CentralStorageStrategyConfig config{.compute_devices = cpus(out.devices)};
  out.text = "CentralStorage";
  config.parameter_device = cpus(8)[chance.below(8)];
  config.cross_device_ops = random_ops(chance, out.text);
  config.device_weights = random_weights(chance, out.devices, out.text);
  config.bucket_elements = random_bucket(chance);
  out.make = [config] { return CentralStorageStrategy(config); };
}

}  // namespace

StressStrategy random_strategy(DrawStream& chance) {
  StressStrategy out;
  out.devices = between(chance, 1, 8);
  const int home = between(chance, 0, 7);
  out.make = [] { return OneDeviceStrategy("cpu:0"); };
  switch (chance.below(8)) {
    case 0:
      out.devices = 1;
      out.first_device = home;
      out.text = "OneDevice cpu:" + std::to_string(home);
      out.make = [home] { return OneDeviceStrategy("cpu:" + std::to_string(home)); };
      break;
    case 1:
    case 2:
    case 3:
      make_mirrored(chance, out);
      break;
    case 4:
    case 5:
      make_central(chance, out);
      break;
    case 6:
      out.devices = std::max(out.devices, 2);
      out.wraps = true;
      out.text = "multi_gpu_model";
      out.wrap = [n = out.devices, merge = heads(chance), relocation = heads(chance)](const Model& net) {
        return multi_gpu_model(net, {.gpus = n, .cpu_merge = merge, .cpu_relocation = relocation});
      };
      break;
    default:
      out.wraps = true;
      out.text = "DataParallel";
      out.wrap = [n = out.devices](const Model& net) { return DataParallel(net, {.device_ids = ids(n)}); };
  }
  out.text += " on " + std::to_string(out.devices);
  return out;
}

namespace {

struct FuseLayer final : LayerNode {
  Fused fuse;
  explicit FuseLayer(Fused with) : fuse(std::move(with)) {}
  std::string class_name() const override { return "FuseLayer"; }
  bool supports_masking() const override { return true; }
  Tensor call(Call& c, const Tensor& x) const override {
    if (c.training() && !x.is_abstract()) fuse->burn();
    return x;
  }
};

/// Keras' recipe for train_step.
struct OwnStep final : ModelNode {
  Fused fuse;
  Dense first = track("first", Dense(8, {.activation = "tanh"})), last = track("last", Dense(3));
  explicit OwnStep(Fused with) : fuse(std::move(with)) {}
  Tensor call(Call& c, const Tensor& x) const override { return last(c, first(c, x)); }
  void train_step(ReplicaStep& step, const Batch& batch) override {
    GradientTape tape;
    const Tensor y_pred = step.forward(batch.x[0]);
    const Tensor loss = step.compute_loss(batch, {y_pred});
    fuse->burn();
    step.apply_gradients(tape.gradient(loss, step.trainable_variables()));
    step.track_loss(loss);
    step.compute_metrics(batch, {y_pred});
  }
};

Model chain(std::vector<Layer> layers, size_t position, const Fused& fuse) {
  layers.insert(layers.begin() + 1 + static_cast<int64_t>(position), make_layer<FuseLayer>(fuse));
  return Sequential(layers);
}

std::vector<Layer> layers_of(uint64_t kind, int64_t words) {
  if (kind == 0) return {Input({6}), Dense(8, {.activation = "tanh"}), Dense(3)};
  if (kind == 1) return {Input({6}), Dropout(0.2), Dense(8, {.activation = "relu"}), Dropout(0.4), Dense(3)};
  if (kind == 2)
    return {Input({5, 5, 2}),
            Conv2D(3, 3, {.use_bias = false}),
            BatchNormalization({.momentum = 0.8}),
            Activation("tanh"),
            Flatten(),
            Dense(3)};
  return {Input({4}, {.dtype = "int64"}), Embedding(words, 4, {.mask_zero = true}), LSTM(5), Dense(3)};
}

Tensor inputs_of(uint64_t kind, int64_t rows, int64_t words, uint64_t key) {
  if (kind == 2) return random_numbers(key, {rows, 5, 5, 2}, DType::float32);
  if (kind == 3) return random_labels(key, rows * 4, static_cast<uint64_t>(words)).with_shape({rows, 4});
  return random_numbers(key, {rows, 6}, DType::float32);
}

std::function<Optimizer()> random_optimizer(DrawStream& chance, std::string& text) {
  switch (chance.below(5)) {
    case 0:
      text += ", SGD";
      return [] { return SGD(0.1); };
    case 1:
      text += ", momentum";
      return [] { return SGD({.learning_rate = 0.05, .momentum = 0.9}); };
    case 2:
      text += ", clipped";
      return [] { return SGD({.learning_rate = 0.1, .momentum = 0.9, .global_clipnorm = 0.1}); };
    case 3:
      text += ", accumulating";
      return [] { return SGD({.learning_rate = 0.1, .momentum = 0.9, .gradient_accumulation_steps = 2}); };
    default:  // the large epsilon keeps gradients that are nothing but rounding from becoming steps
      text += ", Adam";
      return [] { return Adam({.learning_rate = 0.01, .epsilon = 1e-3, .weight_decay = 0.01}); };
  }
}

}  // namespace

StressModel random_model(DrawStream& chance, int64_t rows) {
  const char* names[] = {"dense", "dropout", "conv+BN", "embedding+LSTM", "own train_step"};
  const uint64_t kind = chance.below(5), key = chance.below(1000000);
  const int64_t words = heads(chance) ? 20 : 2000;
  StressModel out{.text = names[kind]};
  out.has_own_step = kind == 4;
  out.x = inputs_of(kind, rows, words, key);
  out.y = random_labels(key + 1, rows, 3);
  const uint64_t position = chance.below(kind == 4 ? 1 : layers_of(kind, words).size() - 1);
  out.make = [=](const Fused& fuse) {
    return kind == 4 ? make_model<OwnStep>(fuse) : chain(layers_of(kind, words), position, fuse);
  };
  out.compile = [optimizer = random_optimizer(chance, out.text)](const Model& model) {
    model.compile({.optimizer = optimizer(),
                   .loss = SparseCategoricalCrossentropy({.from_logits = true}),
                   .metrics = {"accuracy"}});
  };
  return out;
}

}  // namespace nyala
