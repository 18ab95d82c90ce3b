#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <nyala/files/hdf5/base/cursor.h>

namespace nyala::hdf5 {

/// The filters that a dataset's chunks went through when they were written, in that order.
class FilterPipeline {
 public:
  /// No filters.
  FilterPipeline() = default;
  /// Parses a filter message, versions 1 and 2. Throws Fault for every filter but deflate, shuffle and
  /// fletcher32, naming it.
  explicit FilterPipeline(Cursor body);

  bool empty() const { return filters_.empty(); }

  /// Undoes the filters of one chunk; bit i of `mask` says that filter i was not applied. Returns `stored`
  /// itself if there was none, else bytes that live in this object until the next call. Throws Fault if the
  /// result is not exactly `size` bytes, for a wrong checksum, and for sizes that deflate cannot reach.
  std::span<const std::byte> decode(std::span<const std::byte> stored, uint32_t mask, uint64_t size);

 private:
  enum class Kind : uint16_t { deflate = 1, shuffle = 2, fletcher32 = 3 };
  struct Filter {
    Kind kind;
    uint32_t element_size;  ///< of shuffle
  };

  std::span<const std::byte> undo(const Filter& filter, std::span<const std::byte> data, uint64_t size);

  std::vector<Filter> filters_;
  std::vector<std::byte> buffers_[2];
  size_t next_buffer_ = 0;
};

}  // namespace nyala::hdf5
