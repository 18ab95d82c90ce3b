#include <nyala/datasets/base/dataset.h>

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/tests/datasets/dataset_support.h>
#include <nyala/tests/datasets/test_files.h>
#include <nyala/tests/support/error_text.h>

namespace nyala {
namespace {

TEST(DatasetTest, PipelinesAreOfAThousandStepsAtMost) {
  Dataset data = Dataset::from_tensor_slices(Tensor::zeros({3, 1}));
  for (int step = 1; step < 1000; ++step) data = data.take(3);
  int64_t count = 0;
  for (const Element& e : data) count += e.x.empty() ? 0 : 1;
  EXPECT_EQ(count, 3);
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { data.take(3); }), testing::HasSubstr("1000 steps"));
  EXPECT_THROW(Dataset::zip({data, data}), InvalidArgumentError);
}

TEST(DatasetTest, SlicesAreTheRows) {
  const Tensor x = Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6}, {3, 2});
  const Tensor y = Tensor::from(std::vector<int64_t>{7, 8, 9}),
               w = Tensor::from(std::vector<float>{.5f, 1, 2});
  const Dataset data = Dataset::from_tensor_slices(x, y, w);
  EXPECT_EQ(data.cardinality(), 3);
  int64_t row = 0;
  for (const Element& e : data) {
    EXPECT_EQ(e.x.at(0).shape(), Shape{2});
    EXPECT_EQ(e.x[0].to_vector<float>(), (std::vector<float>{2.f * row + 1, 2.f * row + 2}));
    EXPECT_EQ(e.y.at(0).shape(), Shape{});
    EXPECT_EQ(e.y[0].item(), 7 + row);
    EXPECT_EQ(e.sample_weight[0].item(), row == 0 ? .5 : row);
    ++row;
  }
  EXPECT_EQ(row, 3);
}

TEST(DatasetTest, ArraysMayHaveNoTargets) {
  for (const Element& e : Dataset::from_tensor_slices(Arrays{.x = Tensor::zeros({2, 3})}))
    EXPECT_TRUE(e.y.empty());
  const Arrays both{.x = Tensor::zeros({2, 3}), .y = Tensor::zeros({2})};
  for (const Element& e : Dataset::from_tensor_slices(both)) EXPECT_EQ(e.y.size(), 1u);
}

TEST(DatasetTest, SlicesNeedTheSameNumberOfRows) {
  const Tensor three = Tensor::zeros({3, 2}), four = Tensor::zeros({4});
  const std::string message = error_text<ShapeError>([&] { Dataset::from_tensor_slices(three, four); });
  EXPECT_NE(message.find("x[0] (3, 2), y[0] (4,)"), std::string::npos) << message;
  EXPECT_THROW(Dataset::from_tensor_slices(Tensor(1.f)), ShapeError);
  EXPECT_THROW(Dataset::from_tensor_slices(Element{}), InvalidArgumentError);
  EXPECT_THROW(Dataset::from_tensor_slices(Tensor()), InvalidArgumentError);
  EXPECT_THROW(Dataset::from_tensor_slices(Tensor::abstract({3}, DType::float32)), InvalidArgumentError);
}

TEST(DatasetTest, AnEmptyHandleThrows) {
  EXPECT_THROW(Dataset().batch(2), StateError);
  EXPECT_THROW(Dataset().iterate(), StateError);
  EXPECT_THROW(Dataset::zip({range(2), Dataset()}), StateError);
}

TEST(DatasetTest, BatchKeepsOrDropsTheRemainder) {
  for (const Dataset& data : {range(7), mapped_range(7), generated(7)}) {
    EXPECT_EQ(elements_of(data.batch(3).iterate()), (std::vector<Numbers>{{0, 1, 2}, {3, 4, 5}, {6}}));
    EXPECT_EQ(elements_of(data.batch(3, {.drop_remainder = true}).iterate()),
              (std::vector<Numbers>{{0, 1, 2}, {3, 4, 5}}));
    EXPECT_EQ(elements_of(data.batch(100).iterate()), std::vector<Numbers>{count_to(7)});
  }
  EXPECT_EQ(range(0).batch(3).cardinality(), 0);
  EXPECT_TRUE(elements_of(range(0).batch(3).iterate()).empty());
  EXPECT_THROW(range(3).batch(0), InvalidArgumentError);
}

