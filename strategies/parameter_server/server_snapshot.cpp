// A file of its own form, which only the next server of this version reads: a number for the form, the length
// of the header, the header, the elements of all tensors, and a CRC-32C of everything before it.
#include <nyala/strategies/parameter_server/server_snapshot.h>

#include <array>
#include <bit>
#include <cstring>

#include <nyala/backend/core/error.h>
#include <nyala/files/base/atomic_file.h>
#include <nyala/files/base/crc32c.h>
#include <nyala/files/base/file_bytes.h>
#include <nyala/strategies/control/message_bytes.h>

namespace nyala::detail {

namespace {

constexpr uint32_t kServerSnapshotForm = 0x4e790304;
constexpr std::string_view kSnapshotWho = "snapshot: ";
constexpr size_t kMaxSnapshotHeader = size_t{256} << 20, kMaxSnapshotRanges = size_t{1} << 24,
                 kMaxRuleText = 2 * kMaxParameterText;
constexpr size_t kFrontBytes = sizeof(uint64_t), kBackBytes = sizeof(uint32_t);

std::string header_of(const ServerSnapshot& snapshot) {
  MessageWriter out(kSnapshotWho, kServerSnapshotForm);
  out.number(snapshot.job);
  out.count(snapshot.past_jobs.size(), kMaxSnapshotRanges, "jobs");
  for (const uint64_t job : snapshot.past_jobs) out.number(job);
  out.number(snapshot.version);
  out.number(snapshot.mark);
  out.count(snapshot.rules.size(), kMaxParameterEntries, "rules");
  for (const ServerSnapshot::Rule& rule : snapshot.rules) {
    out.text(rule.name, kMaxParameterName, "the name of a rule");
    out.text(rule.text, kMaxParameterText, "a rule");
    write_names(out, rule.variables);
    write_names(out, rule.no_decay);
    write_entries(out, rule.state);
  }
  out.count(snapshot.applied.size(), kMaxSnapshotRanges, "processes");
  for (const auto& [process, ranges] : snapshot.applied) {
    out.number(process);
    out.count(ranges.size(), kMaxSnapshotRanges, "ranges");
    for (const auto& [first, last] : ranges) {
      out.number(first);
      out.number(last);
    }
  }
  write_entries(out, snapshot.variables);
  write_entries(out, snapshot.tables);
  out.count(snapshot.table_rules.size(), kMaxParameterEntries, "rules of tables");
  for (const std::string& rule : snapshot.table_rules) out.text(rule, kMaxRuleText, "a rule");
  out.number(snapshot.table_step);
  out.count(snapshot.table_rates.size(), kMaxSnapshotRanges, "rates");
  for (const auto& [step, rate] : snapshot.table_rates) {
    out.number(step);
    out.number(std::bit_cast<uint64_t>(rate));
  }
  return std::move(out).take();
}

void read_header(std::string_view bytes, ServerSnapshot& snapshot) {
  MessageReader in(kSnapshotWho, bytes, kMaxSnapshotHeader);
  in.expect_form(kServerSnapshotForm);
  snapshot.job = in.number<uint64_t>();
  for (uint32_t left = in.count(kMaxSnapshotRanges); left > 0; --left)
    snapshot.past_jobs.insert(in.number<uint64_t>());
  snapshot.version = in.number<uint64_t>();
  snapshot.mark = in.number<uint64_t>();
  for (uint32_t left = in.count(kMaxParameterEntries); left > 0; --left) {
    ServerSnapshot::Rule& rule = snapshot.rules.emplace_back();
    rule.name = in.text(kMaxParameterName);
    rule.text = in.text(kMaxParameterText);
    rule.variables = read_names(in);
    rule.no_decay = read_names(in);
    rule.state = read_entries(in);
  }
  for (uint32_t processes = in.count(kMaxSnapshotRanges); processes > 0; --processes) {
    auto& ranges = snapshot.applied[in.number<uint64_t>()];
    for (uint32_t left = in.count(kMaxSnapshotRanges); left > 0; --left) {
      const uint64_t first = in.number<uint64_t>();
      ranges[first] = in.number<uint64_t>();
    }
  }
  snapshot.variables = read_entries(in);
  snapshot.tables = read_entries(in);
  for (uint32_t left = in.count(kMaxParameterEntries); left > 0; --left)
    snapshot.table_rules.push_back(in.text(kMaxRuleText));
  snapshot.table_step = in.number<int64_t>();
  for (uint32_t left = in.count(kMaxSnapshotRanges); left > 0; --left) {
    const auto step = in.number<int64_t>();
    snapshot.table_rates.emplace_back(step, std::bit_cast<double>(in.number<uint64_t>()));
  }
  in.expect_end();
}

std::span<const std::byte> bytes_of_value(const Tensor& value) {
  return {static_cast<const std::byte*>(value.raw()), value.bytes()};
}

/// Takes pieces of a file in their order, and their checksum.
class SnapshotFile {
 public:
  explicit SnapshotFile(const std::string& path) : file_(FileBytes::open(path)) {}

