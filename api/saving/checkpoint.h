#pragma once

#include <string>

#include <nyala/api/model/model.h>

namespace nyala {

/// Where training stands: what a checkpoint holds besides weights and optimizer state.
struct TrainingPosition {
  int epoch = 0;      // to go on with
  int64_t batch = 0;  // batches of that epoch that are done
};

/// Everything that training needs to go on as if it had not been interrupted: weights, optimizer state, step, random
/// state, running metrics and the position in the data. The file is a `.weights.h5` with one more group, so Keras
/// loads its weights. It is of the logical model: any strategy restores any other's.
class Checkpoint {
 public:
  explicit Checkpoint(Model model) : model_(std::move(model)) {}

  /// Written beside and renamed. Throws IoError, and StateError for a model that is not built.
  void save(const std::string& path, const TrainingPosition& position = {}) const;
  /// Throws NotFoundError, FileFormatError or ShapeError; the weights are unchanged then.
  TrainingPosition restore(const std::string& path) const;

 private:
  Model model_;
};

}  // namespace nyala
