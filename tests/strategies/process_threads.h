#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/communicators/local_communicators.h>
#include <nyala/strategies/in_process.h>

namespace nyala {

/// Threads that pose as processes: each has a strategy of its own, on devices of its own, and communicators
/// that reach the others.
struct ProcessThreads {
  int processes = 2;
  int devices = 1;
  bool share_weights = true;
  int64_t bucket_elements = 65536;
  std::chrono::milliseconds timeout = std::chrono::seconds(20);
  DType wire_dtype = DType::float32;

  int replicas() const { return processes * devices; }
  std::string name() const { return std::to_string(processes) + "x" + std::to_string(devices); }

  /// Calls body(strategy) in each at the same time; what each threw, null for nothing.
  std::vector<std::exception_ptr> errors_of(const std::function<void(const Strategy&)>& body) const {
    configure_logical_devices("cpu", replicas());
    const auto steps = local_communicators({.size = processes, .name = "steps", .timeout = timeout});
    const auto gradients = local_communicators({.size = processes, .name = "gradients", .timeout = timeout});
    std::vector<std::exception_ptr> errors(static_cast<size_t>(processes));
    std::vector<std::thread> threads;
    for (size_t rank = 0; rank < errors.size(); ++rank)
      threads.emplace_back([&, rank] {
        try {
          InProcessOptions options{.name = "rank " + std::to_string(rank),
                                   .devices = {},
                                   .share_weights = share_weights,
                                   .bucket_elements = bucket_elements,
                                   .wire_dtype = wire_dtype,
                                   .processes = {steps[rank], gradients[rank]}};
          for (int i = 0; i < devices; ++i)
            options.devices.push_back(Device(DeviceKind::cpu, static_cast<int>(rank) * devices + i));
          body(Strategy(std::make_shared<InProcessStrategy>(std::move(options))));
        } catch (...) {
          errors[rank] = std::current_exception();
        }
      });
    for (std::thread& thread : threads) thread.join();
    configure_logical_devices("cpu", 1);
    return errors;
  }

  /// The same, for bodies that succeed: throws the first error.
  void run(const std::function<void(const Strategy&)>& body) const {
    for (const std::exception_ptr& error : errors_of(body))
      if (error) std::rethrow_exception(error);
  }
};

}  // namespace nyala
