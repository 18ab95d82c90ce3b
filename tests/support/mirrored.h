#pragma once

#include <string>

#include <gtest/gtest.h>

#include <nyala/strategies/mirrored.h>

namespace nyala {

/// Over the first `count` logical CPU devices, which the test has configured.
inline MirroredStrategy mirrored(int count) {
  MirroredStrategyConfig config;
  for (int i = 0; i < count; ++i) config.devices.push_back("cpu:" + std::to_string(i));
  return MirroredStrategy(config);
}

/// Runs `test` in the scope of one, two and three devices.
template <class Test>
void on_each_number_of_devices(Test&& test) {
  for (const int count : {1, 2, 3}) {
    SCOPED_TRACE(count);
    mirrored(count).scope([&] { test(); });
  }
}

}  // namespace nyala
