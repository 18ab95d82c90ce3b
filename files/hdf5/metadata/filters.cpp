// HDF5 File Format Specification 3.0, section IV.A.2.l: the filters of the pipeline undone from the last to
// the first, those in a chunk's mask left out. How many bytes each must give is known before (a checksum adds
// 4), so that inflating is given exactly that room, and a size that deflate cannot reach is refused before
// memory is taken.
#include <algorithm>
#include <zlib.h>

#include <nyala/files/hdf5/base/checksum.h>
#include <nyala/files/hdf5/base/limits.h>
#include <nyala/files/hdf5/metadata/filters.h>

namespace nyala::hdf5 {
namespace {

using Bytes = std::span<const std::byte>;

constexpr uint64_t kChecksumBytes = 4;

std::string name_of_filter(uint16_t id) {
  switch (id) {
    case 4:
      return "szip";
    case 5:
      return "nbit";
    case 6:
      return "scaleoffset";
    case 307:
      return "bzip2";
    case 32000:
      return "lzf";
    case 32001:
      return "blosc";
    case 32004:
      return "lz4";
    case 32015:
      return "zstd";
    default:
      return "number " + std::to_string(id);
  }
}

void inflate_exactly(Bytes data, std::span<std::byte> out) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) throw Fault{kNoOffset, "zlib cannot start"};
  // zlib's input is not const, but not written either.
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int code = inflate(&stream, Z_FINISH);
  const bool is_exact = code == Z_STREAM_END && stream.avail_out == 0;
  inflateEnd(&stream);
  if (!is_exact)
    throw Fault{kNoOffset, "a compressed chunk does not inflate to its " + std::to_string(out.size()) +
                               " bytes: damaged"};
}

/// All first bytes of the elements stand together, then all second ones; what is left over follows unchanged.
void unshuffle(Bytes data, uint64_t element_size, std::span<std::byte> out) {
  const uint64_t count = data.size() / element_size;
  for (uint64_t byte = 0; byte < element_size; ++byte)
    for (uint64_t i = 0; i < count; ++i) out[i * element_size + byte] = data[byte * count + i];
  const auto rest = static_cast<std::ptrdiff_t>(count * element_size);
  std::copy(data.begin() + rest, data.end(), out.begin() + rest);
}

Bytes strip_fletcher32(Bytes data) {
  if (data.size() < kChecksumBytes) throw Fault{kNoOffset, "a chunk too short for its checksum"};
  const Bytes content = data.first(data.size() - kChecksumBytes);
  uint32_t stored = 0;
  for (size_t i = 0; i < kChecksumBytes; ++i)
    stored |= std::to_integer<uint32_t>(data[content.size() + i]) << (8 * i);
  const uint32_t computed = fletcher32(content);
  // libhdf5 before 1.6.3 on little-endian machines swapped the bytes of both halves.
  const uint32_t swapped = ((computed & 0x00ff00ffu) << 8) | ((computed >> 8) & 0x00ff00ffu);
  if (stored != computed && stored != swapped)
    throw Fault{kNoOffset, "the fletcher32 checksum of a chunk does not match: damaged"};
  return content;
}

}  // namespace

FilterPipeline::FilterPipeline(Cursor body) {
  const uint8_t version = body.u8();
  if (version != 1 && version != 2) body.fail("filters of unknown version " + std::to_string(version));
  const int count = body.u8();
  if (count > 32) body.fail("more than 32 filters");
  if (version == 1) body.skip(6);
  int deflates = 0;
  for (int i = 0; i < count; ++i) {
    const uint64_t at = body.position();
    const uint16_t id = body.u16();
    const uint64_t name_size = version == 1 || id >= 256 ? body.u16() : 0;
    body.skip(2);  // flags
    const uint64_t values = body.u16();
    body.skip(version == 1 ? (name_size + 7) / 8 * 8 : name_size);
    Cursor parameters = body.take(4 * values, "filter parameters");
    if (version == 1 && values % 2 == 1) body.skip(4);
    if (id < 1 || id > 3)
      throw Fault{at, "data behind the filter " + name_of_filter(id) +
                          " (only deflate, shuffle and fletcher32 are supported)"};
    Filter filter{static_cast<Kind>(id), 1};
    if (filter.kind == Kind::shuffle) filter.element_size = parameters.u32();
    if (filter.element_size == 0) throw Fault{at, "a shuffle filter for elements of 0 bytes"};
    if (filter.kind == Kind::deflate && ++deflates > 1) throw Fault{at, "two deflate filters"};
    filters_.push_back(filter);
  }
}

Bytes FilterPipeline::decode(Bytes stored, uint32_t mask, uint64_t size) {
  const auto is_applied = [mask](size_t i) { return (mask >> i & 1u) == 0; };
  Bytes data = stored;
  for (size_t i = filters_.size(); i-- > 0;) {
    if (!is_applied(i)) continue;
    // What deflate got was larger than the chunk by the checksums added before it.
    uint64_t inflated = size;
    for (size_t j = 0; j < i; ++j)
      if (is_applied(j) && filters_[j].kind == Kind::fletcher32) inflated += kChecksumBytes;
    data = undo(filters_[i], data, inflated);
  }
  if (data.size() != size)
    throw Fault{kNoOffset,
                "a chunk holds " + std::to_string(data.size()) + " bytes, expected " + std::to_string(size)};
  return data;
}

Bytes FilterPipeline::undo(const Filter& filter, Bytes data, uint64_t size) {
  if (filter.kind == Kind::fletcher32) return strip_fletcher32(data);
  // One element, or one byte per element, is the same shuffled.
  if (filter.kind == Kind::shuffle && (filter.element_size == 1 || filter.element_size >= data.size()))
    return data;
  const bool inflates = filter.kind == Kind::deflate;
  if (inflates && (size > UINT32_MAX || data.size() > UINT32_MAX || size / kMaxDeflateRatio > data.size()))
    throw Fault{kNoOffset, "a chunk of " + std::to_string(data.size()) + " bytes cannot inflate to " +
                               std::to_string(size)};
  // The input may lie in the other buffer.
  std::vector<std::byte>& out = buffers_[next_buffer_];
  next_buffer_ = 1 - next_buffer_;
  out.resize(inflates ? size : data.size());
  if (inflates) {
    inflate_exactly(data, out);
  } else {
    unshuffle(data, filter.element_size, out);
  }
  return out;
}

}  // namespace nyala::hdf5
