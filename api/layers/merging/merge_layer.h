#pragma once

#include <nyala/api/layers/base/layer.h>

namespace nyala {

/// Of the layers that make one tensor of many, element by element. All but the batch broadcast; where ranks
/// differ, axes of size 1 are put behind the batch. A step of the result counts where that of any input does,
/// if all have masks. Building throws ShapeError where inputs do not fit.
struct MergeConfig {
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

using AddConfig = MergeConfig;
using SubtractConfig = MergeConfig;
using MultiplyConfig = MergeConfig;
using AverageConfig = MergeConfig;
using MaximumConfig = MergeConfig;
using MinimumConfig = MergeConfig;

/// The sum of its inputs, `Add()({a, b, c})`: all but the batch broadcast; where ranks differ, axes of
/// size 1 are put behind the batch.
class Add : public Layer {
 public:
  using Config = AddConfig;
  explicit Add(const Config& config = {});
  template <size_t N>
  explicit Add(const NoSuchField (&)[N]) = delete;
};

/// The first of two inputs less the second, `Subtract()({a, b})`: all but the batch broadcast; where ranks
/// differ, axes of size 1 are put behind the batch. Called on another number of inputs it throws
/// InvalidArgumentError.
class Subtract : public Layer {
 public:
  using Config = SubtractConfig;
  explicit Subtract(const Config& config = {});
  template <size_t N>
  explicit Subtract(const NoSuchField (&)[N]) = delete;
};

/// The product of its inputs, `Multiply()({a, b, c})`: all but the batch broadcast; where ranks differ,
/// axes of size 1 are put behind the batch. A step that its mask leaves out counts as 1, and where all
/// inputs have masks and leave it out, the result is 0.
class Multiply : public Layer {
 public:
  using Config = MultiplyConfig;
  explicit Multiply(const Config& config = {});
  template <size_t N>
  explicit Multiply(const NoSuchField (&)[N]) = delete;
};

/// The mean of its inputs, `Average()({a, b, c})`: all but the batch broadcast; where ranks differ, axes
/// of size 1 are put behind the batch.
class Average : public Layer {
 public:
  using Config = AverageConfig;
  explicit Average(const Config& config = {});
  template <size_t N>
  explicit Average(const NoSuchField (&)[N]) = delete;
};

/// The largest of its inputs element by element, `Maximum()({a, b, c})`: all but the batch broadcast;
/// where ranks differ, axes of size 1 are put behind the batch. Steps that a mask leaves out do not take
/// part.
class Maximum : public Layer {
 public:
  using Config = MaximumConfig;
  explicit Maximum(const Config& config = {});
  template <size_t N>
  explicit Maximum(const NoSuchField (&)[N]) = delete;
};

/// The smallest of its inputs element by element, `Minimum()({a, b, c})`: all but the batch broadcast;
/// where ranks differ, axes of size 1 are put behind the batch. Steps that a mask leaves out do not take
/// part.
class Minimum : public Layer {
 public:
  using Config = MinimumConfig;
  explicit Minimum(const Config& config = {});
  template <size_t N>
  explicit Minimum(const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
