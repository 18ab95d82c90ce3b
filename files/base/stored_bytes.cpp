#include <nyala/files/base/stored_bytes.h>

#include <algorithm>
#include <utility>

#include <nyala/backend/core/error.h>

namespace nyala {

StoredBytes::StoredBytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner)
    : owner_(std::move(owner)), memory_(bytes.data()), size_(bytes.size()) {}

StoredBytes::StoredBytes(std::shared_ptr<const FileBytes> file) : owner_(file), size_(file->size()) {
  if (file->in_memory())
    memory_ = file->part(0, size_).data();
  else
    file_ = std::move(file);
}

void StoredBytes::check_inside(uint64_t begin, uint64_t count) const {
  detail::check_internal(begin <= size_ && count <= size_ - begin, "bytes beyond the end were asked for");
}

StoredBytes StoredBytes::part(uint64_t begin, uint64_t count) const {
  check_inside(begin, count);
  StoredBytes part = *this;
  if (file_)
    part.begin_ += begin;
  else if (begin > 0)
    part.memory_ += begin;
  part.size_ = count;
  return part;
}

std::span<const std::byte> StoredBytes::bytes(uint64_t begin, uint64_t count) const {
  check_inside(begin, count);
  if (file_) return file_->part(begin_ + begin, count);
  return std::span(memory_, size_).subspan(begin, count);
}

std::span<const std::byte> StoredBytes::bytes(uint64_t begin, uint64_t count,
                                              std::vector<std::byte>& buffer) const {
  if (!file_) return bytes(begin, count);
  buffer.resize(count);
  read(begin, buffer);
  return buffer;
}

void StoredBytes::read(uint64_t begin, std::span<std::byte> out) const {
  check_inside(begin, out.size());
  if (file_)
    file_->read(begin_ + begin, out);
  else
    std::copy_n(memory_ + begin, out.size(), out.data());
}

void StoredBytes::for_each_piece(size_t piece,
                                 const std::function<void(std::span<const std::byte>)>& take) const {
  if (!file_) return take(bytes());
  std::vector<std::byte> buffer;
  for (uint64_t begin = 0; begin < size_; begin += piece)
    take(bytes(begin, std::min<uint64_t>(piece, size_ - begin), buffer));
}

}  // namespace nyala
