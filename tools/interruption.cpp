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
  std::raise(signal);  // comes when this returns; files are written beside and renamed, so that the old one is whole
}

void on_both(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

}  // namespace

Interruption::Interruption() {
  g_signal = 0;
  on_both(note);
}

Interruption::~Interruption() { on_both(SIG_DFL); }

int Interruption::signal() { return g_signal; }

}  // namespace nyala::tools
