#pragma once

#include <utility>
#include <vector>

#include <nyala/api/layers/rnn/recurrent_cell.h>

namespace nyala {

struct StackedRNNCellsConfig {
  std::vector<Layer> cells = {};
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// Cells one behind the other as one: each is fed with the output of the one before. Its states are those of
/// all cells, in their order.
class StackedRNNCells : public Layer {
 public:
  using Config = StackedRNNCellsConfig;
  /// Throws InvalidArgumentError for no cells or a layer that is no cell.
  explicit StackedRNNCells(const Config& config);
  template <int = 0>  // behind the other where g++ takes {.cells = ...} for a list
  explicit StackedRNNCells(std::vector<Layer> cells, Config config = {})
      : StackedRNNCells((config.cells = std::move(cells), config)) {}
};

}  // namespace nyala
