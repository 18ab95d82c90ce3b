#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/parameter_server/partitioners.h>
#include <nyala/strategies/parameter_server/shard_placement.h>

namespace nyala::partitioners_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Parts = std::vector<int64_t>;

std::vector<int64_t> counts(int64_t rows, int64_t shards) {
  std::vector<int64_t> counts;
  int64_t next = 0;
  for (const RowRange& range : shard_rows(rows, shards)) {
    EXPECT_EQ(range.first, next);
    next += range.count;
    counts.push_back(range.count);
  }
  EXPECT_EQ(next, rows);
  return counts;
}

template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const InvalidArgumentError& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

TEST(Partitioners, RowsAreCutByTheDivRule) {
  EXPECT_THAT(counts(10, 4), ElementsAre(3, 3, 2, 2));
  EXPECT_THAT(counts(13, 5), ElementsAre(3, 3, 3, 2, 2));
  EXPECT_THAT(counts(2, 3), ElementsAre(1, 1, 0));
  EXPECT_THAT(counts(0, 1), ElementsAre(0));
  EXPECT_THAT(error_of([] { shard_rows(3, 0); }), HasSubstr("shard_rows: shards: expected a number from 1"));
  EXPECT_THAT(error_of([] { shard_rows(-1, 1); }), HasSubstr("received -1"));
}

/// The numbers of TensorFlow's own tests and some more that it gives.
TEST(Partitioners, GiveTheNumbersOfTensorFlow) {
  const Shape shape = {6, 1};
  EXPECT_EQ(FixedShardsPartitioner(2)({10, 3}, DType::float32), (Parts{2, 1}));
  EXPECT_EQ(FixedShardsPartitioner(4)({3, 2}, DType::float32), (Parts{3, 1}));
  EXPECT_EQ(MinSizePartitioner({.min_shard_bytes = 4, .max_shards = 2})(shape, DType::float32),
            (Parts{2, 1}));
  EXPECT_EQ(MinSizePartitioner({.min_shard_bytes = 4, .max_shards = 10})(shape, DType::float32),
            (Parts{6, 1}));
  EXPECT_EQ(MinSizePartitioner()({1 << 20, 8}, DType::float32), (Parts{1, 1}));
  EXPECT_EQ(MinSizePartitioner({.max_shards = 8})({1 << 16, 4}, DType::float32), (Parts{4, 1}));
  EXPECT_EQ(MaxSizePartitioner({.max_shard_bytes = 4})(shape, DType::float32), (Parts{6, 1}));
  EXPECT_EQ(MaxSizePartitioner({.max_shard_bytes = 4, .max_shards = 2})(shape, DType::float32),
            (Parts{2, 1}));
  EXPECT_EQ(MaxSizePartitioner({.max_shard_bytes = 1024})(shape, DType::float32), (Parts{1, 1}));
  EXPECT_EQ(MaxSizePartitioner({.max_shard_bytes = 10})(shape, DType::float32), (Parts{3, 1}));
  EXPECT_EQ(MaxSizePartitioner({.max_shard_bytes = 10})(shape, DType::int64), (Parts{6, 1}));
  EXPECT_EQ(MaxSizePartitioner({.max_shard_bytes = 1})(shape, DType::float32), (Parts{6, 1}));
}

/// Each size, by trying all numbers of parts.
TEST(Partitioners, PartsHaveTheSizesThatTheyPromise) {
  const auto smallest = [](int64_t rows, int64_t parts) { return shard_rows(rows, parts).back().count; };
  const auto largest = [](int64_t rows, int64_t parts) { return shard_rows(rows, parts).front().count; };
  for (int64_t rows = 1; rows <= 24; ++rows)
    for (int64_t bytes = 1; bytes <= 120; ++bytes) {
      int64_t most = 1, fewest = rows;
      for (int64_t parts = 1; parts <= rows; ++parts)
        if (smallest(rows, parts) * 4 >= bytes) most = parts;
      for (int64_t parts = rows; parts >= 1; --parts)
        if (largest(rows, parts) * 4 <= bytes) fewest = parts;
      EXPECT_EQ(MinSizePartitioner({.min_shard_bytes = bytes, .max_shards = 100})({rows}, DType::float32),
                Parts{most})
          << rows << " rows, " << bytes << " bytes";
      EXPECT_EQ(MaxSizePartitioner({.max_shard_bytes = bytes})({rows}, DType::float32), Parts{fewest})
          << rows << " rows, " << bytes << " bytes";
    }
}

TEST(Partitioners, WhatHasNoRowsIsWhole) {
  const std::vector<Partitioner> all = {
      FixedShardsPartitioner(3), MinSizePartitioner({.min_shard_bytes = 1, .max_shards = 9}),
      MaxSizePartitioner({.max_shard_bytes = 1}), [](const Shape&, DType) { return Parts{7}; }};
  for (const Partitioner& partitioner : all) {
    EXPECT_EQ(partitioner.num_parts({}, DType::float32), 1);
    EXPECT_EQ(partitioner.num_parts({0, 5}, DType::float32), 1);
    EXPECT_EQ(partitioner.num_parts({5, 0}, DType::float32), 1);
    EXPECT_THROW(partitioner.num_parts({None, 5}, DType::float32), ShapeError);
  }
  EXPECT_EQ(Partitioner().num_parts({100, 100}, DType::float32), 1);
}