TEST(DatasetTest, BatchesOfBatches) {
  const auto batches = elements_of(range(8).batch(2).batch(2).iterate());
  EXPECT_EQ(batches, (std::vector<Numbers>{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  for (const Batch& batch : range(8).batch(2).batch(2)) EXPECT_EQ(batch.x[0].shape(), (Shape{2, 2}));
}

TEST(DatasetTest, BatchGathersEveryTensorAlike) {
  const int64_t n = 50;
  std::vector<float> x(static_cast<size_t>(n * 6));
  std::vector<double> w(static_cast<size_t>(n));
  std::vector<uint8_t> u(static_cast<size_t>(n * 3));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i / 6);
  for (size_t i = 0; i < u.size(); ++i) u[i] = static_cast<uint8_t>(i / 3);
  for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<double>(i);
  const Element arrays{.x = {Tensor::from(x, {n, 3, 2}), Tensor::from(u, {n, 3})},
                       .y = {Tensor::from(count_to(n)), Tensor::from(count_to(n), {n, 1})},
                       .sample_weight = Tensor::from(w)};
  Numbers seen;
  for (const Batch& batch : Dataset::from_tensor_slices(arrays).shuffle(n, {.seed = 1}).batch(7)) {
    const Numbers rows = values_of(batch.y.at(0));
    const auto count = static_cast<int64_t>(rows.size());
    EXPECT_EQ(batch.x.at(0).shape(), (Shape{count, 3, 2}));
    EXPECT_EQ(batch.x.at(1).dtype(), DType::uint8);
    EXPECT_EQ(values_of(batch.y.at(1)), rows);
    for (size_t i = 0; i < rows.size(); ++i) {
      for (size_t k = 0; k < 6; ++k)
        EXPECT_EQ(batch.x[0].data<float>()[i * 6 + k], static_cast<float>(rows[i]));
      for (size_t k = 0; k < 3; ++k) EXPECT_EQ(batch.x[1].data<uint8_t>()[i * 3 + k], rows[i]);
      EXPECT_EQ(batch.sample_weight[0].data<double>()[i], static_cast<double>(rows[i]));
    }
    seen.insert(seen.end(), rows.begin(), rows.end());
  }
  EXPECT_NE(seen, count_to(n));
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, count_to(n));
}

TEST(DatasetTest, RowsWithoutBytesCanBeBatched) {
  int64_t rows = 0;
  for (const Batch& batch : Dataset::from_tensor_slices(Tensor::zeros({5, 0})).shuffle(5).batch(2))
    rows += batch.x[0].shape()[0];
  EXPECT_EQ(rows, 5);
}

TEST(DatasetTest, BatchesInOrderShareTheBytesOfTheArrays) {
  const Tensor x = Tensor::from(count_to(10));
  DatasetIterator iterator = Dataset::from_tensor_slices(x).batch(4).iterate();
  Batch batch;
  ASSERT_TRUE(iterator.next(batch));
  ASSERT_TRUE(iterator.next(batch));
  EXPECT_EQ(batch.x[0].raw(), x.raw_as<int64_t>() + 4);
}

TEST(DatasetTest, UnlikeElementsCannotBeBatched) {
  const Dataset data = range(4).map([](Element e) {
    const int64_t i = e.x[0].data<int64_t>()[0];
    e.x[0] = Tensor::zeros({i < 2 ? 3 : 5}, DType::int64);
    return e;
  });
  const std::string message = error_text<ShapeError>([&] { elements_of(data.batch(4).iterate()); });
  EXPECT_NE(message.find("(3,) int64 and then (5,) int64"), std::string::npos) << message;
}

TEST(DatasetTest, MapTakesElementsOrTensors) {
  const auto plus = [](const Tensor& t, int64_t add) {
    return Tensor::scalar<int64_t>(t.data<int64_t>()[0] + add);
  };
  const Dataset xy = Dataset::from_tensor_slices(Tensor::from(count_to(3)), Tensor::from(Numbers{5, 6, 7}));
  const auto x_only = xy.map([&](Tensor x) { return plus(x, 10); });
  EXPECT_EQ(all_of(x_only), (Numbers{10, 11, 12}));
  for (const Element& e : x_only) EXPECT_EQ(e.y.size(), 1u) << "the rest of the element stays";
  const auto both = xy.map([&](const Tensor& x, const Tensor& y) { return std::pair(y, plus(x, 1)); });
  EXPECT_EQ(all_of(both), (Numbers{5, 6, 7}));
  const auto whole = xy.map([](Element e) {
    std::swap(e.x, e.y);
    return e;
  });
  EXPECT_EQ(all_of(whole), (Numbers{5, 6, 7}));
  EXPECT_EQ(whole.cardinality(), 3);
  const Dataset two = Dataset::from_tensor_slices(Element{.x = {Tensor::zeros({3}), Tensor::zeros({3})}});
  EXPECT_THROW(all_of(two.map([](Tensor x) { return x; })), InvalidArgumentError);
}

TEST(DatasetTest, FilterKeepsWhatIsTrue) {
  const auto even = range(7).filter([](const Tensor& x) { return x.data<int64_t>()[0] % 2 == 0; });
  EXPECT_EQ(all_of(even), (Numbers{0, 2, 4, 6}));
  EXPECT_EQ(even.cardinality(), kUnknownCardinality);
  EXPECT_TRUE(all_of(range(3).filter([](const Element&) { return false; })).empty());
  EXPECT_EQ(elements_of(even.batch(3).iterate()), (std::vector<Numbers>{{0, 2, 4}, {6}}));
}

TEST(DatasetTest, TakeSkipAndShard) {
  for (const Dataset& data : {range(10), mapped_range(10), generated(10)}) {
    EXPECT_EQ(all_of(data.take(3)), (Numbers{0, 1, 2}));
    EXPECT_EQ(all_of(data.take(30)), count_to(10));
    EXPECT_EQ(all_of(data.take(-1)), count_to(10));
    EXPECT_TRUE(all_of(data.take(0)).empty());
    EXPECT_EQ(all_of(data.skip(7)), (Numbers{7, 8, 9}));
    EXPECT_TRUE(all_of(data.skip(30)).empty());
    EXPECT_TRUE(all_of(data.skip(-1)).empty());
    EXPECT_EQ(all_of(data.shard(4, 1)), (Numbers{1, 5, 9}));
    EXPECT_EQ(all_of(data.shard(4, 3)), (Numbers{3, 7}));
    EXPECT_EQ(all_of(data.shard(1, 0)), count_to(10));
    EXPECT_TRUE(all_of(data.shard(20, 15)).empty());
    EXPECT_EQ(all_of(data.skip(2).shard(3, 1).take(2)), (Numbers{3, 6}));
  }
  EXPECT_THROW(range(3).take(-2), InvalidArgumentError);
  EXPECT_THROW(range(3).skip(-2), InvalidArgumentError);
  EXPECT_THROW(range(3).shard(0, 0), InvalidArgumentError);
  EXPECT_THROW(range(3).shard(2, 2), InvalidArgumentError);
  EXPECT_THROW(range(3).shard(2, -1), InvalidArgumentError);
}

TEST(DatasetTest, Repeat) {
  for (const Dataset& data : {range(3), mapped_range(3), generated(3)}) {
    EXPECT_EQ(all_of(data.repeat(2)), (Numbers{0, 1, 2, 0, 1, 2}));
    EXPECT_TRUE(all_of(data.repeat(0)).empty());
    EXPECT_EQ(all_of(data.repeat().take(7)), (Numbers{0, 1, 2, 0, 1, 2, 0}));
    EXPECT_EQ(elements_of(data.repeat().batch(2).take(3).iterate()),
              (std::vector<Numbers>{{0, 1}, {2, 0}, {1, 2}}));
    EXPECT_TRUE(all_of(data.take(0).repeat()).empty()) << "repeating nothing ends";
    EXPECT_TRUE(all_of(data.take(0).repeat(int64_t{1} << 60)).empty());
  }
  EXPECT_THROW(range(3).repeat(-2), InvalidArgumentError);
}

TEST(DatasetTest, ZipPutsElementsSideBySide) {
  const Dataset data = Dataset::zip({range(4), generated(3), mapped_range(9)});
  int64_t i = 0;
  for (const Element& e : data) {
    EXPECT_EQ(e.x.at(0).item(), i);
    EXPECT_EQ(e.y.at(0).item(), i);
    EXPECT_EQ(e.sample_weight[0].item(), i);
    ++i;
  }
  EXPECT_EQ(i, 3);
  EXPECT_THROW(Dataset::zip({range(3)}), InvalidArgumentError);
  const Dataset xy = Dataset::from_tensor_slices(Tensor::zeros({3}), Tensor::zeros({3}));
  EXPECT_THROW(all_of(Dataset::zip({range(3), xy})), InvalidArgumentError);
}

// What tf.data of TensorFlow 2.21 gave for the same datasets.
TEST(DatasetTest, InterleaveTakesTurnsAsTensorFlowDoes) {
  const std::vector<int64_t> sizes = {3, 0, 5, 1, 2};
  const auto result = [&](int cycle_length, int64_t block_length) {
    const auto inner = [&](const Element& e) {
      const int64_t i = e.x[0].data<int64_t>()[0];
      Numbers values = count_to(sizes[static_cast<size_t>(i)]);
      for (int64_t& value : values) value += 10 * i;
      return Dataset::from_tensor_slices(Tensor::from(values));
    };
    return all_of(range(5).interleave(inner, {.cycle_length = cycle_length, .block_length = block_length}));
  };
  EXPECT_EQ(result(1, 1), (Numbers{0, 1, 2, 20, 21, 22, 23, 24, 30, 40, 41}));
  EXPECT_EQ(result(2, 1), (Numbers{0, 1, 20, 2, 21, 22, 30, 23, 24, 40, 41}));
  EXPECT_EQ(result(2, 2), (Numbers{0, 1, 2, 20, 21, 30, 22, 23, 40, 41, 24}));
  EXPECT_EQ(result(3, 2), (Numbers{0, 1, 20, 21, 2, 30, 22, 23, 40, 41, 24}));
  EXPECT_EQ(result(4, 1), (Numbers{0, 20, 30, 1, 40, 21, 2, 41, 22, 23, 24}));
  EXPECT_EQ(result(7, 3), (Numbers{0, 1, 2, 20, 21, 22, 30, 40, 41, 23, 24}));
  const auto same = [](const Element&) { return range(1); };
  EXPECT_THROW(range(3).interleave(same, {.cycle_length = 0}), InvalidArgumentError);
  EXPECT_THROW(range(3).interleave(same, {.block_length = 0}), InvalidArgumentError);
  EXPECT_THROW(all_of(range(3).interleave([](const Element&) { return Dataset(); })), StateError);
}

TEST(DatasetTest, InterleavedDatasetsMayBeTemporary) {
  const auto inner = [](const Element& e) {
    const int64_t i = e.x[0].data<int64_t>()[0];
    return range(2).map([i](Tensor x) { return Tensor::scalar<int64_t>(x.data<int64_t>()[0] + 10 * i); },
                        {.num_parallel_calls = 2});
  };
  EXPECT_EQ(all_of(range(3).interleave(inner, {.cycle_length = 2})), (Numbers{0, 10, 1, 11, 20, 21}));
}

TEST(DatasetTest, CacheKeepsTheFirstCompleteIteration) {
  int calls = 0;
  const Dataset data = range(4)
                           .shuffle(4)
                           .map([&calls](Element e) {
                             ++calls;
                             return e;
                           })
                           .cache();
  {
    DatasetIterator broken_off = data.iterate();
    Element e;
    ASSERT_TRUE(broken_off.next(e));
  }
  EXPECT_EQ(calls, 1);
  const Numbers first = all_of(data);
  EXPECT_EQ(calls, 5) << "an iteration that was broken off keeps nothing";
  EXPECT_EQ(all_of(data), first);
  EXPECT_EQ(all_of(data, {.epoch = 17}), first);
  EXPECT_EQ(calls, 5);
  DatasetIterator iterator = data.iterate();
  EXPECT_EQ(iterator.skip(3), 3);
  EXPECT_EQ(joined(elements_of(std::move(iterator))), Numbers{first[3]});
}

TEST(DatasetTest, CacheDoesNotDependOnTheEpochThatFillsIt) {
  const auto make = [] { return range(30).shuffle(30, {.seed = 3}).cache(); };
  const Dataset early = make(), late = make();
  EXPECT_EQ(all_of(early, {.epoch = 0}), all_of(late, {.epoch = 9}));
}

// As tf.data reports them.
TEST(DatasetTest, Cardinalities) {
  const Dataset ten = range(10), unknown = ten.filter([](const Element&) { return true; });
  EXPECT_EQ(ten.batch(3).cardinality(), 4);
  EXPECT_EQ(ten.batch(3, {.drop_remainder = true}).cardinality(), 3);
  EXPECT_EQ(ten.shuffle(3).prefetch().cache().cardinality(), 10);
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(ten.shard(4, i).cardinality(), i < 2 ? 3 : 2);
  EXPECT_EQ(ten.repeat().cardinality(), kInfiniteCardinality);
  EXPECT_EQ(ten.repeat(3).cardinality(), 30);
  EXPECT_EQ(ten.repeat(0).cardinality(), 0);
  EXPECT_EQ(ten.take(0).repeat().cardinality(), 0);
  EXPECT_EQ(ten.repeat().take(7).cardinality(), 7);
  EXPECT_EQ(ten.repeat().skip(3).cardinality(), kInfiniteCardinality);
  EXPECT_EQ(ten.repeat().batch(3).cardinality(), kInfiniteCardinality);
  EXPECT_EQ(ten.skip(3).cardinality(), 7);
  EXPECT_EQ(ten.skip(30).cardinality(), 0);
  EXPECT_EQ(unknown.batch(2).cardinality(), kUnknownCardinality);
  EXPECT_EQ(unknown.repeat().cardinality(), kInfiniteCardinality);
  EXPECT_EQ(Dataset::zip({ten, ten.repeat()}).cardinality(), 10);
  EXPECT_EQ(Dataset::zip({ten.repeat(), ten.repeat()}).cardinality(), kInfiniteCardinality);
  EXPECT_EQ(Dataset::zip({ten, unknown}).cardinality(), kUnknownCardinality);
  EXPECT_EQ(generated(3).cardinality(), kUnknownCardinality);
  const auto none = [] { return [](Element&) { return false; }; };
  EXPECT_EQ(Dataset::from_generator(none, {.cardinality = 5}).cardinality(), 5);
  EXPECT_THROW(Dataset::from_generator(none, {.cardinality = -3}), InvalidArgumentError);
}

TEST(DatasetTest, KnowsWhetherItIsBatchedAndReplayable) {
  EXPECT_EQ(range(3).shuffle(2).is_batched(), false);
  EXPECT_EQ(range(3).batch(2).repeat().prefetch().is_batched(), true);
  EXPECT_EQ(generated(3).is_batched(), std::nullopt);
  EXPECT_TRUE(range(3).shuffle(2).map([](Element e) { return e; }).batch(2).is_index_based());
  EXPECT_FALSE(generated(3).batch(2).prefetch().is_index_based());
  EXPECT_FALSE(Dataset::zip({range(3), generated(3)}).is_index_based());
}

TEST(DatasetTest, GeneratorsStartAfreshAndTheirExceptionsArrive) {
  const Dataset data = generated(3);
  EXPECT_EQ(all_of(data), count_to(3));
  EXPECT_EQ(all_of(data), count_to(3));
  const Dataset broken = Dataset::from_generator([] {
    return [i = 0](Element& e) mutable {
      if (++i == 3) throw std::runtime_error("no more");
      e.x = {Tensor::scalar<int64_t>(i)};
      return true;
    };
  });
  DatasetIterator iterator = broken.iterate();
  Element e;
  EXPECT_TRUE(iterator.next(e));
  EXPECT_TRUE(iterator.next(e));
  EXPECT_THROW(iterator.next(e), std::runtime_error);
  EXPECT_FALSE(iterator.next(e)) << "an exception ends the iteration";
  EXPECT_THROW(Dataset::from_generator(nullptr), InvalidArgumentError);
}

TEST(DatasetTest, RangeForWalksWhatIsLeft) {
  DatasetIterator iterator = range(5).iterate();
  Element e;
  ASSERT_TRUE(iterator.next(e));
  Numbers rest;
  for (Element& element : iterator) rest.push_back(values_of(element.x[0])[0]);
  EXPECT_EQ(rest, (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(iterator.position(), 5);
  for (Batch batch : range(0).batch(2)) ADD_FAILURE() << batch.x.size();
}

TEST(DatasetTest, IteratorsKeepThePipelineAlive) {
  const auto make = [] {
    return range(4).map([](Element e) { return e; }, {.num_parallel_calls = 2}).repeat(2);
  };
  DatasetIterator iterator = make().iterate();
  Element e;
  ASSERT_TRUE(iterator.next(e));
  iterator = make().iterate();
  EXPECT_EQ(joined(elements_of(std::move(iterator))), (Numbers{0, 1, 2, 3, 0, 1, 2, 3}));
}

}  // namespace
}  // namespace nyala
