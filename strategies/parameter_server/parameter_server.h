#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nyala/backend/parameters/parameter_store.h>
#include <nyala/strategies/parameter_server/server_message.h>
#include <nyala/strategies/parameter_server/applied_ids.h>
#include <nyala/strategies/parameter_server/held_pieces.h>
#include <nyala/strategies/parameter_server/held_rule.h>
#include <nyala/strategies/parameter_server/parameter_transport.h>
#include <nyala/strategies/parameter_server/row_tables.h>
#include <nyala/strategies/parameter_server/server_rule.h>
#include <nyala/strategies/parameter_server/step_before.h>

namespace nyala::detail {

/// Variables of a job that lie in this process, and the rule that pushed gradients change them by. Gradients
/// are applied one push after the other, each whole or not at all, and once however often it is sent; a pull
/// reads while others push, so that its values may be of neighbouring versions, chunk by chunk.
class ParameterServer final : public ParameterService {
 public:
  /// With a path: goes on from the snapshot that lies there, and writes one when it is told to. Throws
  /// FileFormatError for another file. Tables need `read_filler`, for their first values.
  explicit ParameterServer(ServerRuleReader read_rule, std::string snapshot_path = {},
                           RowFillerReader read_filler = {});
  ~ParameterServer() override;

  std::shared_ptr<ParameterReceiver> begin(std::string header) override;

  /// False where nobody has said in that time that the job is over.
  bool wait_until_stopped(std::chrono::milliseconds time);
  /// Before its end, with a path: a snapshot of what there is, under the mark of the last one; none in a
  /// synchronous training, where servers go back together.
  void keep();

 private:
  class Receiver;
  class KeptBuffer;
  using Answer = std::function<void(ParameterAnswer)>;
  using Bytes = std::vector<std::byte>;

  /// Another chief begins anew, with its own values, numbers of exchanges and marks of snapshots.
  void belong_to(uint64_t job);
  void forget();
  ParameterReply carry_out(const ParameterRequest& request, Bytes& payload, ParameterAnswer& answer);
  /// Of synchronous training.
  void carry_out_in_step(const ParameterRequest& request, Bytes& payload, ParameterReply& reply);
  void carry_out_on_tables(const ParameterRequest& request, Bytes& payload, ParameterReply& reply,
                           ParameterAnswer& answer);
  const Variable& known(const ParameterEntry& entry) const;
  Variables known(const std::vector<ParameterEntry>& entries) const;
  bool create(const ParameterEntry& entry, const std::byte* value);
  bool set_rule(const ParameterRequest& request);
  HeldRule& rule(const std::string& name);
  void set_rate(const ParameterRequest& request);
  void exchange(const ParameterRequest& request, const Bytes& payload);
  bool commit(const StepPiece& any);
  bool commit_part(const StepPiece& any);
  /// All of its pieces at once; false where some are missing.
  bool apply_pieces(const StepPiece& any);
  /// A later attempt than the one that has changed something begins with what there was before that.
  void follow(const StepPiece& any);
  double parts_of(const StepPiece& any) const;
  void keep_before(const StepPiece& any);
  /// Gradients of a variable from one place or from several, which are added in their order.
  using Gradients = std::vector<std::vector<const std::byte*>>;
  void apply(UpdateRule& update, const Variables& active, const Gradients& gradients);
  void gather(const Variable& variable, std::vector<const std::byte*> gradients, bool adds);
  void count(uint64_t staleness);
  void assign(const ParameterRequest& request, const Bytes& payload);
  void answer_values(const Variables& variables, ParameterAnswer& answer);
  static void answer_bytes(Bytes bytes, ParameterAnswer& answer);
  void answer_state(const ParameterRequest& request, ParameterReply& reply, ParameterAnswer& answer);
  void load_state(const ParameterRequest& request, const Bytes& payload);
  SnapshotState snapshot(const ParameterRequest& request);
  /// `keeps_last`: the one before stays, too.
  void write_snapshot(uint64_t mark, bool keeps_last);
  void keep_rule();
  bool try_to_write_snapshot(uint64_t mark, bool keeps_last);
  std::string path_before() const { return snapshot_path_ + ".before"; }
  bool restore(uint64_t mark);
  void go_on_from(const std::string& path);
  void describe(ParameterReply& reply) const;

  ServerRuleReader read_rule_;
  const std::string snapshot_path_;
  const uint64_t life_;
  mutable std::mutex mutex_;
  const std::shared_ptr<KeptBuffer> buffer_;
  std::condition_variable stopped_changed_;
  std::shared_ptr<ParameterStore> store_;
  std::map<std::string, Variable, std::less<>> variables_;
  std::map<std::string, HeldRule> rules_;  // by name; compile()'s has none
  /// That the chief has said of rules with a name, by optimizer.
  std::map<std::string, std::map<uint64_t, double>> rates_;
  RowTables tables_;
  uint64_t job_ = 0;  // 0: no chief has come
  std::set<uint64_t> past_jobs_;
  uint64_t version_ = 0;
  std::map<uint64_t, AppliedIds> applied_;  // by process
  HeldPieces pieces_;
  std::optional<StepBefore> before_;  // of a step that changes several times, until commit
  std::vector<uint64_t> staleness_;   // exchanges by it; the last count is of all that were staler
  uint64_t repeated_ = 0;
  bool has_committed_ = false;  // a step of a synchronous training
  std::optional<uint64_t> began_with_,
      last_mark_;  // of the job's snapshots; none: it began anew, there is none
  bool stopped_ = false;
};

}  // namespace nyala::detail
