#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include <nyala/strategies/parameter_server/parameter_transport.h>

namespace nyala::detail {

/// Throws CommunicationError where they are more than 64 bits count.
uint64_t total_bytes(const SentBytes& pieces);
uint64_t total_bytes(const ReceivedBytes& places);

/// Throws InvalidArgumentError where it is longer than kMaxParameterHeader.
void check_parameter_header(const std::string& header);

/// Reads pieces of memory one after another.
class ByteReader {
 public:
  explicit ByteReader(SentBytes pieces) : left_(total_bytes(pieces)), pieces_(std::move(pieces)) {}

  uint64_t left() const { return left_; }
  /// Throws CommunicationError where fewer are left.
  void read(std::span<std::byte> to);

 private:
  uint64_t left_;
  SentBytes pieces_;
  size_t piece_ = 0, offset_ = 0;
};

/// Fills places of memory one after another.
class ByteWriter {
 public:
  ByteWriter() = default;
  explicit ByteWriter(ReceivedBytes places) : left_(total_bytes(places)), places_(std::move(places)) {}

  uint64_t left() const { return left_; }
  /// Throws CommunicationError where `from` has fewer bytes left, or the places have.
  void write(ByteReader& from, uint64_t count);

 private:
  uint64_t left_ = 0;
  ReceivedBytes places_;
  size_t place_ = 0, offset_ = 0;
};

}  // namespace nyala::detail
