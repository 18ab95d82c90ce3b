#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nyala/backend/core/mutex.h>
#include <nyala/strategies/control/control_message.h>

namespace nyala::detail {

/// "2.5 s".
std::string seconds_text(std::chrono::steady_clock::duration time);
/// "rank 2 on a".
std::string rank_text(int rank, const std::string& host);
/// Whether only members of the generation that lives may call it.
bool needs_generation(ControlCall call);

/// One that does not say any more that it lives.
struct SilentProcess {
  int rank = 0;                            ///< as it was started
  std::chrono::milliseconds silence = {};  ///< since it was heard of last
};

/// One that has not come.
struct AwaitedProcess {
  int rank = 0;                            ///< as it was started
  std::chrono::milliseconds awaited = {};  ///< since the first of the others came; 0 where none has
  std::chrono::milliseconds timeout = {};  ///< the shortest time of those who wait; 0 where nobody waits
};

struct ControlStateOptions {
  int size = 1;      ///< processes of a whole cluster
  int min_size = 0;  ///< so few may go on without the others; 0: only all
  std::chrono::milliseconds rejoin_timeout = std::chrono::seconds(30);  ///< that they wait for the others
  std::string token = {};  ///< empty: every one that can connect may speak
  std::chrono::milliseconds heartbeat = std::chrono::seconds(2);
  /// Each process keeps one of these, and they elect which of them serves: it stands by until serve(). A
  /// generation of fewer than all then needs a majority of the last one (base_without_majority()), or, where
  /// there was none, of all; or all others have to be known to have ended.
  bool is_elected = false;
};

/// What the control plane knows and does, whoever carries the messages: members and generations, keys,
/// barriers, agreements, heartbeats, aborts.
///
/// A generation begins when all processes have joined, or `rejoin_timeout` after the first of them at least
/// `min_size`; their ranks in it follow the order of those that they were started with. It ends for good by
/// the first abort or lost process, of which everybody hears by the answer to its watch, or to what it waits
/// for; all then join again for the next one. A process is lost when it has no watch for three heartbeats, or
/// half a second after its connection closed. An abort for good ends the work of its processes: only others,
/// started in their place, may join again. One that comes when others have gone on without it ends their
/// generation, too, as soon as a member has set kTakesNewcomers, or all of them have left. Processes say that
/// they live between generations, too, until they leave. All functions are thread-safe.
class ControlState {
 public:
  using Clock = std::chrono::steady_clock;
  using Answer = std::function<void(ControlReply)>;

  explicit ControlState(ControlStateOptions config)
      : config_(std::move(config)), stands_by_(config_.is_elected) {}

  /// Answers now or later, once; never from inside of a lock. Returns what the question is cancelled by.
  uint64_t handle(ControlRequest request, Answer answer, Clock::time_point now = Clock::now());
  /// Who asked is gone: there will be no answer.
  void cancel(uint64_t question, Clock::time_point now = Clock::now());
  /// To be called some ten times a second: what waits for a time ends.
  void tick(Clock::time_point now = Clock::now());
  /// Of whoever started the processes: the one that was started as `rank` has ended, `how` says in which way
  /// ("ended with status 0"). A generation that it has not left ends at once. Where no other one is started
  /// in its place, and too few are left for a generation, who waits for one is answered so.
  void process_ended(int rank, const std::string& how, bool comes_back, Clock::time_point now = Clock::now());
  /// Whether the process that was started as `rank` has left in order.
  bool has_left(int rank) const;
  /// Processes that have not been heard of for three heartbeats, without which the others go on or want to,
  /// and have wanted to for `rejoin_timeout`; half of the time for which they wait, where that is less.
  std::vector<SilentProcess> left_behind(Clock::time_point now = Clock::now()) const;
  /// Processes that have not come, in the place of one that has ended, too.
  std::vector<AwaitedProcess> awaited(Clock::time_point now = Clock::now()) const;
  /// Whether any process has come.
  bool has_been_joined() const;
  /// Whoever keeps this did not run for so long: nobody is to be blamed for his silence then.
  void excuse(Clock::duration time);
  /// Of one that is elected: from now on processes join here. `generation` is the last one that this process
  /// knows. Nothing where it serves already.
  void serve(uint64_t generation);
  /// Who joins or has asked to is sent to the one that was started as `rank`, at `address`; "" where that is
  /// not known (yet).
  void stand_by(int rank, const std::string& address, uint64_t generation);
  /// Ranks whose processes have ended, with no other one in their place so far. Nobody waits for those of
  /// them that are `given_up`.
  void note_dead(std::set<int> dead, std::set<int> given_up, Clock::time_point now = Clock::now());
  bool serves() const;
  /// Where processes that asked who serves can be found, by their ranks.
  std::map<int, std::string> heard_from() const;
  /// The newest generation that it knows, and whether that lives here.
  std::pair<uint64_t, bool> standing() const;
  /// Ranks that have not joined for the next generation; none while one lives.
  std::vector<int> absent_ranks() const;
  /// Whether a process of a generation that has not failed is still there.
  bool is_needed() const;
  /// Whether a start was refused to some, and others have not come yet to hear why.
  bool is_refusing() const;
  /// Those who wait hear that nobody comes any more, and why.
  void give_up(const std::string& why);
  /// All questions are answered with an error, and all later ones.
  void close();

