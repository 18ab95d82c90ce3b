#include <nyala/strategies/parameter_server/chief_of_functions.h>

#include <utility>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/strategies/parameter_server/remote_error.h>

namespace nyala::detail {

namespace {

constexpr std::chrono::milliseconds kLook{200}, kBetweenLooks{500};

/// A snapshot that fit() has asked for is older than all functions that are kept.
uint64_t functions_at(uint64_t mark) { return mark >= kFunctionMarks ? mark - kFunctionMarks : 0; }

}  // namespace

ChiefOfFunctions::ChiefOfFunctions(RemoteParameters& parameters, Coordinator& coordinator,
                                   std::chrono::milliseconds timeout, std::chrono::milliseconds snapshots)
    : parameters_(parameters),
      coordinator_(coordinator),
      between_snapshots_(snapshots),
      alone_("ClusterCoordinator", timeout) {
  coordinator_.with_functions([](FunctionQueue& functions) { functions.keep_returned(true); });
}

std::shared_ptr<FunctionOutcome> ChiefOfFunctions::schedule(const std::string& name,
                                                            std::vector<std::byte> arguments) {
  rethrow_first_error();
  coordinator_.wait_until_left();
  bool has_changed = parameters_.publish();
  for (const auto& [of, follower] : followers) has_changed |= follower->publish();
  look_after_servers(false);
  // Nobody gives it again, and functions before, where one is repeated, have what was before.
  if (has_changed && has_snapshots_) snapshot();
  const auto shared = std::make_shared<const std::vector<std::byte>>(std::move(arguments));
  for (;;) {
    if (auto outcome = coordinator_.schedule(name, shared)) return outcome;
    if (!coordinator_.wait_for_functions(kLook)) look();
    rethrow_first_error();
  }
}

void ChiefOfFunctions::look() {
  alone_.look(coordinator_.num_workers());
  look_after_servers(false);
}

// A server that was started again after the last function had returned has lost it, too.
void ChiefOfFunctions::join() {
  do {
    while (!coordinator_.wait_for_functions(kLook)) look();
    look_after_servers(true);
  } while (!coordinator_.wait_for_functions({}));
  if (has_snapshots_ && mark() != saved_mark_) snapshot();  // what a server loses later begins here
  parameters_.pull();
  for (const auto& [of, follower] : followers) follower->take_over();
  rethrow_first_error();
  check_variables();
}

/// What workers train would be in no file that the chief writes.
void ChiefOfFunctions::check_variables() {
  const std::vector<std::string> foreign = parameters_.foreign_variables();
  if (foreign.empty()) return;
  throw StateError(
      "ClusterCoordinator: workers train variable " + in_quotes(foreign[0]) +
      (foreign.size() > 1 ? " and " + std::to_string(foreign.size() - 1) + " others" : "") +
      ", which the chief has not made; all processes make the same models, with layers that have "
      "the same names: automatic ones in the same order, or given ones");
}

bool ChiefOfFunctions::done() {
  rethrow_first_error();
  look_after_servers(false);
  return coordinator_.wait_for_functions({});
}

void ChiefOfFunctions::wait(const FunctionOutcome& outcome) {
  while (!outcome.wait(kLook))
    if (!coordinator_.wait_for_functions({})) look();
}

void ChiefOfFunctions::rethrow_first_error() {
  std::optional<FunctionOutcome::Bytes> error;
  coordinator_.with_functions([&](FunctionQueue& functions) {
    if (!functions.has_error()) return;
    functions.cancel_waiting("a function that was scheduled before it threw");
    error = functions.take_error();
  });
  if (error) throw_error_of(*error);
}

void ChiefOfFunctions::look_after_servers(bool now) {
  if (!now && Clock::now() - looked_ < kBetweenLooks) return;
  looked_ = Clock::now();
  for (const uint64_t mark : parameters_.restarts()) {
    int64_t again = 0;
    coordinator_.with_functions(
        [&](FunctionQueue& functions) { again = functions.again_since(functions_at(mark)); });
    for (const auto& [of, follower] : followers) follower->restarted();
    log(LogChannel::warning, "a parameter server was started again from its snapshot; " +
                                 std::to_string(again) + " functions are carried out once more");
  }
  if (has_snapshots_ && Clock::now() - saved_ >= between_snapshots_) snapshot();
}

uint64_t ChiefOfFunctions::mark() {
  uint64_t mark = 0;
  coordinator_.with_functions([&](FunctionQueue& functions) { mark = functions.mark(); });
  return mark;
}

void ChiefOfFunctions::snapshot() {
  const uint64_t mark = saved_mark_ = this->mark();
  const SnapshotState state = parameters_.snapshot(kFunctionMarks + mark);
  has_snapshots_ = state != SnapshotState::none;
  coordinator_.with_functions([&](FunctionQueue& functions) {
    functions.keep_returned(has_snapshots_);
    if (state != SnapshotState::failed) functions.forget_until(mark);
  });
  saved_ = Clock::now();
}

}  // namespace nyala::detail
