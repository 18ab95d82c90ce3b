#pragma once

// Every loss: one line here, one below.
#include <nyala/api/base/name_table.h>
#include <nyala/api/losses/binary_crossentropy.h>
#include <nyala/api/losses/binary_focal_crossentropy.h>
#include <nyala/api/losses/categorical_crossentropy.h>
#include <nyala/api/losses/categorical_focal_crossentropy.h>
#include <nyala/api/losses/categorical_generalized_cross_entropy.h>
#include <nyala/api/losses/categorical_hinge.h>
#include <nyala/api/losses/circle.h>
#include <nyala/api/losses/configured_loss.h>
#include <nyala/api/losses/cosine_similarity.h>
#include <nyala/api/losses/ctc.h>
#include <nyala/api/losses/dice.h>
#include <nyala/api/losses/hinge.h>
#include <nyala/api/losses/huber.h>
#include <nyala/api/losses/kl_divergence.h>
#include <nyala/api/losses/log_cosh.h>
#include <nyala/api/losses/loss.h>
#include <nyala/api/losses/mean_absolute_error.h>
#include <nyala/api/losses/mean_absolute_percentage_error.h>
#include <nyala/api/losses/mean_squared_error.h>
#include <nyala/api/losses/mean_squared_logarithmic_error.h>
#include <nyala/api/losses/overlap_loss.h>
#include <nyala/api/losses/poisson.h>
#include <nyala/api/losses/sparse_categorical_crossentropy.h>
#include <nyala/api/losses/squared_hinge.h>
#include <nyala/api/losses/tversky.h>

namespace nyala {

using Losses =
    ClassList<BinaryCrossentropy, BinaryFocalCrossentropy, CTC, CategoricalCrossentropy,
              CategoricalFocalCrossentropy, CategoricalGeneralizedCrossEntropy, CategoricalHinge, Circle,
              CosineSimilarity, Dice, Hinge, Huber, KLDivergence, LogCosh, MeanAbsoluteError,
              MeanAbsolutePercentageError, MeanSquaredError, MeanSquaredLogarithmicError, Poisson,
              SparseCategoricalCrossentropy, SquaredHinge, Tversky>;

}  // namespace nyala
