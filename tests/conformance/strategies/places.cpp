#include <nyala/tests/conformance/strategies/places.h>

#include <gtest/gtest.h>

#include <nyala/api/layers/base/layer.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/central_storage.h>
#include <nyala/strategies/mirrored.h>

namespace nyala {

namespace {

std::vector<std::string> devices_named(const std::string& kind, int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(kind + ":" + std::to_string(i));
  return names;
}

Place mirrored(const std::string& name, const std::vector<std::string>& devices, SharedWeights shared) {
  return {name, static_cast<int>(devices.size()), shared == SharedWeights::never || name == "ghosts",
          [=] { return MirroredStrategy({.devices = devices, .shared_weights = shared}); }};
}

}  // namespace

std::vector<Place> places() {
  std::vector<Place> all;
  for (int count : {1, 2, 3, 4}) {
    const auto devices = devices_named("cpu", count);
    all.push_back(mirrored(std::to_string(count) + " shared", devices, SharedWeights::automatic));
    all.push_back(mirrored(std::to_string(count) + " separate", devices, SharedWeights::never));
    all.push_back({std::to_string(count) + " central", count, false,
                   [=] { return CentralStorageStrategy({.compute_devices = devices}); }});
  }
  all.push_back(mirrored("ghosts", devices_named("ghost", 2), SharedWeights::automatic));
  return all;
}

void at_every_place(const std::function<void(const Place& place, const Strategy& strategy)>& check) {
  configure_logical_devices("cpu", 4);
  enable_ghost_device();
  for (const Place& place : places()) {
    SCOPED_TRACE(place.name);
    clear_session();
    check(place, place.make());
  }
  configure_logical_devices("cpu", 1);
}

}  // namespace nyala
