#pragma once

#include <string>

#include <nyala/api/model/model.h>
#include <nyala/api/training/state/training_position.h>

namespace nyala {

/// Everything that training needs to go on as if it had not been interrupted: weights, optimizer state, step,
/// random state, running metrics and the position in the data. The file is a `.weights.h5` with one more
/// group, so Keras loads its weights. It is of the logical model: any strategy restores any other's. On the
/// same devices training goes on bit by bit as it would have.
class Checkpoint {
 public:
  explicit Checkpoint(Model model) : model_(std::move(model)) {}

  /// Written beside and renamed: the path holds the old file or the whole new one. Throws IoError, StateError
  /// for a model that is not built or that another thread trains, and NumericError, writing nothing, where a
  /// kernel has found a label or index out of range since the last look.
  void save(const std::string& path, const TrainingPosition& position = {}) const;
  /// Also takes a file of save_weights, whose position is the beginning. Throws IoError, FileFormatError, and
  /// NotFoundError or ShapeError where the file is another model's (or its optimizer's state another
  /// optimizer's, for a compiled model); nothing is changed then, but for values that load_weights would have
  /// read before it found one damaged.
  TrainingPosition restore(const std::string& path) const;

 private:
  Model model_;
};

}  // namespace nyala
