#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nyala/backend/core/dtype.h>
#include <nyala/backend/core/shape.h>
#include <nyala/strategies/parameter_server/step_piece.h>

namespace nyala::detail {

class MessageReader;
class MessageWriter;

/// What is asked of a parameter server. Payloads are the tensors of the entries, one after the other.
enum class ParameterCallKind : uint8_t {
  find,    ///< is there a variable of that name? The answer's entries say (`is_there`); no payload
  create,  ///< a variable with its first value; where there is one already that one stays
  /// `text` says how gradients are applied to the entries from now on. Where another one does so already and
  /// `id` is not 0 it is refused. The answer's `number` is 0 where the same one did so before.
  set_rule,
  set_rate,  ///< its learning rate becomes `number`, where it has several optimizers that of optimizer `id`
  /// Values of the entries. With a `piece` an attempt before its own is undone; the answer's `number` is how
  /// many parts its own has made, below 0 where the step is over.
  pull,
  /// Gradients of the trainable entries and what is added to the others, of those that are `is_there`;
  /// applied all or not at all, once for each `id` of a process. The answer brings the values of all entries.
  exchange,
  /// What exchange brings, of one `piece` of a synchronous step; values that layers assigned are those of all
  /// pieces. Nothing changes before commit.
  push_piece,
  /// The pieces of the attempt that `piece` is one of are summed in their order and applied, once for each
  /// step; the answer's `number` is 0 where some are not there. After commit_part of the same attempt: what
  /// was applied stays.
  commit,
  /// The same for part `piece.part` of a step that applies gradients several times: undone where the step is
  /// begun again before commit.
  commit_part,
  /// All becomes what it was in the snapshot of mark `id`; the answer's `number` is 0 where there is none.
  restore,
  assign,      ///< values that replace those of the entries
  state,       ///< the rule's own tensors, where `id` is not 0 the scalars; the answer's entries name them
  load_state,  ///< these; where `id` is not 0 and something has been applied by the rule, nothing
  /// Text for people, and numbers; `number` is the mark of the snapshot that it began with, below 0 without.
  describe,
  /// Write one, which has mark `id`, and keep the one before; the answer's `number` is a SnapshotState.
  snapshot,
  /// A table of rows, whose first values the server makes: `text` is the initializer, `id` its key. Two
  /// entries: the part that lies here, which begins at row `seen`, and the variable as a whole.
  create_table,
  pull_rows,    ///< the payload has ids (`rows` of each entry), the answer's those rows
  assign_rows,  ///< ids and rows that replace those of the entries
  /// The tables' next update is number `id`, at rate `number`; where `id` is 0 and updates were made before,
  /// their slots begin anew.
  set_step,
  stop,  ///< the job is over
};

/// What became of a snapshot: there is no place for it, it is there, it could not be written.
enum class SnapshotState : uint8_t { none, written, failed };

/// A tensor that a message speaks of.
struct ParameterEntry {
  std::string name;
  DType dtype = DType::float32;
  Shape shape = {};
  bool trainable = false;
  bool is_there = false;
  bool is_share = false;  ///< of push_piece: what the pieces have adds up to the value
  /// Not below 0: the entry is a table, and the payload has so many of its rows, their ids (int64) in front.
  int64_t rows = -1;

  bool is_table() const { return rows >= 0; }
  /// Of the whole tensor, or of ids and rows.
  uint64_t bytes() const;
  /// Of `rows` alone.
  uint64_t bytes_of_rows() const;
};

struct ParameterRequest {
  ParameterCallKind kind = ParameterCallKind::describe;
  /// Drawn by each chief at its start: numbers of exchanges, steps and snapshots are those of its job.
  uint64_t job = 0;
  /// Whose numbers `id` is one of: a process' own, drawn at its start, or the job's (0).
  uint64_t process = 0;
  uint64_t id = 0;  ///< of an exchange: the same when it is sent again, by whomever
  /// Of an exchange: the version of the values that its gradients were computed with. Of a snapshot: the life
  /// of the server that has what the mark stands for; another one writes none, and 0 is any.
  uint64_t seen = 0;
  StepPiece piece = {};
  std::string rule = {};  ///< which of the server's rules is meant: the name that set_rule gave it
  double number = 0.0;
  std::string text = {};
  std::vector<std::string> names = {};  ///< of set_rule: what has no weight decay
  std::vector<ParameterEntry> entries = {};
};

struct ParameterReply {
  uint64_t version = 0;  ///< exchanges that the server has applied
  uint64_t life = 0;     ///< drawn by the server at its start: another one has been started since
  double number = 0.0;
  std::string text = {};
  std::vector<ParameterEntry> entries = {};
  std::vector<uint64_t> counts = {};    ///< of describe: exchanges by staleness
  std::vector<std::string> names = {};  ///< of describe, state: the variables that the rules change, the rule
};

/// The most that a message may have; a decoder takes no more, whatever a message says.
inline constexpr size_t kMaxParameterName = 1024, kMaxParameterText = 1 << 20, kMaxParameterEntries = 65536,
                        kMaxParameterCounts = 4096;

/// As bytes: numbers little-endian, texts with their length in front. Throw InvalidArgumentError for what is
/// longer than the most.
std::string encode(const ParameterRequest& request);
std::string encode(const ParameterReply& reply);

/// Throw CommunicationError naming the place for bytes that are no message: another version, an unknown kind,
/// a length beyond the end or the most, sizes whose product no memory has, bytes left over.
ParameterRequest decode_parameter_request(std::string_view bytes);
ParameterReply decode_parameter_reply(std::string_view bytes);

/// Parts of other messages.
void write_piece(MessageWriter& out, const StepPiece& piece);
StepPiece read_piece(MessageReader& in);
void write_names(MessageWriter& out, const std::vector<std::string>& names);
std::vector<std::string> read_names(MessageReader& in);
void write_entries(MessageWriter& out, const std::vector<ParameterEntry>& entries);
std::vector<ParameterEntry> read_entries(MessageReader& in);

/// The elements of a row of such a table.
inline int64_t columns_of(const Shape& table) { return table.slice(1, table.rank()).num_elements(); }

/// The bytes of all entries that are no tables.
uint64_t whole_bytes(const std::vector<ParameterEntry>& entries);
/// The bytes of all entries.
uint64_t payload_bytes(const std::vector<ParameterEntry>& entries);
/// Of those that are `is_there`, and of tables.
uint64_t sent_bytes(const std::vector<ParameterEntry>& entries);

}  // namespace nyala::detail
