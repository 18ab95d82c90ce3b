#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <nyala/backend/core/source_place.h>

namespace nyala {

/// Base of every exception that Nyala throws. The text says where (layer path or op), what was
/// expected, what was received, and a hint where there is one. The library never aborts or exits.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
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

/// Call inside a catch block: throws the current exception again, of the same Nyala type, with `prefix` in
/// front of its text. Exceptions that are not Nyala's become Error.
[[noreturn]] void rethrow_with_prefix(const std::string& prefix);

/// Throws InternalError naming the caller's file and line unless `condition` holds.
void check_internal(bool condition, std::string_view what,
                    SourcePlace where = SourcePlace::here());

/// Returns " (did you mean 'adam'?)" for the candidate nearest to `name`, or "" when none is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

/// Joins names as "'a', 'b', 'c'".
std::string quoted_list(const std::vector<std::string>& names);

}  // namespace nyala
