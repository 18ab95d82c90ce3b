#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace nyala {

/// Where processes that do not know each other yet leave short texts for each other: addresses, names of
/// segments. Keys are of letters, digits and "-_./:", at most 200; values are any bytes, at most 64 KB. All
/// functions are thread-safe, and throw CommunicationError where the place cannot be reached.
class Rendezvous {
 public:
  static constexpr size_t kMaxKey = 200;
  static constexpr size_t kMaxValue = 65536;

  virtual ~Rendezvous() = default;
  /// Stores `value`, in place of what was there.
  virtual void set(std::string_view key, std::string_view value) = 0;
  virtual std::optional<std::string> get(std::string_view key) = 0;
  /// The value as soon as there is one. Throws TimeoutError, naming the key, where there is none in that
  /// time.
  virtual std::string wait(std::string_view key, std::chrono::milliseconds timeout) = 0;
  /// For messages: "the folder /tmp/x".
  virtual std::string describe() const = 0;
};

namespace detail {

/// Throws InvalidArgumentError unless both are what a Rendezvous takes.
void check_rendezvous_key(std::string_view key);
void check_rendezvous_value(std::string_view key, std::string_view value);

}  // namespace detail

}  // namespace nyala
