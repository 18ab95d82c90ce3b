#pragma once

#include <string>
#include <vector>

#include <nyala/files/hdf5/file.h>

namespace nyala {

/// The groups and datasets of one HDF5 file, or of several that hold parts of one tree (Keras' sharded
/// weights, where even the variables of one layer may lie in two files).
class WeightsTree {
 public:
  WeightsTree(hdf5::Group root) : roots_{std::move(root)} {}
  explicit WeightsTree(std::vector<hdf5::Group> roots) : roots_(std::move(roots)) {}

  const std::vector<hdf5::Group>& roots() const { return roots_; }
  bool has_group(const std::string& path) const;
  /// How many datasets a group has in all files together.
  size_t count(const std::string& path) const;
  /// Throws NotFoundError.
  hdf5::Dataset dataset(const std::string& path) const;
  /// Of all files, sorted.
  std::vector<std::string> dataset_paths() const;

 private:
  std::vector<hdf5::Group> roots_;
};

}  // namespace nyala
