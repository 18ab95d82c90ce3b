#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

/// One number for all channels, or one for each: `1 / 255.0`, `{0.5, 0.25, 0.125}`.
class ChannelNumbers {
 public:
  ChannelNumbers(double all) : numbers_{all} {}
  ChannelNumbers(std::initializer_list<double> channels) : numbers_(channels) {}
  explicit ChannelNumbers(std::vector<double> numbers) : numbers_(std::move(numbers)) {}

  const std::vector<double>& list() const { return numbers_; }
  bool is_one() const { return numbers_.size() == 1; }

 private:
  std::vector<double> numbers_;
};

struct RescalingConfig {
  NamesRequired names_required = NamesRequired();
  ChannelNumbers scale = 1.0;
  ChannelNumbers offset = 0.0;
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// scale * x + offset in the layer's floating dtype: `Rescaling(1 / 255.0)` takes uint8 images to [0, 1].
/// Several numbers are those of the last axis' entries.
class Rescaling : public Layer {
 public:
  using Config = RescalingConfig;
  /// Throws InvalidArgumentError for an empty list; building throws ShapeError where a list does not fit the
  /// last axis.
  explicit Rescaling(const Config& config);
  template <size_t N>
  explicit Rescaling(const NoSuchField (&)[N]) = delete;
  explicit Rescaling(double scale, Config config = {});
  template <size_t N>
  explicit Rescaling(double, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
