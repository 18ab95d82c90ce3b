#pragma once

// Everything that a user types.
#include <nyala/api/activations/activations.h>
#include <nyala/api/callbacks/all.h>
#include <nyala/api/constraints/all.h>
#include <nyala/api/initializers/all.h>
#include <nyala/api/layers/all.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/metrics/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/api/regularizers/all.h>
#include <nyala/api/saving/checkpoint.h>
#include <nyala/api/schedules/all.h>
#include <nyala/api/utils/all.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/core/version.h>
#include <nyala/backend/ops/all.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/datasets/cifar10.h>
#include <nyala/datasets/dataset.h>
#include <nyala/datasets/fashion_mnist.h>
#include <nyala/datasets/mnist.h>
#include <nyala/strategies/mirrored.h>
#include <nyala/strategies/one_device.h>
