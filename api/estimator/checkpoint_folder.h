#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nyala/api/model/model.h>

namespace nyala {

/// The checkpoints of an Estimator: `model.ckpt-<step>.weights.h5` for some of the last steps, and the file
/// `checkpoint`, which names the newest. What the folder holds is looked up each time: other processes may
/// write to it.
class CheckpointFolder {
 public:
  /// Keeps the newest `keep`; 0: all.
  CheckpointFolder(std::string folder, int64_t keep) : folder_(std::move(folder)), keep_(keep) {}

  const std::string& path() const { return folder_; }
  /// The path of the newest checkpoint, empty where there is none. Throws FileFormatError for a file
  /// `checkpoint` that names none, IoError where the folder cannot be read.
  std::string latest() const;
  /// All that there are, by step.
  std::vector<std::string> all() const;
  /// Saves the state of the model and its optimizer under the optimizer's step, and removes the oldest
  /// beyond those to keep. Returns the path. Throws what Checkpoint::save throws.
  std::string save(const Model& model) const;

 private:
  std::string path_of(const std::string& name) const { return folder_ + "/" + name; }
  void remove_old() const;

  std::string folder_;
  int64_t keep_;
};

}  // namespace nyala
