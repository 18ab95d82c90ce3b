#include <nyala/strategies/process_generations.h>

#include <algorithm>
#include <exception>

#include <nyala/backend/core/error.h>

namespace nyala {

ProcessGenerations::ProcessGenerations(std::shared_ptr<ProcessGroup> group, std::shared_ptr<ProcessLink> link)
    : group_(std::move(group)), link_(std::move(link)), unwinding_(std::uncaught_exceptions()) {
  join(0);
}

ProcessGenerations::~ProcessGenerations() {
  if (std::uncaught_exceptions() <= unwinding_) group_->leave();
}

// One that is lost while all meet is the end of that generation, not of all. Other failures are not tried for
// ever, and who has waited for others in vain does not wait once more.
void ProcessGenerations::join(int64_t training) {
  constexpr int kAttempts = 3, kLosses = 30;
  for (int vain = 0, losses = 0;;) {
    communicators_ = group_->join();
    ++number_;
    try {
      link_->connect(communicators_.steps, training, time_left());
      if (link_->has_newcomers()) send_results();
      if (connected_) connected_(communicators_);
      return;
    } catch (const PeerLostError&) {
      if (!can_go_on() || ++losses == kLosses) throw;
    } catch (const TimeoutError& error) {
      if (can_go_on()) end(error.what());
      throw;
    } catch (const CommunicationError&) {
      if (!can_go_on() || ++vain == kAttempts) throw;
    }
  }
}

std::optional<std::chrono::milliseconds> ProcessGenerations::time_left() const {
  using std::chrono::milliseconds;
  const auto deadline = group_->agreed_by();
  if (!deadline) return {};
  return std::max(std::chrono::ceil<milliseconds>(*deadline - std::chrono::steady_clock::now()),
                  milliseconds(1));
}

// Others may still wait in a collective of this generation.
void ProcessGenerations::begin_next(int64_t training) {
  communicators_.steps->abort("the next generation of processes begins");
  communicators_.gradients->abort("the next generation of processes begins");
  join(training);
}

void ProcessGenerations::send_results() {
  constexpr const char* kWhat = "the results of earlier calls";
  const int root = link_->furthest();
  const auto send = [&](int64_t& value) {
    broadcast(std::as_writable_bytes(std::span(&value, 1)), root, kWhat);
  };
  std::map<int64_t, std::vector<std::byte>> sent;
  if (link_->rank() == root) sent = results;
  int64_t count = std::ssize(sent);
  send(count);
  for (auto next = sent.begin(); count > 0; --count) {
    int64_t number = next == sent.end() ? 0 : next->first,
            size = next == sent.end() ? 0 : std::ssize(next->second);
    send(number);
    send(size);
    if (link_->rank() != root) next = sent.emplace_hint(sent.end(), number, static_cast<size_t>(size));
    broadcast(next->second, root, kWhat);
    ++next;
  }
  results = std::move(sent);
}

void ProcessGenerations::take_newcomers(bool takes) noexcept {
  if (communicators_.steps->rank() == 0) group_->take_newcomers(takes);
}

void ProcessGenerations::broadcast(std::span<std::byte> data, int root, std::string_view what) {
  communicators_.steps->broadcast(data, root, {.what = what});
}

}  // namespace nyala