TEST(Partitioners, MistakesAreNamed) {
  EXPECT_THAT(error_of([] { FixedShardsPartitioner(0); }),
              HasSubstr("FixedShardsPartitioner: num_shards: expected a number from 1, received 0"));
  EXPECT_THAT(error_of([] { MinSizePartitioner({.min_shard_bytes = 0}); }), HasSubstr("min_shard_bytes"));
  EXPECT_THAT(error_of([] { MinSizePartitioner({.max_shards = 0}); }), HasSubstr("max_shards"));
  EXPECT_THAT(error_of([] { MaxSizePartitioner({}); }), HasSubstr("MaxSizePartitioner: max_shard_bytes"));
  EXPECT_THAT(error_of([] { MaxSizePartitioner({.max_shard_bytes = 1, .max_shards = -1}); }),
              HasSubstr("max_shards"));
  for (const Parts& answer : {Parts{}, Parts{2}, Parts{2, 1, 1}, Parts{1, 2}, Parts{0, 1}, Parts{5, 1}}) {
    const Partitioner own = [&](const Shape&, DType) { return answer; };
    EXPECT_THAT(error_of([&] {
                  own.num_parts({4, 2}, DType::float32);
                }),
                HasSubstr("from 1 to 4 for axis 0 and ones for the others, received {"));
  }
  const Partitioner halves = [](const Shape& shape, DType) {
    Parts parts(static_cast<size_t>(shape.rank()), 1);
    parts[0] = std::min<int64_t>(2, shape.front());
    return parts;
  };
  EXPECT_EQ(halves.num_parts({4, 2}, DType::float32), 2);
}

using detail::PlacedShape;
using detail::ShardPlacement;
using detail::VariablePart;

std::vector<int> servers_of(std::span<const VariablePart> parts) {
  std::vector<int> servers;
  for (const VariablePart& part : parts) servers.push_back(part.server);
  return servers;
}

TEST(ShardPlacement, GoesRoundInCreationOrder) {
  const std::vector<PlacedShape> variables = {{{2}}, {{3}}, {{}}, {{4, 4}}};
  const ShardPlacement whole(variables, 3);
  EXPECT_THAT(servers_of(whole.parts()), ElementsAre(0, 1, 2, 0));
  EXPECT_THAT(servers_of(ShardPlacement(variables, 1).parts()), ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(whole.parts()[3].shape, (Shape{4, 4}));
  EXPECT_EQ(whole.parts()[2].rows.count, 1);
  EXPECT_TRUE(whole.parts()[2].shape.empty());
  EXPECT_THAT(error_of([] { ShardPlacement(0); }), HasSubstr("parameter servers: expected at least one"));
}

TEST(ShardPlacement, PartsTakeTheNextServerEach) {
  ShardPlacement placement(3, FixedShardsPartitioner(2));
  EXPECT_EQ(placement.add({{5, 2}}), 0);
  EXPECT_EQ(placement.add({{}, DType::int64}), 1);
  EXPECT_EQ(placement.add({{1, 7}}), 2);
  EXPECT_EQ(placement.add({{2}}), 3);
  EXPECT_THROW(placement.add({{None}}), ShapeError);
  EXPECT_EQ(placement.num_variables(), 4);
  EXPECT_THAT(servers_of(placement.parts()), ElementsAre(0, 1, 2, 0, 1, 2));
  const std::span<const VariablePart> first = placement.parts_of(0);
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].shape, (Shape{3, 2}));
  EXPECT_EQ(first[1].shape, (Shape{2, 2}));
  EXPECT_EQ(first[1].part, 1);
  EXPECT_EQ(first[1].rows.first, 3);
  for (const auto& [row, part] : {std::pair(0, 0), std::pair(2, 0), std::pair(3, 1), std::pair(4, 1)})
    EXPECT_EQ(placement.part_of_row(0, row).part, part) << row;
  EXPECT_THAT(error_of([&] { placement.part_of_row(0, 5); }),
              HasSubstr("row of variable 0: expected one of its 5 rows, received 5"));
  EXPECT_THROW(placement.part_of_row(0, -1), InvalidArgumentError);
  EXPECT_THROW(placement.parts_of(4), InvalidArgumentError);
  const std::vector<VariablePart> on_second = placement.parts_on(1);
  ASSERT_EQ(on_second.size(), 2u);
  EXPECT_EQ(on_second[0].variable, 0);
  EXPECT_EQ(on_second[1].variable, 3);
}

}  // namespace
}  // namespace nyala::partitioners_test
