#pragma once

#include <string>
#include <vector>

#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct LoadWeightsConfig {
  /// Files of the older layout (groups by layer name): layers of the same name take their weights, all others
  /// keep theirs. The layout of Keras 3 goes by structure; there this throws InvalidArgumentError, as in
  /// Keras.
  bool by_name = false;
  /// Weights that the file lacks or has in another shape keep their values instead of throwing.
  bool skip_mismatch = false;
  /// Layers (with what they hold) that keep their values.
  std::vector<Layer> objects_to_skip = {};
  /// Compare the values of a `.weights.h5` of Nyala's with the checksums that are in it. False takes what
  /// there is of a damaged file, or of one whose values another program has changed.
  bool verify_checksums = true;
};

/// What load_weights did, by layer path.
struct LoadReport {
  std::vector<std::string> loaded = {};      ///< layers whose weights come from the file
  std::vector<std::string> missing = {};     ///< layers that the file has no weights for
  std::vector<std::string> mismatched = {};  ///< layers whose weights have another number or shape there
  std::vector<std::string> unexpected = {};  ///< groups of the file that no layer asked for

  bool complete() const { return missing.empty() && mismatched.empty() && unexpected.empty(); }
  /// A line for people.
  std::string to_string() const;
};

}  // namespace nyala
