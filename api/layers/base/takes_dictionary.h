#pragma once

#include <string>
#include <vector>

namespace nyala {

/// What the node of a layer derives from, too, that Keras calls with a dictionary of tensors; here they are a
/// list, in the order of the sorted keys, and Keras' files hold the dictionary.
class TakesDictionary {
 public:
  /// The keys of `count` tensors, sorted; "bounding_boxes/labels" is one in a dictionary within.
  virtual std::vector<std::string> keys(size_t count) const = 0;

 protected:
  virtual ~TakesDictionary() = default;
};

}  // namespace nyala
