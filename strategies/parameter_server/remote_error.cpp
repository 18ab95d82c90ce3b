#include <nyala/strategies/parameter_server/remote_error.h>

#include <new>
#include <tuple>
#include <type_traits>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/parameter_server/function_values.h>

namespace nyala::detail {

namespace {

/// The place in this list travels; derived classes stand before their bases.
using Errors = std::tuple<ShapeError, DTypeError, InvalidArgumentError, DeviceNotFoundError, NotFoundError,
                          StateError, FileFormatError, IoError, OutOfMemoryError, NumericError, TimeoutError,
                          PeerLostError, CommunicationError, InternalError, Error>;
constexpr size_t kNumErrors = std::tuple_size_v<Errors>;

template <size_t i = 0>
size_t place_of(const Error& error) {
  if constexpr (i + 1 < kNumErrors)
    if (!dynamic_cast<const std::tuple_element_t<i, Errors>*>(&error)) return place_of<i + 1>(error);
  return i;
}

template <size_t i = 0>
[[noreturn]] void throw_at(size_t place, const std::string& text) {
  if constexpr (i + 1 < kNumErrors)
    if (place != i) throw_at<i + 1>(place, text);
  throw std::tuple_element_t<i, Errors>(text);
}

std::vector<std::byte> as_bytes(size_t place, const std::string& text) {
  ValueWriter out;
  out.count(place);
  out.text(text);
  return std::move(out).take();
}

}  // namespace

std::vector<std::byte> current_error_as_bytes(const std::string& prefix) {
  try {
    throw;
  } catch (const Error& error) {
    return as_bytes(place_of(error), prefix + error.what());
  } catch (const std::bad_alloc&) {
    return as_bytes(place_of(OutOfMemoryError("")), prefix + "out of memory");
  } catch (const std::exception& error) {
    return as_bytes(kNumErrors - 1, prefix + error.what());
  } catch (...) {
    return as_bytes(kNumErrors - 1, prefix + "what is no std::exception");
  }
}

void throw_error_of(std::span<const std::byte> bytes) {
  ValueReader in(bytes);
  const size_t place = in.count();
  const std::string text = in.text();
  in.expect_end();
  throw_at(place, text);
}

}  // namespace nyala::detail
