#pragma once

// Every loss: one line here, one below.
#include <nyala/api/losses/binary_crossentropy.h>
#include <nyala/api/losses/categorical_crossentropy.h>
#include <nyala/api/losses/configured_loss.h>
#include <nyala/api/losses/loss.h>
#include <nyala/api/losses/mean_absolute_error.h>
#include <nyala/api/losses/mean_squared_error.h>
#include <nyala/api/losses/sparse_categorical_crossentropy.h>
#include <nyala/api/name_table.h>

namespace nyala {

using Losses = ClassList<BinaryCrossentropy, CategoricalCrossentropy, MeanAbsoluteError, MeanSquaredError,
                         SparseCategoricalCrossentropy>;

}  // namespace nyala
