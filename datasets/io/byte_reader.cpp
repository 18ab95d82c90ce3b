// Plain files and gzip by one interface: the first two bytes say which (RFC 1952), members of a gzip file
// follow each other as one stream. What comes out is counted against a limit, since a small file may unpack
// to anything.
#include <nyala/datasets/io/byte_reader.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <zlib.h>

#include <nyala/backend/core/error.h>
#include <nyala/files/base/file_errors.h>

namespace nyala::datasets {

namespace {

constexpr int kGzipWindow = 16 + MAX_WBITS;

}  // namespace

struct ByteReader::State {
  std::filesystem::path path;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{nullptr, std::fclose};
  uint64_t file_size = 0;
  uint64_t max_bytes = kNoLimit;
  uint64_t position = 0;
  bool compressed = false;
  bool in_member = false;  // inside a gzip member: the end of the file here is a truncation
  bool at_end = false;
  z_stream stream{};
  std::array<uint8_t, size_t{1} << 16> input;

  State(const std::filesystem::path& p, uint64_t limit);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  size_t read_plain(std::span<uint8_t> out);
  size_t read_gzip(std::span<uint8_t> out);
  bool refill();
  void start_member();
  [[noreturn]] void damaged(const std::string& reason) const;
};

ByteReader::State::State(const std::filesystem::path& p, uint64_t limit) : path(p), max_bytes(limit) {
  (void)checked_path(path.string());
  std::error_code code;
  const std::filesystem::file_status status = std::filesystem::status(path, code);
  if (std::filesystem::is_directory(status))
    throw IoError(path.string() + ": expected a file, found a folder");
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    throw IoError(path.string() + ": expected a regular file, found a pipe or a device");
  file.reset(std::fopen(path.c_str(), "rb"));
  if (!file) throw_file_error(path.string() + ": cannot open the file", errno);
  const uintmax_t size = std::filesystem::file_size(path, code);
  file_size = code ? 0 : size;
  stream.next_in = input.data();
  refill();
  compressed = stream.avail_in >= 2 && input[0] == 0x1f && input[1] == 0x8b;
  if (!compressed) return;
  if (inflateInit2(&stream, kGzipWindow) != Z_OK)
    throw OutOfMemoryError(path.string() + ": no memory for the gzip decoder");
  in_member = true;
}

ByteReader::State::~State() {
  if (compressed) inflateEnd(&stream);
}

void ByteReader::State::damaged(const std::string& reason) const {
  throw FileFormatError(path.string() + ": the gzip stream is damaged after " + std::to_string(position) +
                        " unpacked bytes: " + reason);
}

/// True if there is input, read now or left over.
bool ByteReader::State::refill() {
  if (stream.avail_in > 0) return true;
  const size_t count = std::fread(input.data(), 1, input.size(), file.get());
  if (std::ferror(file.get())) throw_file_error(path.string() + ": cannot read the file", errno);
  stream.next_in = input.data();
  stream.avail_in = static_cast<uInt>(count);
  return count > 0;
}

size_t ByteReader::State::read_plain(std::span<uint8_t> out) {
  size_t filled = 0;
  while (filled < out.size() && refill()) {
    const size_t count = std::min<size_t>(out.size() - filled, stream.avail_in);
    std::memcpy(out.data() + filled, stream.next_in, count);
    stream.next_in += count;
    stream.avail_in -= static_cast<uInt>(count);
    filled += count;
  }
  return filled;
}

void ByteReader::State::start_member() {
  if (!refill()) {
    at_end = true;
    return;
  }
  if (*stream.next_in != 0x1f) damaged("found bytes after its end that are no gzip member");
  inflateReset2(&stream, kGzipWindow);
  in_member = true;
}

size_t ByteReader::State::read_gzip(std::span<uint8_t> out) {
  size_t filled = 0;
  while (filled < out.size() && !at_end) {
    if (!in_member) {
      start_member();
      continue;
    }
    if (!refill()) damaged("the file ends too early (" + std::to_string(file_size) + " bytes)");
    const uInt room = static_cast<uInt>(std::min<size_t>(out.size() - filled, size_t{1} << 30));
    stream.next_out = out.data() + filled;
    stream.avail_out = room;
    const int status = inflate(&stream, Z_NO_FLUSH);
    const size_t produced = room - stream.avail_out;
    filled += produced;
    position += produced;
    if (status == Z_STREAM_END)
      in_member = false;
    else if (status == Z_MEM_ERROR)
      throw OutOfMemoryError(path.string() + ": no memory for the gzip decoder");
    else if (status != Z_OK && status != Z_BUF_ERROR)
      damaged(stream.msg ? stream.msg : "unknown stream");
  }
  position -= filled;
  return filled;
}

ByteReader::ByteReader(const std::filesystem::path& path, uint64_t max_bytes)
    : state_(std::make_unique<State>(path, max_bytes)) {}
ByteReader::~ByteReader() = default;
ByteReader::ByteReader(ByteReader&&) noexcept = default;
ByteReader& ByteReader::operator=(ByteReader&&) noexcept = default;

size_t ByteReader::read(std::span<uint8_t> out) {
  const size_t count = state_->compressed ? state_->read_gzip(out) : state_->read_plain(out);
  state_->position += count;
  if (state_->position > state_->max_bytes)
    throw FileFormatError(path().string() + ": expected at most " + std::to_string(state_->max_bytes) +
                          " bytes" + (is_compressed() ? " after unpacking" : "") + ", found more");
  return count;
}

void ByteReader::read_exactly(std::span<uint8_t> out, std::string_view what) {
  const size_t count = read(out);
  if (count == out.size()) return;
  throw FileFormatError(path().string() + ": expected " + std::to_string(out.size()) + " bytes of " +
                        std::string(what) + ", found " + std::to_string(count) +
                        " before the end of the file");
}

void ByteReader::skip(uint64_t count, std::string_view what) {
  std::array<uint8_t, 4096> dropped;
  while (count > 0) {
    const size_t step = static_cast<size_t>(std::min<uint64_t>(count, dropped.size()));
    read_exactly({dropped.data(), step}, what);
    count -= step;
  }
}

void ByteReader::expect_end(std::string_view what) {
  const uint64_t expected = position();
  uint64_t extra = 0;
  std::array<uint8_t, 4096> bytes;
  while (const size_t count = read(bytes)) extra += count;
  if (extra == 0) return;
  throw FileFormatError(path().string() + ": expected " + std::to_string(expected) + " bytes of " +
                        std::string(what) + ", found " + std::to_string(expected + extra));
}

uint64_t ByteReader::position() const { return state_->position; }
uint64_t ByteReader::file_size() const { return state_->file_size; }
bool ByteReader::is_compressed() const { return state_->compressed; }
const std::filesystem::path& ByteReader::path() const { return state_->path; }

}  // namespace nyala::datasets
