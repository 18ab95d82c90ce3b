#include <type_traits>
#include <utility>

#include <hdf5.h>

#include <nyala/backend/core/error.h>
#include <nyala/files/hdf5/library.h>

namespace nyala::hdf5 {
namespace {

static_assert(std::is_same_v<hid_t, Id> && std::is_same_v<herr_t, int>);

/// Never destroyed: writers may still end while the process exits.
RecursiveMutex& library_mutex() {
  static auto* mutex = new RecursiveMutex(Mutex::AtFork::is_waited);
  return *mutex;
}

/// The innermost reason on libhdf5's error stack.
std::string library_reason() {
  std::string reason;
  const H5E_walk2_t keep_first = [](unsigned, const H5E_error2_t* entry, void* out) -> herr_t {
    auto& text = *static_cast<std::string*>(out);
    if (text.empty() && entry->desc != nullptr) text = entry->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &reason);
  return reason.empty() ? "no reason given" : reason;
}

}  // namespace

LibraryLock::LibraryLock() : lock_(library_mutex()) {
  H5Eget_auto2(H5E_DEFAULT, &print_, &client_data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

LibraryLock::~LibraryLock() { H5Eset_auto2(H5E_DEFAULT, print_, client_data_); }

Handle::Handle(Id id, Close close, const std::string& what) : id_(id), close_(close) {
  if (id < 0) throw Error("libhdf5 cannot " + what + ": " + library_reason());
}

Handle::Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}

Handle& Handle::operator=(Handle&& other) noexcept {
  std::swap(id_, other.id_);
  std::swap(close_, other.close_);
  return *this;
}

void Handle::reset() {
  if (id_ >= 0) close_(std::exchange(id_, -1));
}

void check_call(int result, const std::string& what) {
  if (result < 0) throw Error("libhdf5 cannot " + what + ": " + library_reason());
}

}  // namespace nyala::hdf5
