#include <nyala/strategies/parameter_server/parameter_bytes.h>

#include <algorithm>
#include <cstring>

#include <nyala/backend/core/error.h>

namespace nyala::detail {

namespace {

template <class Spans>
uint64_t sum_of_sizes(const Spans& spans) {
  uint64_t sum = 0;
  for (const auto& span : spans)
    if (__builtin_add_overflow(sum, uint64_t{span.size()}, &sum))
      throw CommunicationError("parameter server: more bytes than 64 bits count");
  return sum;
}

void check_left(uint64_t left, uint64_t wanted, const char* of) {
  if (left < wanted)
    throw CommunicationError("parameter server: " + std::to_string(wanted) + " bytes of " + of + " with " +
                             std::to_string(left) + " left");
}

}  // namespace

uint64_t total_bytes(const SentBytes& pieces) { return sum_of_sizes(pieces); }
uint64_t total_bytes(const ReceivedBytes& places) { return sum_of_sizes(places); }

void check_parameter_header(const std::string& header) {
  if (header.size() > kMaxParameterHeader)
    throw InvalidArgumentError("parameter server: a header of " + std::to_string(header.size()) +
                               " bytes, at most " + std::to_string(kMaxParameterHeader));
}

void ByteReader::read(std::span<std::byte> to) {
  check_left(left_, to.size(), "pieces");
  left_ -= to.size();
  while (!to.empty()) {
    const std::span<const std::byte> piece = pieces_[piece_].subspan(offset_);
    const size_t count = std::min(piece.size(), to.size());
    if (count > 0) std::memcpy(to.data(), piece.data(), count);
    to = to.subspan(count);
    offset_ += count;
    if (offset_ == pieces_[piece_].size()) ++piece_, offset_ = 0;
  }
}

void ByteWriter::write(ByteReader& from, uint64_t count) {
  check_left(left_, count, "places");
  check_left(from.left(), count, "pieces");
  left_ -= count;
  while (count > 0) {
    const std::span<std::byte> place = places_[place_].subspan(offset_);
    const size_t part = static_cast<size_t>(std::min<uint64_t>(place.size(), count));
    from.read(place.first(part));
    count -= part;
    offset_ += part;
    if (offset_ == places_[place_].size()) ++place_, offset_ = 0;
  }
}

}  // namespace nyala::detail
