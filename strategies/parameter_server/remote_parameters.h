#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nyala/backend/parameters/parameter_store.h>
#include <nyala/backend/parameters/update_rule.h>
#include <nyala/strategies/parameter_server/server_message.h>
#include <nyala/strategies/parameter_server/shard_placement.h>
#include <nyala/strategies/parameter_server/parameter_transport.h>

namespace nyala::detail {

class RemoteTables;

/// The variables of a strategy as they lie on parameter servers, in parts of rows where a partitioner says
/// so, on servers in turns. This process computes with copies of them, which exchange() renews. One thread at
/// a time.
class RemoteParameters {
 public:
  struct Options {
    std::chrono::milliseconds timeout =
        std::chrono::seconds(300);  ///< of one call, the wait for a server too
    Partitioner partitioner = {};
    /// Tables that are read by rows alone, and have more bytes, are never whole here.
    int64_t remote_rows_above = int64_t{64} << 20;
    bool lazy_rows = false;  ///< of these tables an update changes the rows that have a gradient alone
  };
  RemoteParameters(std::vector<std::unique_ptr<ParameterConnection>> servers, Options options);
  ~RemoteParameters();

  /// That of the chief, before anything is asked of a server.
  void set_job(uint64_t job) { job_ = job; }

  int num_servers() const { return static_cast<int>(servers_.size()); }
  /// What servers call a variable that was made here.
  const std::string& server_name(const Variable& variable) { return known(variable).name; }
  bool is_cut(const Variable& variable) { return placement_.parts_of(known(variable).number).size() > 1; }
  /// Whether some variable is cut.
  bool has_parts() const {
    return placement_.parts().size() > static_cast<size_t>(placement_.num_variables());
  }

  /// The tables that lie on the servers alone.
  const std::shared_ptr<RemoteTables>& tables() const { return tables_; }
  bool has_lazy_rows() const { return options_.lazy_rows; }

  /// A variable was made here: it takes the value that it has on its server already, which is this one's
  /// where it is the first. Throws ShapeError where another process made another variable in its place.
  void created(const Variable& variable);
  /// `variable` has taken the place of `twin`, which was made for it (adopt()).
  void moved(const Variable& twin, const Variable& variable);
  /// Values that the program has changed here since it made or got them are those of the servers from now on.
  /// False where there are none.
  bool publish();
  /// All values become those of the servers.
  void pull();

  /// Servers have several rules, by their names: that of compile()'s optimizer has none, those of a model's
  /// own optimizers have.
  struct RuleOfServers {
    std::string text;  ///< of what reads rules
    std::vector<std::string> no_decay = {};
    Variables variables = {};
    std::string name = {};
  };
  /// From now on gradients are applied by that rule. The same one as before keeps its state; where there is
  /// another one `if_none` throws StateError. Whether some server did not have it.
  bool set_rule(const RuleOfServers& rule, bool if_none = false);
  /// Of each optimizer of a rule, of which most have one; below 0: that follows a schedule. Of a rule that
  /// has a name also before it is there.
  using Rates = std::vector<double>;
  void set_learning_rates(const Rates& rates, const std::string& rule = {});
  struct RuleState {
    std::string text;                       ///< of set_rule(); "": nobody has said one
    std::map<std::string, Tensor> tensors;  ///< its own, of all servers, by name
    Variables variables;                    ///< those that were made here, in the order in which they were
  };
  enum class StateParts {
    all,
    numbers,  ///< the scalars: steps and rates
  };
  RuleState rule_state(const std::string& rule = {}, StateParts parts = StateParts::all);
  /// Variables that the servers' rules change, and nobody has made here.
  std::vector<std::string> foreign_variables();
  /// Gives each server those of them that it has.
  /// `if_new`: to servers alone that have not applied anything by their rule yet.
  void load_rule_state(const std::map<std::string, Tensor>& state, bool if_new = false,
                       const std::string& rule = {});
  /// By which exchanges from now on apply gradients.
  void use_rule(const std::string& name) { rule_ = name; }

