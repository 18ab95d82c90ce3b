#include <type_traits>
#include <utility>

#include <hdf5.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/out_of_memory.h>
#include <nyala/backend/runtime/library_memory.h>
#include <nyala/backend/runtime/proven_room.h>
#include <nyala/files/hdf5/library.h>

namespace nyala::hdf5 {
namespace {

static_assert(std::is_same_v<hid_t, Id> && std::is_same_v<herr_t, int>);

/// Never destroyed: writers may still end while the process exits.
RecursiveMutex& library_mutex() {
  static auto* mutex = new RecursiveMutex(Mutex::AtFork::is_waited);
  return *mutex;
}

struct Reason {
  std::string text = {};
  bool is_memory = false;
};

/// The innermost reason on libhdf5's error stack. All files are written in memory: what it cannot allocate is
/// never room on a disk.
Reason library_reason() {
  Reason reason;
  const H5E_walk2_t look = [](unsigned, const H5E_error2_t* entry, void* out) -> herr_t {
    auto& found = *static_cast<Reason*>(out);
    if (found.text.empty() && entry->desc != nullptr) found.text = entry->desc;
    found.is_memory = found.is_memory || entry->min_num == H5E_NOSPACE || entry->min_num == H5E_CANTALLOC;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, look, &reason);
  if (reason.text.empty()) reason.text = "no reason given";
  return reason;
}

[[noreturn]] void fail(const std::string& what) {
  const Reason reason = library_reason();
  const std::string text = "libhdf5 cannot " + what + ": " + reason.text;
  if (reason.is_memory) throw OutOfMemoryError(text);
  throw Error(text);
}

void prove_room() {
  [[maybe_unused]] static const bool guarded = [] {
    guard_library_memory("libhdf5");
    return true;
  }();
  if (fill_memory_reserve() && has_room(kMemoryReserve)) return;
  { const ProvenRoom room(kMemoryReserve, "libhdf5"); }
  if (!fill_memory_reserve()) throw_out_of_memory([] { return "no room for what libhdf5 needs"; });
}

}  // namespace

LibraryLock::LibraryLock(Room room) : lock_(library_mutex()) {
  if (room == Room::is_proven) prove_room();
  H5Eget_auto2(H5E_DEFAULT, &print_, &client_data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

LibraryLock::~LibraryLock() { H5Eset_auto2(H5E_DEFAULT, print_, client_data_); }

Handle::Handle(Id id, Close close, const std::string& what) : id_(id), close_(close) {
  if (id < 0) fail(what);
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
  if (result < 0) fail(what);
}

}  // namespace nyala::hdf5
