#include <nyala/strategies/parameter_server/server_message.h>

#include <bit>

#include <nyala/strategies/control/message_bytes.h>
#include <nyala/strategies/parameter_server/parameter_transport.h>

namespace nyala::detail {

namespace {

constexpr uint32_t kParameterForm = 0x4e790105;
constexpr std::string_view kWho = "parameter server: ";

void write_numbers(MessageWriter& out, const std::vector<uint64_t>& numbers) {
  out.count(numbers.size(), kMaxParameterCounts, "counts");
  for (const uint64_t number : numbers) out.number(number);
}

DType read_dtype(MessageReader& in) { return DType(in.kind(DType::Code::float16)); }

/// An axis, where all of them together stay a number of bytes.
int64_t read_axis(MessageReader& in, uint64_t& bytes) {
  const int64_t size = in.number<int64_t>();
  if (size < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes) || bytes >> 48 != 0)
    in.fail("a shape that no memory has");
  return size;
}

/// How many rows of a table a message speaks of, each named once.
int64_t read_rows(MessageReader& in, const Shape& table) {
  const int64_t rows = in.number<int64_t>();
  if (table.rank() == 0 || rows < 0 || rows > table[0]) in.fail("more rows than the table has");
  return rows;
}

}  // namespace

void write_names(MessageWriter& out, const std::vector<std::string>& names) {
  out.count(names.size(), kMaxParameterEntries, "names");
  for (const std::string& name : names) out.text(name, kMaxParameterName, "a name");
}

std::vector<std::string> read_names(MessageReader& in) {
  std::vector<std::string> names;
  for (uint32_t left = in.count(kMaxParameterEntries); left > 0; --left)
    names.push_back(in.text(kMaxParameterName));
  return names;
}

void write_entries(MessageWriter& out, const std::vector<ParameterEntry>& entries) {
  out.count(entries.size(), kMaxParameterEntries, "entries");
  for (const ParameterEntry& entry : entries) {
    out.text(entry.name, kMaxParameterName, "the name of a variable");
    out.number(static_cast<uint8_t>(entry.dtype.index()));
    out.number(static_cast<uint8_t>((entry.trainable ? 1 : 0) | (entry.is_there ? 2 : 0) |
                                    (entry.is_share ? 4 : 0) | (entry.is_table() ? 8 : 0)));
    out.number(static_cast<uint8_t>(entry.shape.rank()));
    for (int axis = 0; axis < entry.shape.rank(); ++axis) out.number(entry.shape[axis]);
    if (entry.is_table()) out.number(entry.rows);
  }
}

std::vector<ParameterEntry> read_entries(MessageReader& in) {
  std::vector<ParameterEntry> entries;
  for (uint32_t left = in.count(kMaxParameterEntries); left > 0; --left) {
    ParameterEntry entry{.name = in.text(kMaxParameterName), .dtype = read_dtype(in)};
    const uint8_t flags = in.number<uint8_t>();
    entry.trainable = (flags & 1) != 0;
    entry.is_there = (flags & 2) != 0;
    entry.is_share = (flags & 4) != 0;
    const uint8_t rank = in.number<uint8_t>();
    if (rank > Shape::kMaxRank) in.fail("a shape of more axes than there are");
    std::vector<int64_t> sizes;
    uint64_t bytes = static_cast<uint64_t>(size_of(entry.dtype));
    while (sizes.size() < rank) sizes.push_back(read_axis(in, bytes));
    entry.shape = Shape(sizes);
    if ((flags & 8) != 0) entry.rows = read_rows(in, entry.shape);
    entries.push_back(std::move(entry));
  }
  return entries;
}

void write_piece(MessageWriter& out, const StepPiece& piece) {
  out.number(piece.id);
  out.number(piece.attempt);
  out.number(static_cast<uint32_t>(piece.piece));
  out.number(static_cast<uint32_t>(piece.pieces));
  out.number(piece.part);
}

