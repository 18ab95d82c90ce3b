// The handler touches one lock-free number and calls what POSIX allows in a handler.
#include <nyala/backend/runtime/signal_watch.h>

#include <algorithm>
#include <atomic>
#include <string>

#include <nyala/backend/core/error.h>

namespace nyala {

namespace {

std::atomic<int> g_noted_signal{0}, g_signal_watches{0};
static_assert(std::atomic<int>::is_always_lock_free);

void note_signal(int signal) {
  int none = 0;
  if (g_noted_signal.compare_exchange_strong(none, signal)) return;
  std::signal(signal, SIG_DFL);
  std::raise(signal);  // comes when this returns
}

}  // namespace

SignalWatch::SignalWatch(const std::vector<int>& numbers) {
  if (g_signal_watches++ == 0) g_noted_signal = 0;
  struct sigaction action = {}, before = {};
  action.sa_handler = note_signal;
  action.sa_flags = SA_RESTART;
  for (const int signal : numbers) {
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    if (::sigaction(signal, &action, &before) == 0) {
      before_.emplace_back(signal, before);
      continue;
    }
    restore();
    throw InvalidArgumentError("SignalWatch: expected signals that can be watched, received " +
                               std::to_string(signal));
  }
}

SignalWatch::~SignalWatch() { restore(); }

void SignalWatch::restore() const {
  for (size_t i = before_.size(); i-- > 0;) ::sigaction(before_[i].first, &before_[i].second, nullptr);
  --g_signal_watches;
}

int SignalWatch::signal() const {
  const int noted = g_noted_signal;
  const bool is_own =
      std::any_of(before_.begin(), before_.end(), [&](const auto& b) { return b.first == noted; });
  return is_own ? noted : 0;
}

}  // namespace nyala
