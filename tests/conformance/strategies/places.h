#pragma once

#include <functional>
#include <string>
#include <vector>

#include <nyala/strategies/strategy.h>

namespace nyala {

/// One way to run the same replicas.
struct Place {
  std::string name;
  int replicas = 1;
  /// Every replica has its own copy of the weights.
  bool separate = false;
  std::function<Strategy()> make;
};

/// 1 to 4 virtual CPU devices with shared and with separate storage and with central storage, and two ghost
/// devices.
std::vector<Place> places();

/// Calls `check` at every place, with the place's name on failures. Makes the devices before and takes them
/// away after.
void at_every_place(const std::function<void(const Place& place, const Strategy& strategy)>& check);

}  // namespace nyala
