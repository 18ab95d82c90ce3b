#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include <nyala/backend/core/dtype.h>
#include <nyala/backend/core/shape.h>
#include <nyala/strategies/rows/row_split.h>

namespace nyala {

/// How many parts a variable of this shape and dtype has along each axis: one number per axis, ones except
/// for axis 0.
using PartitionFunction = std::function<std::vector<int64_t>(const Shape&, DType)>;

/// Says into how many parts of rows the variables of a parameter-server strategy are cut: one of the classes
/// below, or a function of the program's own. Without one each variable is whole. Must be thread-safe and say
/// the same of the same shape in every process.
class Partitioner {
 public:
  Partitioner() = default;
  template <class Function>
  requires(!std::same_as<std::remove_cvref_t<Function>, Partitioner> &&
           std::convertible_to<Function, PartitionFunction>) Partitioner(Function function)
      : function_(std::move(function)) {}

  /// Parts along axis 0, from 1 to the number of rows. A scalar, a variable without rows and any variable
  /// where no partitioner was given is one part; the function is not asked about the first two. Throws
  /// ShapeError for a shape with None, InvalidArgumentError for an answer that is not one number per axis,
  /// that cuts another axis than 0 or gives no part or more parts than rows.
  int64_t num_parts(const Shape& shape, DType dtype) const;

 private:
  PartitionFunction function_;
};

/// So many parts, or as many as there are rows (tf.distribute.experimental.partitioners).
class FixedShardsPartitioner {
 public:
  /// Throws InvalidArgumentError unless it is at least 1.
  explicit FixedShardsPartitioner(int64_t num_shards);
  /// Parts per axis; none for a scalar. Throws ShapeError for a shape with None.
  std::vector<int64_t> operator()(const Shape& shape, DType dtype) const;

 private:
  int64_t num_shards_;
};

struct MinSizePartitionerConfig {
  /// Bytes that the smallest part has at least.
  int64_t min_shard_bytes = 256 << 10;
  int64_t max_shards = 1;
};

/// As many parts as there can be of at least min_shard_bytes each, at most max_shards: one where the variable
/// has fewer bytes. (TensorFlow rounds up, so that its parts may be smaller than it says.)
class MinSizePartitioner {
 public:
  using Config = MinSizePartitionerConfig;
  /// Throws InvalidArgumentError unless both are at least 1.
  explicit MinSizePartitioner(Config config = {});
  /// Parts per axis; none for a scalar. Throws ShapeError for a shape with None.
  std::vector<int64_t> operator()(const Shape& shape, DType dtype) const;

 private:
  Config config_;
};

struct MaxSizePartitionerConfig {
  /// Bytes that the largest part has at most; a part has at least one row, whatever its size. Has no default.
  int64_t max_shard_bytes = 0;
  /// 0: as many as that takes, else the parts may be larger.
  int64_t max_shards = 0;
};

/// As few parts as there can be of at most max_shard_bytes each.
class MaxSizePartitioner {
 public:
  using Config = MaxSizePartitionerConfig;
  /// Throws InvalidArgumentError unless max_shard_bytes is at least 1 and max_shards not negative.
  explicit MaxSizePartitioner(Config config);
  /// Parts per axis; none for a scalar. Throws ShapeError for a shape with None.
  std::vector<int64_t> operator()(const Shape& shape, DType dtype) const;

 private:
  Config config_;
};

/// The rows of each part: consecutive, and their numbers differ by at most one, larger first (TensorFlow's
/// "div"). 10 rows in 4 parts are 3, 3, 2 and 2. Throws InvalidArgumentError for negative rows or no part.
std::vector<RowRange> shard_rows(int64_t rows, int64_t shards);

}  // namespace nyala
