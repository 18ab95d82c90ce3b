#pragma once

#include <cstdlib>
#include <memory>
#include <span>

#include <nyala/files/hdf5/library.h>

namespace nyala::hdf5 {

/// A file that libhdf5 builds in memory and whose buffer can be taken over without a copy. No disk is
/// involved, so libhdf5 never meets a failing one (after a failed close it can hang at exit). Use under
/// LibraryLock.
class MemoryFile {
 public:
  /// An empty file with superblock 0. Throws Error.
  MemoryFile();

  Id id() const { return file_; }

  struct Free {
    void operator()(void* data) const { std::free(data); }
  };
  using Buffer = std::unique_ptr<void, Free>;

  /// Closes the file and returns its buffer; sets `size` to the bytes of the file. Throws Error.
  Buffer close(size_t& size);

 private:
  /// What the callbacks of libhdf5 share with this object.
  struct Capture {
    bool keeps = false;
    void* data = nullptr;
    size_t size = 0;
  };

  static void* allocate(size_t size, int operation, void* user);
  static void* reallocate(void* data, size_t size, int operation, void* user);
  static int release(void* data, int operation, void* user);

  std::unique_ptr<Capture> capture_ = std::make_unique<Capture>();
  Handle file_;
};

}  // namespace nyala::hdf5
