#pragma once

namespace nyala {

/// What the node of a layer of ids derives from, too: models hand it whole numbers as they are, with all
/// their bits, where other layers get them in the floating dtype of the Input.
class TakesWholeNumbers {
 protected:
  virtual ~TakesWholeNumbers() = default;
};

}  // namespace nyala
