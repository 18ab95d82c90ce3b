// A warm training step whose values are 16-bit floats beside float32 weights: convolution, batch
// normalization, relu, dense, loss, back and update. It takes no memory, makes no primitive and reads nothing
// back.
#include <gtest/gtest.h>

#include <nyala/backend/autograd/backward.h>
#include <nyala/backend/kernels/cpu/onednn/onednn.h>
#include <nyala/backend/ops/all.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/update/update_formulas.h>
#include <nyala/backend/runtime/counters.h>
#include <nyala/backend/runtime/device_registry.h>

namespace nyala::half_step_test {
namespace {

/// Writes the gradients of leaves to places that stay.
class Places final : public GradientSink {
 public:
  explicit Places(const Tensors& weights) {
    for (const Tensor& weight : weights) places.push_back(Tensor::zeros(weight.shape(), weight.dtype()));
  }
  Tensor destination(int32_t leaf) override { return places[static_cast<size_t>(leaf)]; }
  void ready(int32_t, const Tensor&) override { ++ready_count; }
  Tensors places;
  int ready_count = 0;
};

class Step {
 public:
  explicit Step(DType dtype) : places_(weights_) {
    x_ = ops::cast(ops::random_normal({8, 14, 14, 16}, 0.0, 1.0, {.key = 1}), dtype);
  }

  /// The loss.
  Tensor run() {
    Tensors w;
    for (size_t i = 0; i < weights_.size(); ++i)
      w.push_back(tape_.watch(weights_[i], static_cast<int32_t>(i)));
    Tensor y = ops::conv2d(x_, w[0], w[1], {.padding = "same"});
    y = ops::detail::batch_normalization_train(y, w[2], w[3], {}).y;
    y = ops::relu(ops::conv2d(ops::relu(y), w[4], {}, {.padding = "same"}) + x_);
    y = ops::dense(ops::flatten(ops::max_pooling2d(y, {.pool_size = {2, 2}})), w[5], w[6]);
    const Tensor loss = ops::mean(
        ops::sparse_categorical_crossentropy(labels_, ops::cast(y, DType::float32), {.from_logits = true}));
    backward(tape_, loss, places_);
    for (size_t i = 0; i < weights_.size(); ++i) update(i);
    return loss.detached();
  }

  int leaves_ready() const { return places_.ready_count; }
  int leaves() const { return static_cast<int>(weights_.size()); }
  DType dtype_of_gradient(size_t i) const { return places_.places[i].dtype(); }

 private:
  static Tensor drawn(const Shape& shape, uint64_t key) {
    return ops::random_normal(shape, 0.0, 0.1, {.key = key});
  }

  void update(size_t i) {
    const Shape flat{weights_[i].num_elements()};
    const Tensor gradient = places_.places[i].with_shape(flat);
    Tensor weight = weights_[i].with_shape(flat);
    const Tensor* const inputs[] = {&gradient, &factor_, &scalars_};
    dispatch(ops::detail::update_op<formulas::Sgd>(), ops::UpdateDescriptor{}, inputs, std::span(&weight, 1));
  }

  Tape tape_;
  Tensors weights_{drawn({3, 3, 16, 16}, 2), drawn({16}, 3),      Tensor::full({16}, 1.0), drawn({16}, 4),
                   drawn({3, 3, 16, 16}, 5), drawn({784, 10}, 6), drawn({10}, 7)};
  Places places_;
  Tensor x_, labels_ = Tensor::from(std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7});
  Tensor factor_ = Tensor::full({1}, 1.0, DType::float64),
         scalars_ = Tensor::from(std::vector<double>{1.0, 0.0, 0.0, 0.05});
};

struct Counts {
  uint64_t storage, primitives, host_reads;
  bool operator==(const Counts&) const = default;
};

Counts counts() {
  return {allocator_stats(Device{}).system_allocations, onednn::primitives_created(),
          runtime_counters().host_reads};
}

void expect_warm_step_is_free(DType dtype) {
  Step step(dtype);
  const float first = step.run().to_vector<float>()[0];
  for (int i = 0; i < 3; ++i) step.run();
  const Counts before = counts();
  for (int i = 0; i < 5; ++i) step.run();
  const Counts after = counts();
  EXPECT_EQ(after.storage, before.storage);
  EXPECT_EQ(after.primitives, before.primitives);
  EXPECT_EQ(after.host_reads, before.host_reads);
  EXPECT_EQ(step.leaves_ready(), 9 * step.leaves());
  EXPECT_LT(step.run().to_vector<float>()[0], first);
}

TEST(HalfStep, Bfloat16AllocatesNothing) { expect_warm_step_is_free(DType::bfloat16); }

TEST(HalfStep, Float16AllocatesNothing) { expect_warm_step_is_free(DType::float16); }

}  // namespace
}  // namespace nyala::half_step_test
