#pragma once

#include <nyala/api/base/fields.h>
#include <nyala/api/initializers/initializer.h>

namespace nyala {

/// All 0.
class Zeros : public Initializer {
 public:
  Zeros();
};

}  // namespace nyala