 private:
  struct Question {
    ControlRequest request;
    Answer answer;
    Clock::time_point deadline, asked;
    bool is_contested = false;  // a join as one that may have ended: its connection may be about to close
  };
  struct Member {
    std::string host, address, place;
    ControlFacts facts;
    int rank = 0;  // in the generation
    uint64_t process = 0;
    Clock::time_point heard = {};
    std::optional<Clock::time_point> closed_at = {};
    bool is_watched = false, has_left = false;
  };
  struct Life {
    uint64_t process = 0;
    Clock::time_point heard = {};
    bool has_left = false;
  };
  using Questions = std::map<uint64_t, Question>;

  // All of these hold the lock, and leave what is to be answered in answers_.
  void begin(uint64_t id, Clock::time_point now);
  void join(uint64_t id, Clock::time_point now);
  bool may_contest(uint64_t id, Clock::time_point now);
  void settle_contested(Clock::time_point now);
  void form(Clock::time_point now);
  void form_if_due(Clock::time_point now);
  ControlReply membership() const;
  void watch(uint64_t id, Clock::time_point now);
  void set(uint64_t id, Clock::time_point now);
  void meet(uint64_t id);
  void end_generation(int rank, ControlStatus status, const std::string& text);
  void end_for_good(int rank, const std::string& text);
  bool is_member(const ControlRequest& request) const;
  std::string start_refusal(const ControlRequest& request);
  void refuse_start(uint64_t id, const std::string& why);
  void expire(Clock::time_point now);
  void answer(uint64_t id, ControlReply reply);
  void refuse(uint64_t id, const std::string& why);
  void answer_all(const std::function<bool(const ControlRequest&)>& which, const ControlReply& reply);
  ControlReply is_over(const ControlRequest& request) const;
  std::string refusal(const ControlRequest& request) const;
  std::string member_refusal(const ControlRequest& request) const;
  std::string name_of(int started_as) const;
  std::string missing_text(const Question& question) const;
  std::vector<int> who_waits(const ControlRequest& like) const;
  void deliver();
  void note_life(const ControlRequest& request, Clock::time_point now);
  void refuse_hopeless();
  bool have_all_left() const;
  bool takes_newcomers() const;
  void admit_newcomers(Clock::time_point now);
  bool has_generation() const { return !ended_ && !members_.empty(); }
  ControlReply whereabouts() const;
  int expected_size() const;
  std::string quorum_lack() const;
  std::string size_lack(int64_t here) const;

  static constexpr auto kCloseGrace = std::chrono::milliseconds(500);

  ControlStateOptions config_;
  mutable Mutex mutex_;
  bool closed_ = false;
  bool stands_by_ = false;  // for the server that is there:
  int server_rank_ = -1;
  std::string server_address_;
  std::set<int> dead_, given_up_;
  std::map<int, std::string> heard_from_;
  uint64_t last_id_ = 0, generation_ = 0, notices_ = 0;
  uint64_t newest_ = 0;  // generation that somebody knows, where they elect
  std::string last_notice_;
  std::optional<ControlReply> ended_;  // how the generation ended
  std::map<int, Member> members_;      // of the generation, by the ranks that they were started with
  std::map<int, Life> lives_;          // of all that have joined once and have not ended, likewise
  Clock::time_point now_ = {};         // of what was told the time last
  std::optional<Clock::time_point> first_came_;
  std::string turned_away_;             // why the last one was to whom nobody listens; empty: none was
  std::map<int, std::string> refused_;  // by rank, before the first generation, and why
  std::map<int, std::string> gone_;     // in whose place no other comes, and how they ended
  std::map<std::string, std::string> keys_;
  size_t key_bytes_ = 0;
  Questions questions_;
  std::vector<std::pair<Answer, ControlReply>> answers_;
};

/// "the processes disagree on dtype: rank 0 on a has 'float32', rank 2 on b has 'float64'"; empty where all
/// have the same facts in the same order.
struct ControlVoice {
  std::string who;
  const ControlFacts* facts;
};
std::string disagreement(const std::vector<ControlVoice>& voices);

/// Whether both are the same, in a time that does not depend on where they differ.
bool same_secret(const std::string& a, const std::string& b);

}  // namespace nyala::detail
