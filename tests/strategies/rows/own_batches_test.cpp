#include <nyala/strategies/rows/own_batches.h>

#include <numeric>

#include <gmock/gmock.h>

#include <nyala/tests/support/error_text.h>

namespace nyala::detail {
namespace {

using Rows = std::vector<std::vector<int64_t>>;

Tensor range(int64_t count) {
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return Tensor::from(numbers);
}

Rows rows_of_pieces(OwnBatches batches) {
  Rows rows;
  for (Batch piece; batches.next(piece);) rows.push_back(piece.x[0].to_vector<int64_t>());
  return rows;
}

Dataset with(const Dataset& dataset, AutoShardPolicy policy) {
  return dataset.with_options({.experimental_distribute = {.auto_shard_policy = policy}});
}

TEST(OwnBatches, OffReadsAllInPieces) {
  const Dataset twelve = with(Dataset::from_tensor_slices(range(12)).batch(8), AutoShardPolicy::off);
  const Rows expected = {{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}, {10, 11}};
  EXPECT_EQ(rows_of_pieces(OwnBatches(twelve, 0, 2, 0)), expected);
  EXPECT_EQ(rows_of_pieces(OwnBatches(twelve, 0, 2, 1)), expected);
  const Dataset four = with(Dataset::from_tensor_slices(range(4)).batch(3), AutoShardPolicy::off);
  EXPECT_EQ(rows_of_pieces(OwnBatches(four, 0, 2, 1)), (Rows{{0, 1}, {2}, {3}}));
  OwnBatches skipped(twelve, 0, 2, 0);
  EXPECT_EQ(skipped.skip(3), 3);
  EXPECT_EQ(rows_of_pieces(std::move(skipped)), (Rows{{10, 11}}));
}

TEST(OwnBatches, FilesAreDealtOut) {
  const Dataset files = with(Dataset::from_tensor_slices(range(7)).batch(4), AutoShardPolicy::file);
  EXPECT_EQ(rows_of_pieces(OwnBatches(files, 0, 2, 0)), (Rows{{0, 2}, {4, 6}}));
  EXPECT_EQ(rows_of_pieces(OwnBatches(files, 0, 2, 1)), (Rows{{1, 3}, {5}}));
  const Dataset lines =
      with(Dataset::from_tensor_slices(range(3))
               .interleave([](const Element& file) {
                 const int64_t first = file.x[0].data<int64_t>()[0] * 10;
                 return Dataset::from_tensor_slices(Tensor::from(std::vector<int64_t>{first, first + 1}));
               })
               .repeat(2)
               .batch(4),
           AutoShardPolicy::file);
  EXPECT_EQ(rows_of_pieces(OwnBatches(lines, 0, 2, 0)), (Rows{{0, 20}, {1, 21}, {0, 20}, {1, 21}}));
  EXPECT_EQ(rows_of_pieces(OwnBatches(lines, 0, 2, 1)), (Rows{{10, 11}, {10, 11}}));
  const Dataset cached = with(Dataset::from_tensor_slices(range(4)).cache().batch(4), AutoShardPolicy::file);
  for (const int64_t first : {0, 1, 0})
    EXPECT_EQ(rows_of_pieces(OwnBatches(cached, 0, 2, static_cast<int>(first))),
              (Rows{{first}, {first + 2}}));
}

TEST(OwnBatches, TooFewFilesAreAnError) {
  const Dataset two = with(Dataset::from_tensor_slices(range(2)).batch(4), AutoShardPolicy::file);
  expect_error([&] { OwnBatches(two, 0, 3, 0); },
               {"expected a file for each of the 3 processes, received 2", "AutoShardPolicy::data"});
  const Dataset generated = with(
      Dataset::from_generator([] { return [](Element&) { return false; }; }).batch(4), AutoShardPolicy::file);
  expect_error([&] { OwnBatches(generated, 0, 2, 0); }, {"expected data that begins with a list of files"});
}

}  // namespace
}  // namespace nyala::detail