  /// Until the end (0) exchanges are those of that batch, by its number of all processes: where another one
  /// trains it again the same ones, counted once.
  void set_batch(uint64_t id) { batch_ = id, batch_exchanges_ = 0; }
  /// Until the end (0) exchanges are those of that scheduled function: where it is carried out again the same
  /// ones, counted once.
  void set_function(uint64_t id) { function_ = id, function_exchanges_ = 0; }
  uint64_t function() const { return function_; }
  /// Inside a batch, a piece of one, or a function.
  bool has_numbered_exchanges() const { return batch_ != 0 || function_ != 0 || piece_.id != 0; }
  /// Until the end (no piece) the one exchange is that of a piece of a synchronous step: it gives gradients
  /// and state to the servers, and nothing changes here or there before commit(). With `meet` there may be
  /// several: it waits until all pieces have come as far, then what they brought takes effect, until commit()
  /// for as long as the attempt goes on, and the values come here.
  void set_piece(const StepPiece& piece, std::function<void()> meet = {});
  bool is_in_step() const { return piece_.id != 0; }
  /// Throws InvalidArgumentError for a variable that is a sum over replicas: in a loop nobody keeps each
  /// process' share.
  void check_has_no_sums();
  /// The next exchange is that of this process, which is rank `place.piece`, in a loop that all run: as a
  /// piece of a step which that exchange begins and ends. `meet` as in set_piece().
  void begin_loop_step(const StepPiece& place, std::function<void()> meet);
  /// Whether exchanges of the piece came to nothing: a server had lost what was pushed, or another worker
  /// that has the same piece was further.
  bool piece_is_lost() const { return piece_is_lost_; }
  /// Before a piece of a batch of so many rows: of variables that are sums over replicas this process keeps
  /// the piece's share alone, its rows of those that have a row for each of the batch.
  void take_share(const StepPiece& piece, int64_t global_rows);
  /// The attempt that `any` is a piece of takes effect on all servers. False where a server was started again
  /// since restarts(), or does not have all of its pieces.
  bool commit(const StepPiece& any);
  /// What servers have instead, after a commit() that took no effect.
  const std::string& missing_pieces() const { return missing_pieces_; }
  /// Gradients of `active`, which lie in `store`, take effect, and what layers have assigned to variables
  /// that are not trained is added to theirs; the values of both and of the other variables `of_rule` become
  /// those of the servers.
  void exchange(ParameterStore& store, const Variables& of_rule, const Variables& active);

  /// What was assigned to variables that are not trained since the values came, outside of exchanges: as an
  /// exchange without gradients; none where nothing was.
  void push_state();
  /// The same, then values that were assigned to others.
  void push_changes() { push_state(), publish(); }

  /// The rule that stands for `rule` in a step here: its update is exchange().
  UpdateRule& remote(UpdateRule& rule, ParameterStore& store);

  /// Servers write snapshots, which the mark is kept with; one that was started again since restarts() does
  /// not. `none` where one has no place for it; `failed`, of which it warns, where one could not write it.
  SnapshotState snapshot(uint64_t mark);
  /// Of a server that was started again since the last call, or since it was first asked: the mark of the
  /// snapshot that it goes on from. Throws CommunicationError where it had none.
  std::vector<uint64_t> restarts();
  /// All servers go back to their snapshot of that mark. Throws CommunicationError where one has none.
  void restore(uint64_t mark);

  /// The job is over: whoever waits for servers here, or asks them later, throws PeerLostError. From any
  /// thread.
  void cancel() noexcept;
  /// Text for people: what each server says of itself, and how stale gradients were.
  std::string describe();
  /// The job is over.
  void stop() noexcept;