StepPiece read_piece(MessageReader& in) {
  StepPiece piece{.id = in.number<uint64_t>(), .attempt = in.number<int64_t>()};
  const auto index = in.number<uint32_t>(), pieces = in.number<uint32_t>();
  if (pieces > StepPiece::kMost || index > pieces) in.fail("a piece that no step has");
  piece.piece = static_cast<int>(index);
  piece.pieces = static_cast<int>(pieces);
  piece.part = in.number<int64_t>();
  return piece;
}

uint64_t ParameterEntry::bytes_of_rows() const {
  const uint64_t row = static_cast<uint64_t>(shape.slice(1, shape.rank()).num_elements());
  return static_cast<uint64_t>(rows) * row * static_cast<uint64_t>(size_of(dtype));
}

uint64_t ParameterEntry::bytes() const {
  if (is_table()) return static_cast<uint64_t>(rows) * sizeof(int64_t) + bytes_of_rows();
  return static_cast<uint64_t>(shape.num_elements()) * static_cast<uint64_t>(size_of(dtype));
}

uint64_t whole_bytes(const std::vector<ParameterEntry>& entries) {
  uint64_t total = 0;
  for (const ParameterEntry& entry : entries) total += entry.is_table() ? 0 : entry.bytes();
  return total;
}

uint64_t payload_bytes(const std::vector<ParameterEntry>& entries) {
  uint64_t total = 0;
  for (const ParameterEntry& entry : entries) total += entry.bytes();
  return total;
}

uint64_t sent_bytes(const std::vector<ParameterEntry>& entries) {
  uint64_t total = 0;
  for (const ParameterEntry& entry : entries) total += entry.is_there || entry.is_table() ? entry.bytes() : 0;
  return total;
}

std::string encode(const ParameterRequest& request) {
  MessageWriter out(kWho, kParameterForm);
  out.number(static_cast<uint8_t>(request.kind));
  out.number(request.job);
  out.number(request.process);
  out.number(request.id);
  out.number(request.seen);
  write_piece(out, request.piece);
  out.text(request.rule, kMaxParameterName, "a rule");
  out.number(std::bit_cast<uint64_t>(request.number));
  out.text(request.text, kMaxParameterText, "a text");
  write_names(out, request.names);
  write_entries(out, request.entries);
  return std::move(out).take();
}

std::string encode(const ParameterReply& reply) {
  MessageWriter out(kWho, kParameterForm);
  out.number(reply.version);
  out.number(reply.life);
  out.number(std::bit_cast<uint64_t>(reply.number));
  out.text(reply.text, kMaxParameterText, "a text");
  write_entries(out, reply.entries);
  write_numbers(out, reply.counts);
  write_names(out, reply.names);
  return std::move(out).take();
}

ParameterRequest decode_parameter_request(std::string_view bytes) {
  MessageReader in(kWho, bytes, kMaxParameterHeader);
  in.expect_form(kParameterForm);
  ParameterRequest request;
  request.kind = in.kind(ParameterCallKind::stop);
  request.job = in.number<uint64_t>();
  request.process = in.number<uint64_t>();
  request.id = in.number<uint64_t>();
  request.seen = in.number<uint64_t>();
  request.piece = read_piece(in);
  request.rule = in.text(kMaxParameterName);
  request.number = std::bit_cast<double>(in.number<uint64_t>());
  request.text = in.text(kMaxParameterText);
  request.names = read_names(in);
  request.entries = read_entries(in);
  in.expect_end();
  return request;
}

ParameterReply decode_parameter_reply(std::string_view bytes) {
  MessageReader in(kWho, bytes, kMaxParameterHeader);
  in.expect_form(kParameterForm);
  ParameterReply reply;
  reply.version = in.number<uint64_t>();
  reply.life = in.number<uint64_t>();
  reply.number = std::bit_cast<double>(in.number<uint64_t>());
  reply.text = in.text(kMaxParameterText);
  reply.entries = read_entries(in);
  for (uint32_t left = in.count(kMaxParameterCounts); left > 0; --left)
    reply.counts.push_back(in.number<uint64_t>());
  reply.names = read_names(in);
  in.expect_end();
  return reply;
}

}  // namespace nyala::detail
