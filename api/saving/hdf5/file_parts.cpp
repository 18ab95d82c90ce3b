#include <array>
#include <cstring>

#include <nyala/api/saving/hdf5/file_parts.h>

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

void FileParts::send(const Sink& sink) const {
  static constexpr std::array<std::byte, kAlignment> kZeros{};
  sink(head_.bytes);
  uint64_t position = head_.bytes.size();
  for (const Values& values : values_) {
    if (values.begin > position) sink(std::span(kZeros).first(values.begin - position));
    const Tensor host = on_host(values.tensor);
    sink({static_cast<const std::byte*>(host.raw()), host.bytes()});
    position = values.begin + host.bytes();
  }
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
