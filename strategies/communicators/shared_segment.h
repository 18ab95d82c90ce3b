#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nyala::detail {

/// Memory that several processes of one user see: a memfd that nobody can shrink or grow.
class SharedSegment {
 public:
  /// Makes one; all bytes are zero. Throws OutOfMemoryError.
  explicit SharedSegment(size_t bytes);
  /// Opens the one that name() of another process says. Throws CommunicationError where there is none any
  /// more (its process has ended), or it is another one's: of another size, another user, or not sealed.
  SharedSegment(std::string_view name, size_t bytes);
  ~SharedSegment();
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;

  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  /// Names it to other processes until forget_name().
  std::string name() const;
  void forget_name();

 private:
  void map(int descriptor);

  size_t bytes_;
  std::byte* data_ = nullptr;
  int descriptor_ = -1;
};

}  // namespace nyala::detail
