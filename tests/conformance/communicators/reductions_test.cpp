// Reference results come from plain loops in double.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/tests/conformance/communicators/ranks.h>

namespace nyala::testing {
namespace {

const DType kAllDTypes[] = {DType::float32, DType::float64, DType::int32,    DType::int64,
                            DType::uint8,   DType::bool_,   DType::bfloat16, DType::float16};
const CollectiveOp kAllOps[] = {CollectiveOp::sum, CollectiveOp::max, CollectiveOp::min};

/// Small integers, which every dtype holds exactly, so that all orders of a sum give the same.
double value_of(int rank, int64_t i, DType dtype) {
  const int64_t mixed = (i * 7 + rank * 5) % 11;
  if (dtype == DType::bool_) return mixed < 4;
  return static_cast<double>(dtype == DType::uint8 ? mixed : mixed - 5);
}

double expected_of(int size, int64_t i, DType dtype, CollectiveOp op) {
  double all = value_of(0, i, dtype);
  for (int rank = 1; rank < size; ++rank) {
    const double value = value_of(rank, i, dtype);
    if (op == CollectiveOp::sum) all = dtype == DType::bool_ ? std::max(all, value) : all + value;
    if (op == CollectiveOp::max) all = std::max(all, value);
    if (op == CollectiveOp::min) all = std::min(all, value);
  }
  return all;
}

void store(std::vector<std::byte>& bytes, int64_t i, DType dtype, double value) {
  detail::dispatch_any(dtype, [&](auto one) {
    using T = decltype(one);
    T typed{};
    if constexpr (std::is_arithmetic_v<T>)
      typed = static_cast<T>(value);
    else
      typed = T(static_cast<float>(value));
    std::memcpy(bytes.data() + static_cast<size_t>(i) * sizeof(T), &typed, sizeof(T));
  });
}

double load(const std::vector<std::byte>& bytes, int64_t i, DType dtype) {
  return detail::dispatch_any(dtype, [&](auto one) {
    using T = decltype(one);
    T typed{};
    std::memcpy(&typed, bytes.data() + static_cast<size_t>(i) * sizeof(T), sizeof(T));
    if constexpr (std::is_arithmetic_v<T>)
      return static_cast<double>(typed);
    else
      return static_cast<double>(static_cast<float>(typed));
  });
}

std::vector<std::byte> values_of(int rank, int64_t count, DType dtype) {
  std::vector<std::byte> bytes(static_cast<size_t>(count) * size_of(dtype));
  for (int64_t i = 0; i < count; ++i) store(bytes, i, dtype, value_of(rank, i, dtype));
  return bytes;
}

void expect_combined(const std::vector<std::byte>& bytes, ElementRange range, int size, DType dtype,
                     CollectiveOp op) {
  for (int64_t i = range.first; i < range.first + range.count; ++i) {
    ASSERT_EQ(load(bytes, i, dtype), expected_of(size, i, dtype, op))
        << "element " << i << " of dtype " << name_of(dtype) << ", op " << static_cast<int>(op);
  }
}

TEST_P(Communicators, EveryDTypeAndOpOfAllReduce) {
  for (const int size : {1, 2, 3, 4}) {
    on(size, [&](Communicator& all) {
      for (const DType dtype : kAllDTypes)
        for (const CollectiveOp op : kAllOps)
          for (const int64_t count : {0, 1, 3, 1000, 40000}) {
            std::vector<std::byte> bytes = values_of(all.rank(), count, dtype);
            all.all_reduce({bytes.data(), count, dtype}, op);
            expect_combined(bytes, {0, count}, size, dtype, op);
          }
    });
  }
}

TEST_P(Communicators, EveryDTypeAndOpOfReduceScatter) {
  for (const int size : {1, 2, 3, 4}) {
    on(size, [&](Communicator& all) {
      for (const DType dtype : kAllDTypes)
        for (const CollectiveOp op : kAllOps)
          for (const int64_t count : {0, 1, 3, 1000, 40000}) {
            std::vector<std::byte> bytes = values_of(all.rank(), count, dtype);
            const ElementRange own = all.reduce_scatter({bytes.data(), count, dtype}, op);
            EXPECT_EQ(own.first, Communicator::part_of(count, all.rank(), size).first);
            expect_combined(bytes, own, size, dtype, op);
          }
    });
  }
}

TEST_P(Communicators, SizesAroundTheBlocksOfAllReduce) {
  for (const int size : {2, 3}) {
    on(size, [&](Communicator& all) {
      for (const int64_t count : {4095, 4096, 4097, 65535, 65537, 131072, 300001, 1'000'003}) {
        std::vector<std::byte> bytes = values_of(all.rank(), count, DType::float32);
        all.all_reduce({bytes.data(), count, DType::float32}, CollectiveOp::sum);
        expect_combined(bytes, {0, count}, size, DType::float32, CollectiveOp::sum);
      }
    });
  }
}

TEST_P(Communicators, SlowOneHundredMegabytes) {
  on(2, [&](Communicator& all) {
    const int64_t count = 25'000'000;
    std::vector<std::byte> bytes = values_of(all.rank(), count, DType::float32);
    all.all_reduce({bytes.data(), count, DType::float32}, CollectiveOp::sum);
    expect_combined(bytes, {0, count}, 2, DType::float32, CollectiveOp::sum);
  });
}

/// Values that no order of a sum leaves alone.
std::vector<float> rough_values(int rank, size_t count) {
  std::mt19937 random(static_cast<unsigned>(rank) + 17);
  std::uniform_real_distribution<float> exponent(-20, 20);
  std::vector<float> values(count);
  for (float& value : values) value = std::exp2(exponent(random)) * (random() % 2 ? 1.f : -1.f);
  return values;
}

TEST_P(Communicators, TheSameBitsOnAllRanksAndInEveryRun) {
  for (const int size : {2, 3, 4}) {
    for (const size_t count : {size_t{33}, size_t{100'003}}) {
      std::vector<std::vector<float>> first(static_cast<size_t>(size));
      for (const int run : {0, 1}) {
        on(size, [&](Communicator& all) {
          std::vector<float> values = rough_values(all.rank(), count);
          all.all_reduce({values.data(), static_cast<int64_t>(count), DType::float32}, CollectiveOp::sum);
          if (run == 0)
            first[static_cast<size_t>(all.rank())] = values;
          else
            EXPECT_EQ(std::memcmp(values.data(), first[0].data(), count * sizeof(float)), 0);
        });
      }
      for (const auto& other : first)
        EXPECT_EQ(std::memcmp(other.data(), first[0].data(), count * sizeof(float)), 0);
    }
  }
}

/// 1 + 2^-12 + 2^-12 in float32 is no 1 in float16; added in float16 each step would round to 1.
TEST_P(Communicators, HalvesAreAddedInFloat32AndRoundedOnce) {
  for (const int64_t count : {5, 50'000}) {
    on(4, [&](Communicator& all) {
      const float mine = all.rank() == 0 ? 1.f : 0.75f * std::exp2(-11.f);
      std::vector<float16> values(static_cast<size_t>(count), float16(mine));
      all.all_reduce({values.data(), count, DType::float16}, CollectiveOp::sum);
      const float expected = static_cast<float>(float16(1.f + 3 * 0.75f * std::exp2(-11.f)));
      EXPECT_GT(expected, 1.f);
      for (const float16 value : values) ASSERT_EQ(static_cast<float>(value), expected);
    });
  }
}

TEST_P(Communicators, NaNWinsAndIntegersWrap) {
  on(3, [&](Communicator& all) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (const CollectiveOp op : {CollectiveOp::max, CollectiveOp::min})
      for (const int place : {0, 1, 2}) {
        float value = all.rank() == place ? nan : static_cast<float>(all.rank());
        all.all_reduce({&value, 1, DType::float32}, op);
        EXPECT_TRUE(std::isnan(value));
      }
    int32_t most = all.rank() < 2 ? std::numeric_limits<int32_t>::max() : 3;
    all.all_reduce({&most, 1, DType::int32}, CollectiveOp::sum);
    EXPECT_EQ(most, 1);
    uint8_t byte = 100;
    all.all_reduce({&byte, 1, DType::uint8}, CollectiveOp::sum);
    EXPECT_EQ(byte, 300 - 256);
  });
}

TEST_P(Communicators, ManyCallsInARow) {
  on(3, [&](Communicator& all) {
    for (int i = 0; i < 300; ++i) {
      const int64_t count = i % 3 == 0 ? 1 : i % 3 == 1 ? 100 : 9000;
      std::vector<float> values(static_cast<size_t>(count), static_cast<float>(all.rank() + i));
      all.all_reduce({values.data(), count, DType::float32}, CollectiveOp::sum);
      for (const float value : values) ASSERT_EQ(value, static_cast<float>(3 + 3 * i));
      if (i % 50 == 0) all.barrier();
    }
  });
}

TEST_P(Communicators, CallsOfSeveralThreadsTakeTurns) {
  on(2, [&](Communicator& all) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 50; ++i) {
          std::vector<float> values(300, static_cast<float>(all.rank() + 1));
          all.all_reduce({values.data(), 300, DType::float32}, CollectiveOp::sum);
          for (const float value : values) ASSERT_EQ(value, 3.f);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
}

TEST_P(Communicators, TwoOfThemDoNotMeet) {
  CommunicatorOptions first = group_of(2), second = group_of(2);
  second.name = "second";
  const auto ones = GetParam().make(first), others = GetParam().make(second);
  const auto use = [](Communicator& all, int64_t count, int times) {
    for (int i = 0; i < times; ++i) {
      std::vector<double> values(static_cast<size_t>(count), 1 + all.rank());
      all.all_reduce({values.data(), count, DType::float64}, CollectiveOp::sum);
      for (const double value : values) ASSERT_EQ(value, 3);
    }
  };
  std::thread beside([&] {
    for (const RankEnd& end : run_ranks(others, [&](Communicator& all) { use(all, 20'000, 40); }))
      end.rethrow();
  });
  for (const RankEnd& end : run_ranks(ones, [&](Communicator& all) { use(all, 70, 300); }))
    EXPECT_FALSE(end.error);
  beside.join();
}

}  // namespace
}  // namespace nyala::testing
