#include <nyala/strategies/parameter_server/range_dispenser.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <iterator>
#include <utility>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/cluster/environment.h>

namespace nyala::detail {

namespace {

constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();
constexpr uint64_t kSnapshotForm = 0x4e79616c61524431;  // "NyalaRD1"

[[noreturn]] void throw_different_data(int64_t epoch, int64_t missing, int64_t trained) {
  throw StateError("epoch " + std::to_string(epoch) + ": one worker's data has no batch " +
                   std::to_string(missing) + ", and another worker has trained batch " +
                   std::to_string(trained) + ". All workers need the same data in the same order.");
}

void put(std::string& bytes, uint64_t word) {
  for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>((word >> shift) & 0xff);
}

[[noreturn]] void throw_no_snapshot(const char* reason) {
  throw InvalidArgumentError(std::string("snapshot of the batches of an epoch: ") + reason);
}

/// Words of a snapshot, none of which is believed.
class Words {
 public:
  explicit Words(std::string_view bytes) : bytes_(bytes) {}

  uint64_t next() {
    if (bytes_.size() < sizeof(uint64_t)) throw_no_snapshot("it is cut off");
    uint64_t word = 0;
    for (size_t i = 0; i < sizeof word; ++i)
      word |= static_cast<uint64_t>(static_cast<unsigned char>(bytes_[i])) << (8 * i);
    bytes_.remove_prefix(sizeof word);
    return word;
  }
  int64_t next_number(int64_t most = kUnknown) {
    const uint64_t word = next();
    if (word > static_cast<uint64_t>(most)) throw_no_snapshot("a number in it is too large");
    return static_cast<int64_t>(word);
  }
  /// How many entries of so many words follow.
  size_t next_count(size_t words) {
    const uint64_t count = next();
    if (count > bytes_.size() / (words * sizeof(uint64_t))) throw_no_snapshot("it is cut off");
    return static_cast<size_t>(count);
  }
  void expect_end() const {
    if (!bytes_.empty()) throw_no_snapshot("bytes are left at its end");
  }

