#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/nyala.h>

namespace nyala::shapes_on_threads_test {
namespace {

/// An empty TimeDistributed asks so while it runs, on each replica.
TEST(ShapesOnThreads, LayersAreAskedForShapesAtTheSameTime) {
  const Dense layer(4);
  layer(Tensor::zeros({1, 3}));
  const auto ask = [&](int64_t first) {
    for (int64_t i = 0; i < 100000; ++i) {
      Call c;
      const Tensor given = layer(c, Tensor::abstract({first + i % 7, 3}, DType::float32));
      ASSERT_EQ(given.shape(), (Shape{first + i % 7, 4}));
    }
  };
  std::vector<std::thread> threads;
  for (const int64_t first : {1, 20, 300}) threads.emplace_back(ask, first);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(layer.node().output_shapes().size(), 1u);
}

}  // namespace
}  // namespace nyala::shapes_on_threads_test
