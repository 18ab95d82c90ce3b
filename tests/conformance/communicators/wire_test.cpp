// float32 sums that travel in bfloat16: how far they are from sums in double, what survives, what is sent.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/communicators/file_rendezvous.h>
#include <nyala/strategies/communicators/gloo_communicator.h>
#include <nyala/strategies/communicators/gloo_links.h>
#include <nyala/strategies/communicators/link_communicator.h>
#include <nyala/tests/conformance/communicators/ranks.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::testing::wire_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const CollectiveOptions kRounded{.what = "gradients", .wire_dtype = DType::bfloat16};

HostValues host(std::vector<float>& values) {
  return {values.data(), static_cast<int64_t>(values.size()), DType::float32};
}

std::vector<float> values_of(int rank, size_t count) {
  std::mt19937 random(static_cast<unsigned>(rank) + 5);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random) * std::exp2(static_cast<float>(random() % 20) - 10.f);
  return values;
}

/// Each value is rounded by 2^-8 of it at most, and their sum by as much.
TEST_P(Communicators, WhatTravelsInBfloat16IsWithinItsRounding) {
  for (const int size : {2, 3, 4})
    for (const size_t count : {size_t{1}, size_t{33}, size_t{100'003}}) {
      std::mutex mutex;
      std::map<int, std::vector<float>> received;
      on(size, [&](Communicator& all) {
        std::vector<float> values = values_of(all.rank(), count);
        all.all_reduce(host(values), CollectiveOp::sum, kRounded);
        const std::lock_guard lock(mutex);
        received[all.rank()] = values;
      });
      std::vector<double> exact(count), sizes(count);
      for (int rank = 0; rank < size; ++rank) {
        const std::vector<float> values = values_of(rank, count);
        for (size_t i = 0; i < count; ++i) exact[i] += values[i], sizes[i] += std::abs(values[i]);
        EXPECT_EQ(std::memcmp(received[rank].data(), received[0].data(), count * sizeof(float)), 0) << rank;
      }
      for (size_t i = 0; i < count; ++i) {
        ASSERT_NEAR(received[0][i], exact[i], 1.01 * std::exp2(-7) * sizes[i]) << i;
        ASSERT_EQ(std::bit_cast<uint32_t>(received[0][i]) & 0xffffu, 0u) << "16 bits travelled";
      }
    }
}

/// Added in bfloat16 each 1 would vanish beside 256.
TEST_P(Communicators, ALongSumInBfloat16IsMadeInFloat32) {
  for (const size_t count : {size_t{3}, size_t{5000}})
    on(16, [&](Communicator& all) {
      std::vector<float> values(count, all.rank() == 0 ? 256.f : 1.f);
      all.all_reduce(host(values), CollectiveOp::sum, kRounded);
      for (const float value : values) ASSERT_NEAR(value, 271.0, 271.0 * std::exp2(-8));
    });
}

TEST_P(Communicators, NaNAndInfinityTravelInBfloat16) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const float nan_in_low_bits = std::bit_cast<float>(0x7f800001u);  // cut off it would be an infinity
  on(3, [&](Communicator& all) {
    const bool first = all.rank() == 0;
    std::vector<float> values{first ? nan_in_low_bits : 1.f,
                              first ? kInf : 1.f,
                              first ? 1.f : -kInf,
                              first ? kInf : -kInf,
                              -0.f,
                              1e-40f};
    all.all_reduce(host(values), CollectiveOp::sum, kRounded);
    EXPECT_TRUE(std::isnan(values[0]));
    EXPECT_EQ(values[1], kInf);
    EXPECT_EQ(values[2], -kInf);
    EXPECT_TRUE(std::isnan(values[3]));
    EXPECT_EQ(values[4], 0.f);
    EXPECT_NEAR(values[5], 3e-40f, 1e-40f);  // of 16 bits with small numbers few are left
  });
}

TEST_P(Communicators, OnlySumsOfFloat32TravelInBfloat16) {
  const double fine = 1 + std::exp2(-20);
  for (const int size : {1, 2})
    on(size, [&](Communicator& all) {
      std::vector<double> doubles(100, fine);
      all.all_reduce({doubles.data(), 100, DType::float64}, CollectiveOp::sum, kRounded);
      EXPECT_EQ(doubles[99], size * fine);
      std::vector<int32_t> whole(100, 1'000'001);
      all.all_reduce({whole.data(), 100, DType::int32}, CollectiveOp::sum, kRounded);
      EXPECT_EQ(whole[99], size * 1'000'001);
      std::vector<float> floats(100, static_cast<float>(fine));
      all.reduce_scatter(host(floats), CollectiveOp::sum, kRounded);
      EXPECT_EQ(floats[static_cast<size_t>(100 / size * all.rank())],
                static_cast<float>(size) * static_cast<float>(fine));
      std::vector<float> alone(100, static_cast<float>(fine)), none;
      if (size == 1) {  // nothing travels
        all.all_reduce(host(alone), CollectiveOp::sum, kRounded);
        EXPECT_EQ(alone[99], static_cast<float>(fine));
      }
      all.all_reduce({nullptr, 0, DType::float32}, CollectiveOp::sum, kRounded);
      EXPECT_THAT(error_text<InvalidArgumentError>([&] {
                    all.all_reduce(host(alone), CollectiveOp::sum, {.wire_dtype = DType::float16});
                  }),
                  AllOf(HasSubstr("wire_dtype"), HasSubstr("float16")));
      all.barrier();  // that killed nothing
    });
}

TEST_P(Communicators, RanksThatRoundAndThatDoNotAreToldSo) {
  auto ranks = GetParam().make(group_of(2));
  const auto ends = run_ranks(ranks, [&](Communicator& all) {
    std::vector<float> values(5000, 1.f);
    all.all_reduce(host(values), CollectiveOp::sum,
                   {.what = "gradients", .wire_dtype = DType(all.rank() == 0 ? "float32" : "bfloat16")});
  });
  for (const RankEnd& end : ends) EXPECT_TRUE(end.ended_with<CommunicationError>());
}

/// Adds up what is sent.
class CountingLinks final : public detail::Links {
 public:
  CountingLinks(std::unique_ptr<Links> links, int64_t& bytes) : links_(std::move(links)), bytes_(bytes) {}
  std::unique_ptr<Buffer> buffer(void* data, size_t bytes) override {
    return std::make_unique<Counted>(links_->buffer(data, bytes), bytes_);
  }
  void close() noexcept override { links_->close(); }

 private:
  class Counted final : public Buffer {
   public:
    Counted(std::unique_ptr<Buffer> buffer, int64_t& bytes) : buffer_(std::move(buffer)), bytes_(bytes) {}
    void send(int peer, uint64_t tag, size_t offset, size_t bytes) override {
      bytes_ += static_cast<int64_t>(bytes);
      buffer_->send(peer, tag, offset, bytes);
    }
    void receive(int peer, uint64_t tag, size_t offset, size_t bytes) override {
      buffer_->receive(peer, tag, offset, bytes);
    }
    bool wait_sent(std::chrono::milliseconds timeout) override { return buffer_->wait_sent(timeout); }
    bool wait_received(std::chrono::milliseconds timeout) override { return buffer_->wait_received(timeout); }
    void abort_waits() noexcept override { buffer_->abort_waits(); }

   private:
    std::unique_ptr<Buffer> buffer_;
    int64_t& bytes_;
  };

  std::unique_ptr<Links> links_;
  int64_t& bytes_;
};

TEST(Wire, HalfOfTheBytesAreSent) {
  if (!gloo_is_built()) GTEST_SKIP() << "this build has no Gloo";
  const auto [one, other] = connected_pair();
  const ScratchFolder folder;
  const auto rendezvous = std::make_shared<FileRendezvous>(folder.path());
  int64_t sent[2] = {};
  std::vector<std::shared_ptr<Communicator>> ranks;
  for (int rank : {0, 1}) {
    std::vector<detail::Socket> sockets(2);
    sockets[static_cast<size_t>(1 - rank)] = detail::Socket(rank == 0 ? one : other);
    auto links = detail::gloo_links(rank, std::move(sockets), std::chrono::seconds(30));
    ranks.push_back(std::make_shared<detail::LinkCommunicator>(
        CommunicatorOptions{.rank = rank, .size = 2}, "Gloo",
        std::make_unique<CountingLinks>(std::move(links), sent[rank]), rendezvous));
  }
  constexpr int64_t kCount = 200'000, kHeader = 2048;
  const auto bytes_of = [&](const CollectiveOptions& how) {
    const int64_t before = sent[0];
    for (const RankEnd& end : run_ranks(ranks, [&](Communicator& all) {
           std::vector<float> values(kCount, 1.f);
           all.all_reduce(host(values), CollectiveOp::sum, how);
         }))
      end.rethrow();
    return sent[0] - before;
  };
  EXPECT_EQ(bytes_of({.what = "gradients"}), kHeader + 4 * kCount);  // one half of the values, and its sums
  EXPECT_EQ(bytes_of(kRounded), kHeader + 2 * kCount);
}

}  // namespace
}  // namespace nyala::testing::wire_test