 private:
  std::string_view bytes_;
};

}  // namespace

bool RangeDispenser::State::is_over() const {
  return has_begun && held.empty() && (is_stopped || (returned.empty() && handed_out() >= batches));
}

std::optional<int64_t> RangeDispenser::State::batch_of(uint64_t id) const {
  if (id < first_id || id - first_id >= done.size()) return std::nullopt;
  return static_cast<int64_t>(id - first_id);
}

RangeDispenser::Held::iterator RangeDispenser::State::give_back(Held::iterator holder,
                                                                std::optional<uint64_t> last) {
  if (!is_stopped && holder->first < batches) {
    returned[holder->first] = last;
    ++given_back;
  }
  return held.erase(holder);
}

void RangeDispenser::begin_epoch(int64_t epoch, int64_t batches) {
  const std::lock_guard lock(mutex_);
  State next;
  next.has_begun = true;
  next.epoch = epoch;
  next.batches = batches < 0 ? kUnknown : batches;
  next.first_id = state_.first_id + state_.done.size();
  next.counted = next.counted_before = state_.counted;
  state_ = std::move(next);
}

void RangeDispenser::stop() {
  const std::lock_guard lock(mutex_);
  state_.is_stopped = true;
  state_.returned.clear();
}

DispenserAnswer RangeDispenser::next(uint64_t worker, TimePoint now) {
  using Kind = DispenserAnswer::Kind;
  const std::lock_guard lock(mutex_);
  if (!state_.has_begun) return {.kind = Kind::wait};
  if (state_.is_stopped) return {.kind = Kind::stopped};
  int64_t batch = state_.handed_out();
  if (!state_.returned.empty()) {
    batch = state_.returned.begin()->first;
    state_.returned.erase(state_.returned.begin());
  } else if (batch < state_.batches) {
    state_.done.push_back(0);
  } else {
    return {.kind = state_.is_over() ? Kind::epoch_over : Kind::wait};
  }
  state_.held[batch] = {worker, now};
  return {
      .kind = Kind::range,
      .range = {.id = state_.first_id + static_cast<uint64_t>(batch), .epoch = state_.epoch, .batch = batch}};
}

bool RangeDispenser::done(uint64_t worker, uint64_t id) {
  const std::lock_guard lock(mutex_);
  const std::optional<int64_t> batch = state_.batch_of(id);
  if (!batch) return false;
  const auto holder = state_.held.find(*batch);
  const auto returned = state_.returned.find(*batch);
  if (holder != state_.held.end() && holder->second.worker == worker) {
    if (*batch >= state_.batches) throw_different_data(state_.epoch, state_.batches, *batch);
    state_.held.erase(holder);
  } else if (returned != state_.returned.end() && returned->second == worker) {
    state_.returned.erase(returned);
  } else {
    return false;
  }
  state_.done[static_cast<size_t>(*batch)] = ++state_.counted;
  ++state_.by_worker[worker];
  return true;
}

void RangeDispenser::ended(uint64_t worker, uint64_t id) {
  const std::lock_guard lock(mutex_);
  const std::optional<int64_t> batch = state_.batch_of(id);
  const auto holder = batch ? state_.held.find(*batch) : state_.held.end();
  if (holder == state_.held.end() || holder->second.worker != worker) return;
  for (int64_t later = state_.handed_out() - 1; later > *batch; --later)
    if (state_.done[static_cast<size_t>(later)] != 0) throw_different_data(state_.epoch, *batch, later);
  state_.held.erase(holder);
  state_.batches = std::min(state_.batches, *batch);
  state_.returned.erase(state_.returned.lower_bound(state_.batches), state_.returned.end());
}

int64_t RangeDispenser::lost(uint64_t worker) {
  const std::lock_guard lock(mutex_);
  const int64_t before = state_.given_back;
  for (auto holder = state_.held.begin(); holder != state_.held.end();)
    holder = holder->second.worker == worker ? state_.give_back(holder, worker) : std::next(holder);
  return state_.given_back - before;
}

int64_t RangeDispenser::expire(TimePoint now, std::chrono::steady_clock::duration lease) {
  const std::lock_guard lock(mutex_);
  const int64_t before = state_.given_back;
  for (auto holder = state_.held.begin(); holder != state_.held.end();)
    holder = now - holder->second.since >= lease ? state_.give_back(holder, holder->second.worker)
                                                 : std::next(holder);
  return state_.given_back - before;
}

uint64_t RangeDispenser::mark() const {
  const std::lock_guard lock(mutex_);
  return state_.counted;
}

RepeatedRanges RangeDispenser::again_since(uint64_t mark) {
  const std::lock_guard lock(mutex_);
  if (mark > state_.counted)
    throw_wrong_setting("again_since", "a mark, at most " + std::to_string(state_.counted),
                        std::to_string(mark));
  RepeatedRanges ranges;
  ranges.gone = static_cast<int64_t>(state_.counted_before - std::min(mark, state_.counted_before));
  for (size_t batch = 0; batch < state_.done.size(); ++batch) {
    if (state_.done[batch] <= mark) continue;  // not done, or in the snapshot
    if (state_.is_stopped) {
      ++ranges.gone;
      continue;
    }
    ++ranges.again;
    state_.done[batch] = 0;
    state_.returned[static_cast<int64_t>(batch)] = std::nullopt;
  }
  state_.repeated += ranges.again;
  for (auto& [batch, last] : state_.returned) last.reset();
  for (auto holder = state_.held.begin(); holder != state_.held.end();)
    holder = state_.give_back(holder, std::nullopt);
  return ranges;
}

bool RangeDispenser::is_epoch_over() const {
  const std::lock_guard lock(mutex_);
  return state_.is_over();
}

DispenserProgress RangeDispenser::progress() const {
  const std::lock_guard lock(mutex_);
  return {.epoch = state_.epoch,
          .batches = state_.batches == kUnknown ? -1 : state_.batches,
          .done = static_cast<int64_t>(state_.counted - state_.counted_before) - state_.repeated,
          .outstanding = static_cast<int64_t>(state_.held.size()),
          .waiting = static_cast<int64_t>(state_.returned.size()),
          .given_back = state_.given_back,
          .repeated = state_.repeated,
          .by_worker = state_.by_worker};
}

std::string RangeDispenser::snapshot() const {
  const std::lock_guard lock(mutex_);
  const State& state = state_;
  std::string bytes;
  for (const uint64_t word : {kSnapshotForm, uint64_t{state.has_begun}, uint64_t{state.is_stopped},
                              static_cast<uint64_t>(state.epoch), static_cast<uint64_t>(state.batches),
                              state.first_id, state.counted, state.counted_before,
                              static_cast<uint64_t>(state.given_back), static_cast<uint64_t>(state.repeated)})
    put(bytes, word);
  put(bytes, state.done.size());
  for (const uint64_t number : state.done) put(bytes, number);
  put(bytes, state.held.size() + state.returned.size());
  const auto put_returned = [&](int64_t batch, std::optional<uint64_t> last) {
    put(bytes, static_cast<uint64_t>(batch));
    put(bytes, last.has_value());
    put(bytes, last.value_or(0));
  };
  for (const auto& [batch, holder] : state.held) put_returned(batch, holder.worker);
  for (const auto& [batch, last] : state.returned) put_returned(batch, last);
  put(bytes, state.by_worker.size());
  for (const auto& [worker, count] : state.by_worker) {
    put(bytes, worker);
    put(bytes, static_cast<uint64_t>(count));
  }
  return bytes;
}

RangeDispenser::State RangeDispenser::decoded(std::string_view bytes) {
  Words in(bytes);
  if (in.next() != kSnapshotForm) throw_no_snapshot("it does not begin like one");
  State state;
  state.has_begun = in.next_number(1) == 1;
  state.is_stopped = in.next_number(1) == 1;
  state.epoch = static_cast<int64_t>(in.next());
  state.batches = in.next_number();
  state.first_id = static_cast<uint64_t>(in.next_number());
  state.counted = static_cast<uint64_t>(in.next_number());
  state.counted_before = static_cast<uint64_t>(in.next_number(static_cast<int64_t>(state.counted)));
  state.given_back = in.next_number();
  state.repeated = in.next_number();
  state.done.resize(in.next_count(1));
  size_t num_done = 0;
  for (uint64_t& number : state.done) {
    number = static_cast<uint64_t>(in.next_number(static_cast<int64_t>(state.counted)));
    if (number != 0 && number <= state.counted_before) throw_no_snapshot("a batch was done before its epoch");
    num_done += number != 0;
  }
  if (num_done + static_cast<uint64_t>(state.repeated) != state.counted - state.counted_before)
    throw_no_snapshot("its numbers of batches do not fit together");
  for (size_t left = in.next_count(3); left > 0; --left) {
    const int64_t batch = in.next_number();
    const bool has_last = in.next_number(1) == 1;
    const uint64_t last = in.next();
    if (batch >= state.handed_out() || state.done[static_cast<size_t>(batch)] != 0)
      throw_no_snapshot("it gives out a batch that is done, or was not handed out");
    if (batch >= state.batches) continue;  // a worker had still to find out that there is none
    state.returned[batch] = has_last ? std::optional(last) : std::nullopt;
  }
  for (size_t left = in.next_count(2); left > 0; --left) {
    const uint64_t worker = in.next();
    state.by_worker[worker] = in.next_number();
  }
  in.expect_end();
  for (int64_t batch = 0; batch < std::min(state.handed_out(), state.batches); ++batch)
    if (!state.is_stopped && state.done[static_cast<size_t>(batch)] == 0 && !state.returned.contains(batch))
      throw_no_snapshot("a batch is missing");
  return state;
}

void RangeDispenser::restore(std::string_view bytes) {
  State state = decoded(bytes);
  const std::lock_guard lock(mutex_);
  state_ = std::move(state);
}

}  // namespace nyala::detail
