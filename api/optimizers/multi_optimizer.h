#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <nyala/api/base/names_required.h>
#include <nyala/api/optimizers/base/optimizer.h>

namespace nyala {

/// Which optimizer a variable belongs to, by its path ("encoder/dense/kernel").
class OptimizerMap {
 public:
  using Entries = std::vector<std::pair<std::string, Optimizer>>;

  OptimizerMap() = default;
  /// A pattern is a path, or a regular expression that is to match a whole path: "encoder/.*". Throws
  /// InvalidArgumentError for a pattern that is none or is there twice, no default, and a wrapper
  /// (LossScaleOptimizer, MultiOptimizer) among the optimizers.
  explicit OptimizerMap(const Optimizer& default_optimizer, Entries entries = {});

  const Optimizer& default_optimizer() const { return default_; }
  const Entries& entries() const { return entries_; }
  /// Throws InvalidArgumentError where more than one pattern matches and none is the path itself.
  const Optimizer& operator[](const std::string& path) const;

 private:
  Optimizer default_;
  Entries entries_;
};

struct MultiOptimizerConfig {
  NamesRequired names_required = NamesRequired();
  OptimizerMap optimizer_map = {};  // Keras has no default
  double loss_scale_factor = kNoValue;
  std::string name = {};
};

/// Several optimizers in one, each for some of the variables. There is no learning rate but those of the
/// optimizers. Variables in files: iteration, learning_rate (0), then those of each optimizer: in the order
/// of the map, the default one last.
class MultiOptimizer : public Optimizer {
 public:
  using Config = MultiOptimizerConfig;
  /// loss_scale_factor replaces that of the optimizers. Throws InvalidArgumentError for a map without
  /// optimizers and for optimizers of several gradient_accumulation_steps.
  explicit MultiOptimizer(const Config& config);
  explicit MultiOptimizer(const OptimizerMap& optimizer_map, Config config = {});
  /// With a function instead of a map: asked once for each variable. Files cannot hold it.
  explicit MultiOptimizer(std::function<Optimizer(const Variable&)> choose, Config config = {});

  const std::vector<Optimizer>& optimizers() const;
  /// Empty where a function chooses.
  const OptimizerMap& optimizer_map() const;
};

}  // namespace nyala
