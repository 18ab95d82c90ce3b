#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <nyala/backend/core/printable.h>
#include <nyala/backend/core/source_place.h>

namespace nyala {

/// Base of every exception that Nyala throws. The text says where (layer path or op), what was
/// expected, what was received, and a hint where there is one. The library never aborts or exits.
///
/// Texts quote what files and users say. what() can be shown on a terminal and put into a log all the same:
/// control characters and bytes that are no UTF-8 are written as "\x1b"; line ends and tabs stay, those
/// inside of names are written by who quotes them (printable.h).
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& text) : std::runtime_error(printable(text, true)) {}

  const char* what() const noexcept override { return text_ ? text_->c_str() : std::runtime_error::what(); }
  /// Says where: what() begins with `prefix` from now on. Not to be called by two threads.
  void put_in_front(const std::string& prefix) {
    text_ = std::make_shared<const std::string>(printable(prefix, true) + what());
  }

 private:
  std::shared_ptr<const std::string> text_;  // null: the text that it was made with
};

/// An argument that no call of this kind accepts (an unknown name, a negative size).
class InvalidArgumentError : public Error {
 public:
  using Error::Error;
};

/// Shapes that do not fit together. Says the layer or op, the expected and the received shape.
class ShapeError : public InvalidArgumentError {
 public:
  using InvalidArgumentError::InvalidArgumentError;
};

/// A dtype that the op or accessor does not take.
class DTypeError : public InvalidArgumentError {
 public:
  using InvalidArgumentError::InvalidArgumentError;
};

/// A name, file, layer or key that does not exist.
class NotFoundError : public Error {
 public:
  using Error::Error;
};

/// A device that does not exist here. The text lists the devices there are.
class DeviceNotFoundError : public NotFoundError {
 public:
  using NotFoundError::NotFoundError;
};

/// A call at the wrong time: not compiled, not built, wrong scope, a busy model.
class StateError : public Error {
 public:
  using Error::Error;
};

/// The operating system refused a read, a write or a connection. Names the path or URL.
class IoError : public Error {
 public:
  using Error::Error;
};

/// A file whose bytes are not what its format says. Names path, place and reason.
class FileFormatError : public IoError {
 public:
  using IoError::IoError;
};

/// A device or the host has no memory left for a request. Names device and bytes.
class OutOfMemoryError : public Error {
 public:
  using Error::Error;
};

/// Values that no number can stand for: NaN or infinity where forbidden, a label out of range.
class NumericError : public Error {
 public:
  using Error::Error;
};

/// A collective among replicas or processes failed or was cancelled.
class CommunicationError : public Error {
 public:
  using Error::Error;
};

/// A collective or request did not finish in its time.
class TimeoutError : public CommunicationError {
 public:
  using CommunicationError::CommunicationError;
};

/// A replica, worker or server is gone.
class PeerLostError : public CommunicationError {
 public:
  using CommunicationError::CommunicationError;
};

/// Something inside Nyala is not as its own code promises. Carries file and line: please report it.
class InternalError : public Error {
 public:
  using Error::Error;
};

namespace detail {

/// Call inside a catch block: throws the current exception again, with `prefix` in front of its text where it
/// is an Error, of any class derived from it. Others go on as they are.
[[noreturn]] void rethrow_with_prefix(const std::string& prefix);

}  // namespace detail

/// Inside a catch block: the replica from whose thread an exception comes that is not one of Nyala's
/// ("replica 1 on cpu:1: "), so that a class of one's own arrives as it was thrown. Empty for Nyala's, whose
/// texts have it, and for what no other thread has thrown.
std::string error_place();

namespace detail {

/// Throws InternalError naming the caller's file and line unless `condition` holds.
void check_internal(bool condition, std::string_view what,
                    SourcePlace where = SourcePlace::here());

/// Returns " (did you mean 'adam'?)" for the candidate nearest to `name`, or "" when none is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

/// A name that a file or a user gave, as messages show it: between single quotes, printable() in one line,
/// and cut behind 200 bytes.
std::string in_quotes(std::string_view name);

/// Joins names as "'a', 'b', 'c'".
std::string quoted_list(const std::vector<std::string>& names);

}  // namespace detail

}  // namespace nyala
