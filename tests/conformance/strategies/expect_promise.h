#pragma once

#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/conformance/strategies/places.h>
#include <nyala/tests/conformance/strategies/promise_case.h>

namespace nyala {

/// The numbers of one device at every place and from models that split batches themselves.
inline void expect_promise(const PromiseCase& training) {
  for (const DType dtype : {DType::float32, DType::float64}) {
    SCOPED_TRACE(training.name + ", " + std::string(name_of(dtype)));
    const Outcome expected = outcome_of(training, OneDeviceStrategy("cpu:0"), dtype);
    const auto compare = [&](const PromiseCase& other, const Strategy& strategy) {
      const Difference difference = difference_of(outcome_of(other, strategy, dtype), expected, dtype);
      EXPECT_LE(difference.allowed, 1.0) << difference.where;
    };
    at_every_place([&](const Place& place, const Strategy& strategy) {
      if (place.name != "ghosts" || dtype == DType::float32) compare(training, strategy);
    });
    configure_logical_devices("cpu", 3);
    for (const bool keras : {true, false}) {
      SCOPED_TRACE(keras ? "multi_gpu_model on 2" : "DataParallel on 3");
      PromiseCase parallel = training;
      parallel.make = [&](const std::string& name) -> Model {
        if (keras) return multi_gpu_model(training.make(name), {.gpus = 2});
        return DataParallel(training.make(name), {.device_ids = {0, 1, 2}});
      };
      compare(parallel, OneDeviceStrategy("cpu:0"));
    }
    configure_logical_devices("cpu", 1);
  }
}

}  // namespace nyala
