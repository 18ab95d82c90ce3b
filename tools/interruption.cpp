#include <nyala/tools/interruption.h>

#include <atomic>
#include <csignal>

namespace nyala::tools {

namespace {

std::atomic<int> g_signal{0};
static_assert(std::atomic<int>::is_always_lock_free);

void note(int signal) {
  int none = 0;
  if (g_signal.compare_exchange_strong(none, signal)) return;
  std::signal(signal, SIG_DFL);
  std::raise(
      signal);  // comes when this returns; files are written beside and renamed, so that the old one is whole
}

void on_all(void (*handler)(int)) {
  struct sigaction action = {}, old = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
  sigaction(SIGHUP, nullptr, &old);
  if (old.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
}

}  // namespace

Interruption::Interruption() {
  g_signal = 0;
  on_all(note);
}

Interruption::~Interruption() { on_all(SIG_DFL); }

int Interruption::signal() { return g_signal; }

}  // namespace nyala::tools
