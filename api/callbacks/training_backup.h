#pragma once

#include <string>
#include <system_error>
#include <vector>

#include <nyala/api/model/model.h>
#include <nyala/api/saving/checkpoint.h>

namespace nyala::detail {

/// The checkpoint from which fit goes on, latest.weights.h5 in a folder: what callbacks that make training
/// survive share. Two of them may share the folder, too.
class TrainingBackup {
 public:
  /// `who` begins the errors. Throws InvalidArgumentError for an empty path.
  TrainingBackup(std::string folder, std::string who);

  std::string path() const { return folder_ + "/latest.weights.h5"; }
  /// For on_train_begin: where there is a backup the model becomes it and fit is told to go on there. Returns
  /// its position. Leaves no folder behind. Throws StateError for a model that is not built (as Keras),
  /// IoError where the folder cannot be made or written to, and what Checkpoint::restore throws.
  TrainingPosition begin(const Model& model);
  /// Makes the folder, and those above it, and writes the checkpoint. Throws what Checkpoint::save throws.
  void save(const Model& model, const TrainingPosition& position);
  /// The file, and the folder where nothing else is in it, unless begin() found it empty: then somebody else
  /// made it; and folders above it that save() made, where they are empty. What cannot be removed stays.
  void remove(const Model& model);

 private:
  std::error_code make_folder();
  void remove_made();
  void check_folder();

  std::string folder_, who_;
  bool is_own_ = false;            // the folder, not one that was there before without a backup
  std::vector<std::string> made_;  // folders that were not there before, the lowest first
};

}  // namespace nyala::detail
