#include <nyala/files/hdf5/base/limits.h>
#include <nyala/files/hdf5/metadata/layout.h>

namespace nyala::hdf5 {
namespace {

constexpr uint8_t kCompact = 0, kContiguous = 1, kChunked = 2, kVirtual = 3;

/// Reads rank + 1 sizes, the last of which is that of an element.
void read_chunk_shape(Cursor& body, int bytes_per_size, uint64_t element_size, Layout& layout) {
  uint64_t bytes = element_size;
  for (uint64_t& size : layout.chunk) {
    size = body.uint(bytes_per_size);
    if (size == 0) body.fail("a chunk of size 0");
    bytes = checked_multiply(bytes, size, "size of a chunk");
  }
  if (bytes > UINT32_MAX)
    body.fail("chunks of " + std::to_string(bytes) + " bytes; the format allows less than 4 GiB");
  const uint64_t stored_element = body.uint(bytes_per_size);
  if (stored_element != element_size)
    body.fail("chunks of elements of " + std::to_string(stored_element) +
              " bytes in a dataset of elements of " + std::to_string(element_size));
  layout.chunk_bytes = bytes;
}

void expect_rank(Cursor& body, size_t rank) {
  const size_t found = body.u8();
  if (rank == 0 || found != rank + 1)
    body.fail("chunks of " + std::to_string(found) + " sizes in a dataset of " + std::to_string(rank) +
              " axes");
}

void read_chunked_v3(Cursor& body, uint64_t element_size, Layout& layout) {
  expect_rank(body, layout.chunk.size());
  layout.address = body.address();
  read_chunk_shape(body, 4, element_size, layout);
}

void read_chunked_v4(Cursor& body, uint64_t element_size, Layout& layout) {
  constexpr uint8_t kUnfilteredEdges = 1, kFilteredSingle = 2;
  const uint8_t flags = body.u8();
  layout.are_edge_chunks_unfiltered = (flags & kUnfilteredEdges) != 0;
  expect_rank(body, layout.chunk.size());
  const int bytes_per_size = body.u8();
  if (bytes_per_size < 1 || bytes_per_size > 8) body.fail("chunk sizes of impossible width");
  read_chunk_shape(body, bytes_per_size, element_size, layout);
  const uint8_t index = body.u8();
  switch (index) {
    case 1:
      layout.index = ChunkIndex::single;
      if ((flags & kFilteredSingle) != 0) {
        layout.single_size = body.length();
        layout.single_mask = body.u32();
        if (layout.single_size == 0) body.fail("a filtered chunk of 0 bytes");
      }
      break;
    case 2:
      layout.index = ChunkIndex::implicit;
      break;
    // What follows the kind is repeated in the header of the index itself.
    case 3:
      layout.index = ChunkIndex::fixed_array;
      body.skip(1);
      break;
    case 4:
      layout.index = ChunkIndex::extensible_array;
      body.skip(5);
      break;
    case 5:
      layout.index = ChunkIndex::btree_v2;
      body.skip(6);
      break;
    default:
      body.fail("a chunk index of the unknown kind " + std::to_string(index));
  }
  layout.address = body.address();
}

}  // namespace

Layout read_layout(const ObjectHeader& header, uint64_t element_size, size_t rank) {
  if (header.has(MessageType::external_files))
    throw Fault{header.address(), "its data lie in other files (external storage): refused"};
  Cursor body = header.body(MessageType::layout, "layout");
  const uint8_t version = body.u8();
  if (version != 3 && version != 4)
    body.fail("a layout of version " + std::to_string(version) + "; versions 3 and 4 are supported");
  Layout layout;
  const uint8_t kind = body.u8();
  if (kind == kCompact) {
    layout.size = body.u16();
    layout.address = body.take(layout.size, "compact data").begin();
  } else if (kind == kContiguous) {
    layout.address = body.address();
    layout.size = body.length();
  } else if (kind == kChunked) {
    layout.is_chunked = true;
    layout.chunk.resize(rank);
    version == 3 ? read_chunked_v3(body, element_size, layout) : read_chunked_v4(body, element_size, layout);
  } else if (kind == kVirtual) {
    body.fail("its data lie in other datasets (virtual dataset): refused");
  } else {
    body.fail("a layout of the unknown kind " + std::to_string(kind));
  }
  return layout;
}

}  // namespace nyala::hdf5
