#pragma once

// Every op unit, one line each.
#include <nyala/backend/ops/activation.h>
#include <nyala/backend/ops/arg_reduction.h>
#include <nyala/backend/ops/arithmetic.h>
#include <nyala/backend/ops/batch_normalization.h>
#include <nyala/backend/ops/binary.h>
#include <nyala/backend/ops/cast.h>
#include <nyala/backend/ops/comparison.h>
#include <nyala/backend/ops/conv2d.h>
#include <nyala/backend/ops/crossentropy.h>
#include <nyala/backend/ops/dense.h>
#include <nyala/backend/ops/exponential.h>
#include <nyala/backend/ops/fused_activation.h>
#include <nyala/backend/ops/logical.h>
#include <nyala/backend/ops/pooling.h>
#include <nyala/backend/ops/reduction.h>
#include <nyala/backend/ops/rounding.h>
#include <nyala/backend/ops/softmax.h>
#include <nyala/backend/ops/statistics.h>
#include <nyala/backend/ops/trigonometric.h>
#include <nyala/backend/ops/window.h>
