#pragma once

#include <nyala/backend/core/error.h>

namespace nyala {

/// What ends fit in all processes in the same step, by itself: nobody has to be told.
class EndOfTraining : public Error {
 public:
  using Error::Error;
};

}  // namespace nyala
