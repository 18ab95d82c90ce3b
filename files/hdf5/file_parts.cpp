// A file as its head and a list of tensors: sent to a disk or an archive piece by piece; checksums that are
// wanted are taken on the way. So what is saved is in memory once, not twice.
#include <algorithm>
#include <array>
#include <cstring>

#include <nyala/files/base/atomic_file.h>
#include <nyala/files/base/crc32c.h>
#include <nyala/files/hdf5/file_parts.h>

namespace nyala::hdf5 {
namespace {

/// Logical CPU devices share the host's memory.
Tensor on_host(const Tensor& values) {
  return values.device().kind == DeviceKind::cpu ? values : values.to(Device(DeviceKind::cpu, 0));
}

}  // namespace

uint64_t FileParts::append(const Tensor& values) {
  const uint64_t begin = (size_ + kAlignment - 1) / kAlignment * kAlignment;
  values_.push_back({begin, values});
  size_ = begin + values.bytes();
  return begin;
}

void FileParts::add_checksum(uint64_t place) {
  values_.back().checksum = place;
  has_checksums_ = true;
}

/// Checksums go into the head on the way, of pieces that stay in the cache between the sum and the sink.
void FileParts::send_values(const Sink& sink) const {
  constexpr size_t kPiece = size_t{256} << 10;
  static constexpr std::array<std::byte, kAlignment> kZeros{};
  uint64_t position = head_.size();
  for (const Values& values : values_) {
    if (values.begin > position) sink(std::span(kZeros).first(values.begin - position));
    const Tensor host = on_host(values.tensor);
    const std::span<const std::byte> bytes(static_cast<const std::byte*>(host.raw()), host.bytes());
    const size_t step = values.checksum == kNone ? bytes.size() : kPiece;
    uint32_t sum = 0;
    for (size_t begin = 0; begin < bytes.size(); begin += step) {
      const auto piece = bytes.subspan(begin, std::min(step, bytes.size() - begin));
      if (values.checksum != kNone) sum = crc32c(sum, piece);
      sink(piece);
    }
    for (size_t i = 0; values.checksum != kNone && i < sizeof sum; ++i)
      head_[values.checksum + i] = static_cast<std::byte>(sum >> (8 * i) & 0xff);
    position = values.begin + host.bytes();
  }
}

void FileParts::send(const Sink& sink) const {
  if (has_checksums_) send_values([](std::span<const std::byte>) {});
  sink(head_);
  send_values(sink);
}

void FileParts::send(AtomicFile& file) const {
  file.write(head_);
  send_values([&](std::span<const std::byte> bytes) { file.write(bytes); });
  if (has_checksums_) file.rewrite(0, head_);
}

FileImage FileParts::join() const {
  const std::shared_ptr<std::byte[]> all(new std::byte[size_]);
  uint64_t position = 0;
  send([&](std::span<const std::byte> bytes) {
    std::memcpy(all.get() + position, bytes.data(), bytes.size());
    position += bytes.size();
  });
  return {{all.get(), size_}, all};
}

}  // namespace nyala::hdf5
