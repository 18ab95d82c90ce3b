#include <atomic>
#include <cstring>
#include <string>
#include <utility>

#include <hdf5.h>

#include <nyala/backend/core/error.h>
#include <nyala/files/hdf5/memory_file.h>

namespace nyala::hdf5 {

void* MemoryFile::allocate(size_t size, int operation, void* user) {
  void* data = std::malloc(size);
  if (operation == H5FD_FILE_IMAGE_OP_FILE_OPEN) static_cast<Capture*>(user)->size = size;
  return data;
}

void* MemoryFile::reallocate(void* data, size_t size, int operation, void* user) {
  void* moved = std::realloc(data, size);
  if (moved != nullptr && operation == H5FD_FILE_IMAGE_OP_FILE_RESIZE)
    static_cast<Capture*>(user)->size = size;
  return moved;
}

int MemoryFile::release(void* data, int operation, void* user) {
  auto& capture = *static_cast<Capture*>(user);
  if (capture.keeps && operation == H5FD_FILE_IMAGE_OP_FILE_CLOSE) {
    capture.data = data;
  } else {
    std::free(data);
  }
  return 0;
}

MemoryFile::MemoryFile() {
  constexpr size_t kIncrement = size_t{1} << 20;
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "prepare a file");
  check_call(H5Pset_fapl_core(access, kIncrement, 0), "use memory as a file");
  check_call(H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST), "choose a format version");
  H5FD_file_image_callbacks_t callbacks{};
  callbacks.image_malloc = [](size_t size, H5FD_file_image_op_t operation, void* user) {
    return allocate(size, operation, user);
  };
  callbacks.image_realloc = [](void* data, size_t size, H5FD_file_image_op_t operation, void* user) {
    return reallocate(data, size, operation, user);
  };
  callbacks.image_free = [](void* data, H5FD_file_image_op_t operation, void* user) -> herr_t {
    return release(data, operation, user);
  };
  callbacks.udata_copy = [](void* user) { return user; };
  callbacks.udata_free = [](void*) -> herr_t { return 0; };
  callbacks.udata = capture_.get();
  check_call(H5Pset_file_image_callbacks(access, &callbacks), "use memory as a file");
  // libhdf5 takes two files in memory of one name for the same file.
  static std::atomic<uint64_t> counter{0};
  const std::string name = "nyala-" + std::to_string(counter++);
  file_ = Handle(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), H5Fclose, "create a file");
}

MemoryFile::Buffer MemoryFile::close(size_t& size) {
  check_call(H5Fflush(file_, H5F_SCOPE_GLOBAL), "finish a file");
  const ssize_t written = H5Fget_file_image(file_, nullptr, 0);
  check_call(written < 0 ? -1 : 0, "measure a file");
  size = static_cast<size_t>(written);
  capture_->keeps = true;
  file_.reset();
  Buffer buffer(std::exchange(capture_->data, nullptr));
  if (!buffer) throw Error("libhdf5 did not hand over the file that it built");
  if (capture_->size < size) {
    void* grown = std::realloc(buffer.get(), size);
    if (grown == nullptr)
      throw OutOfMemoryError("no memory for a file of " + std::to_string(size) + " bytes");
    buffer.release();
    buffer.reset(grown);
    std::memset(static_cast<std::byte*>(grown) + capture_->size, 0, size - capture_->size);
  }
  return buffer;
}

}  // namespace nyala::hdf5