 private:
  friend class RemoteTables;
  class Rule;
  struct Known {
    std::weak_ptr<VariableNode> node;
    const SegmentOwner* owner = nullptr;  // the store that it lies in as long as it is one of this strategy
    std::string name;                     // the servers'
    std::string path;                     // here: of several models it may be the same
    int number = 0;                       // in the placement
    uint64_t written = 0;                 // the number of the last write that the server knows
    Tensor base;                          // of state: the value that came from the server
  };
  /// What one server is asked, and what has come back.
  struct Asked {
    ParameterRequest request;
    SentBytes sent;
    std::vector<std::pair<Known*, const VariablePart*>> places;  // by entry
    ReceivedBytes into;  // where the answer's payload goes; none: received
    std::vector<std::byte> received;
    ParameterReply reply;
  };
  using Asking = std::vector<Asked>;  // by server

  Known& known(const Variable& variable);
  Asking asking(ParameterCallKind kind) const;
  enum class Sends { nothing, value, gradient };
  /// Whose exchange the next one is, and its number.
  std::pair<uint64_t, uint64_t> next_exchange();
  /// Asks for a variable, part by part; `sent` is in its shape.
  void add(Asking& asking, Known& known, const Variable& variable, Sends sends = Sends::nothing,
           const Tensor& sent = {});
  std::string name_of_part(const Known& known, const VariablePart& part) const;
  /// At the same time; servers without entries only where `all`. A server that is lost is asked again: it may
  /// be started anew. `brings_values`: the values here are as new as the answer.
  void ask(Asking& asking, bool all = false, bool brings_values = true);
  void ask_all(Asking& asking, bool all, bool brings_values);
  void ask_in_loop(Asking& asking);
  std::unique_ptr<ParameterCall> start(size_t server, Asked& asked, std::chrono::milliseconds timeout);
  void number(Asking& exchange);
  bool has_new_state(const Known& known, const Variable& variable) const;
  void add_state(Asking& asking, Known& known, const Variable& variable, Tensors& changes);
  void carry_out(Asking& exchange);
  void push_piece(Asking& exchange);
  void commit_part();
  void check_is_first(const Asking& asking);
  void take_values(const Asking& asking);
  static void write(Known& known, const Variable& variable, const VariablePart& part, const std::byte* value);
  /// What a tensor of a server's rule belongs to.
  struct StatePlace {
    const Known* known = nullptr;
    const VariablePart* part = nullptr;
    std::string name;  // of the whole, as the optimizer here has it
  };
  std::optional<StatePlace> place_of_state(const std::string& name) const;
  Tensor part_of_state(const std::map<std::string, Tensor>& state, const ParameterEntry& entry) const;
  std::vector<std::pair<Known*, Variable>> living();

  std::vector<std::unique_ptr<ParameterConnection>> servers_;
  std::atomic<bool> is_cancelled_ = false;
  Options options_;
  uint64_t job_ = 0, process_;
  uint64_t own_exchanges_ = 0;
  uint64_t batch_ = 0, batch_exchanges_ = 0, function_ = 0, function_exchanges_ = 0;
  StepPiece piece_;  // id 0: exchanges are none
  std::function<void()> meet_;
  bool is_loop_step_ = false;  // the piece is that of a loop
  uint64_t loop_steps_ = 0;
  bool piece_is_pushed_ = false, piece_is_lost_ = false;
  int64_t rows_of_step_ = 0;        // of which a share was taken
  std::string rule_;                // of exchanges
  std::vector<uint64_t> versions_;  // by server: of the values here
  std::vector<uint64_t> lives_;     // by server; 0: never asked
  ShardPlacement placement_;
  std::shared_ptr<RemoteTables> tables_;
  std::vector<std::unique_ptr<Known>> known_;
  std::map<const VariableNode*, Known*> by_node_;
  std::map<std::string, int> names_;  // how often each path was made
  std::map<UpdateRule*, std::unique_ptr<Rule>> rules_;
  std::string missing_pieces_;
};

}  // namespace nyala::detail
