#pragma once

namespace nyala {

/// Stands first in a Config whose fields have to be named. Without it `MaxPooling2D({3, 2})` could be read as
/// a size and as pool_size 3 with strides 2.
struct NamesRequired {
  explicit NamesRequired() = default;
};

}  // namespace nyala
