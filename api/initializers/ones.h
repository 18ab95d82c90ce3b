#pragma once

#include <nyala/api/base/fields.h>
#include <nyala/api/initializers/initializer.h>

namespace nyala {

/// All 1.
class Ones : public Initializer {
 public:
  Ones();
};

}  // namespace nyala
