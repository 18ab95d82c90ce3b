// Graphs and lists of layers deeper than the stack: nothing may go through them by recursion.
#include <filesystem>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <nyala/nyala.h>
#include <nyala/tests/support/error_text.h>

namespace nyala {
namespace {

/// Calls `work` on a thread with a stack of 256 KB.
void on_small_stack(const std::function<void()>& work) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 * 1024);
  pthread_t thread;
  const auto run = [](void* given) -> void* {
    (*static_cast<const std::function<void()>*>(given))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, const_cast<std::function<void()>*>(&work)), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

TEST(DeepGraphs, ChainOf100000Ops) {
  on_small_stack([] {
    const Tensor input = Input({2});
    Tensor x = input;
    for (int i = 0; i < 100'000; ++i) x = x + 1.0;
    Model model(input, x);
    EXPECT_EQ(model.predict(Tensor::zeros({1, 2}), {.verbose = 0}).to_vector<float>(),
              (std::vector<float>{100'000, 100'000}));
    model.compile({.optimizer = SGD(0.1), .loss = "mse"});
    EXPECT_GT(model.evaluate(Tensor::zeros({1, 2}), Tensor::zeros({1, 2}), {.verbose = 0}).at("loss"), 1e9);
  });
}

TEST(DeepGraphs, ModelsInModelsEndWhereTheStackDoes) {
  on_small_stack([] {
    const auto nest = [](int depth) {
      Sequential model({Input({2}), Dense(2)});
      for (int i = 1; i < depth; ++i) model = Sequential({Input({2}), model});
      return model;
    };
    EXPECT_EQ(nest(20).predict(Tensor::zeros({1, 2}), {.verbose = 0}).shape(), (Shape{1, 2}));
    EXPECT_THAT(error_text<StateError>([&] { nest(3000); }), testing::HasSubstr("nested so deeply"));
  });
}

TEST(DeepGraphs, ChainThatNoModelWasMadeOf) {
  on_small_stack([] {
    Tensor x = Input({2});
    for (int i = 0; i < 100'000; ++i) x = x + 1.0;
    EXPECT_EQ(x.shape(), (Shape{None, 2}));
  });
}

TEST(DeepGraphs, ManyLayers) {
  on_small_stack([] {
    std::vector<Layer> layers = {Input({2})};
    for (int i = 0; i < 20'000; ++i) layers.push_back(ReLU());
    Model model = Sequential(layers);
    EXPECT_EQ(model.predict(Tensor::full({1, 2}, 3.0), {.verbose = 0}).to_vector<float>(),
              (std::vector<float>{3, 3}));
    const Tensor input = Input({2});
    const Model around(input, model(input));
    EXPECT_EQ(around.predict(Tensor::full({1, 2}, 3.0), {.verbose = 0}).to_vector<float>(),
              (std::vector<float>{3, 3}));
  });
}

Model nested(int depth) {
  Model model = Sequential({Input({2}), Dense(2)});
  for (int i = 0; i < depth; ++i) {
    const Tensor input = Input({2});
    model = Model(input, model(input));
  }
  return model;
}

TEST(DeepGraphs, ModelsInModels) {
  const Tensor x = Tensor::full({1, 2}, 3.0);
  const Model deep = nested(500);
  EXPECT_EQ(deep.predict(x, {.verbose = 0}).shape(), (Shape{1, 2}));
  EXPECT_THROW(deep.to_json(), InvalidArgumentError);
  const Model model = nested(45);
  EXPECT_EQ(clone_model(model).count_params(), 6);
  EXPECT_EQ(model_from_json(model.to_json()).predict(x, {.verbose = 0}).shape(), (Shape{1, 2}));
  const std::string path = ::testing::TempDir() + "/nested.keras";
  EXPECT_THROW(nested(60).save(path), InvalidArgumentError);
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace nyala