  void take(std::span<std::byte> out) {
    if (out.size() > file_->size() - place_) fail("it ends too early");
    file_->read(place_, out);
    crc_ = crc32c(crc_, out);
    place_ += out.size();
  }
  template <class Number>
  Number number() {
    std::array<std::byte, sizeof(Number)> bytes{};
    take(bytes);
    Number value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  uint32_t crc() const { return crc_; }
  uint64_t left() const { return file_->size() - place_; }
  [[noreturn]] void fail(const std::string& reason) const {
    throw FileFormatError(file_->path() + ": no whole snapshot of a parameter server: " + reason);
  }

 private:
  std::shared_ptr<const FileBytes> file_;
  uint64_t place_ = 0;
  uint32_t crc_ = 0;
};

}  // namespace

void write_server_snapshot(const std::string& path, const ServerSnapshot& snapshot, const Tensors& values) {
  AtomicFile file(path);
  uint32_t crc = 0;
  const auto write = [&](std::span<const std::byte> bytes) {
    file.write(bytes);
    crc = crc32c(crc, bytes);
  };
  const std::string header = header_of(snapshot);
  const uint64_t length = header.size();
  write(std::as_bytes(std::span(&length, 1)));
  write(std::as_bytes(std::span(header)));
  for (const Tensor& value : values) write(bytes_of_value(value));
  const uint32_t end = crc;
  write(std::as_bytes(std::span(&end, 1)));
  file.commit();
}

Tensors read_server_snapshot(const std::string& path, ServerSnapshot& snapshot) {
  SnapshotFile file(path);
  if (file.left() < kFrontBytes + kBackBytes) file.fail("it is too short");
  const auto length = file.number<uint64_t>();
  if (length > file.left() || length > kMaxSnapshotHeader) file.fail("it has no header");
  std::string header(length, '\0');
  file.take(std::as_writable_bytes(std::span(header)));
  try {
    read_header(header, snapshot);
  } catch (const CommunicationError& error) {
    file.fail(error.what());
  }
  std::vector<const std::vector<ParameterEntry>*> tensors = {&snapshot.variables};
  for (const ServerSnapshot::Rule& rule : snapshot.rules) tensors.push_back(&rule.state);
  tensors.push_back(&snapshot.tables);
  uint64_t bytes = kBackBytes;
  for (const auto* const entries : tensors) bytes += payload_bytes(*entries);
  if (bytes != file.left()) file.fail("its tensors do not fill it");
  Tensors values;
  for (const auto* const entries : tensors)
    for (const ParameterEntry& entry : *entries) {
      values.push_back(Tensor::empty(entry.shape, entry.dtype, Device{}));
      file.take({static_cast<std::byte*>(values.back().raw()), values.back().bytes()});
    }
  const uint32_t crc = file.crc();
  if (file.number<uint32_t>() != crc) file.fail("its checksum is another one");
  return values;
}

}  // namespace nyala::detail
