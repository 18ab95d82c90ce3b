// Every call begins with a frame to and from every other rank: its header, by which all see that they came to
// the same, and data that is small enough to travel in it. Larger reductions are direct: each rank gets its
// part of the values from all, adds them in rank order, two segments on their way at a time, and sends the
// sums to all. Why a rank gave up stands at the rendezvous, for those who see only the connection end.
#include <nyala/strategies/communicators/link_communicator.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <mutex>
#include <thread>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/communicators/combine.h>

namespace nyala::detail {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// The number of a call that says: no more will come.
constexpr uint64_t kGoodbye = ~uint64_t{0};
/// How long a rank whose connection broke looks for the reason that another one left.
constexpr milliseconds kReasonComes{300};
constexpr milliseconds kGoodbyeTakes{300};

enum class Phase : uint64_t { frame, data, result };

uint64_t tag_of(uint64_t call, Phase phase, int64_t segment = 0) {
  return call << 28 | static_cast<uint64_t>(phase) << 26 |
         (static_cast<uint64_t>(segment) & ((1u << 26) - 1));
}

milliseconds time_until(Clock::time_point deadline) {
  return std::max(std::chrono::ceil<milliseconds>(deadline - Clock::now()), milliseconds(1));
}

/// The number in front of a space, which is taken off as well.
std::optional<int> take_number(std::string_view& text) {
  int number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto used = static_cast<size_t>(end.ptr - text.data());
  if (end.ec != std::errc() || used >= text.size() || text[used] != ' ') return std::nullopt;
  text.remove_prefix(used + 1);
  return number;
}

}  // namespace

LinkCommunicator::LinkCommunicator(CommunicatorOptions options, std::string kind,
                                   std::unique_ptr<Links> links, std::shared_ptr<Rendezvous> rendezvous)
    : Communicator(std::move(options)),
      kind_(std::move(kind)),
      rendezvous_(std::move(rendezvous)),
      links_(std::move(links)),
      peers_(static_cast<size_t>(size())),
      sources_(static_cast<size_t>(size())) {
  try {
    outgoing_ = links_->buffer(&own_frame_, kFrame);
    for_peers([&](int r) { peer(r).incoming = links_->buffer(&peer(r).frame, kFrame); });
    expect_frames(0);
  } catch (const std::exception& error) {
    throw CommunicationError(kind_ + " '" + this->options().name + "', rank " + std::to_string(rank()) +
                             " of " + std::to_string(size()) + ", generation " +
                             std::to_string(generation()) +
                             ": a connection ended when all had just connected: " + error.what());
  }
}

LinkCommunicator::~LinkCommunicator() {
  if (process_forks_ != forks()) {
    // Threads that these wait for stayed behind in the parent.
    for (Peer& each : peers_) (void)each.incoming.release(), (void)each.segments.release();
    (void)outgoing_.release(), (void)links_.release();
    return;
  }
  if (!failed() && size() > 1) say_goodbye();
  links_->close();
}

std::string LinkCommunicator::failure_key(const CommunicatorOptions& options) {
  return group_prefix(options) + "failure";
}

template <class Body>
void LinkCommunicator::for_peers(Body&& body) {
  for (int r = 0; r < size(); ++r)
    if (r != rank()) body(r);
}

/// What was written last may not have left this host, and would be lost with the connections: whoever sends a
/// frame once more, of a call or a goodbye, has it.
void LinkCommunicator::say_goodbye() {
  const auto deadline = Clock::now() + kGoodbyeTakes;
  try {
    own_frame_.header = CallHeader{.number = kGoodbye};
    for_peers([&](int r) { outgoing_->send(r, tag_of(calls_done_, Phase::frame), 0, kFrame); });
    for_peers([&](int) { outgoing_->wait_sent(time_until(deadline)); });
    for_peers([&](int r) { peer(r).incoming->wait_received(time_until(deadline)); });
  } catch (const std::exception&) {  // they have ended before
  }
}

void LinkCommunicator::run(const Collective& call) {
  struct Forget {
    LinkCommunicator& all;
    ~Forget() {
      for (Peer& each : all.peers_) each.data.reset();
    }
  } forget_data_of_call{*this};
  switch (call.header.kind) {
    case CollectiveKind::all_reduce:
      reduce(call, true);
      break;
    case CollectiveKind::reduce_scatter:
      reduce(call, false);
      break;
    case CollectiveKind::all_gather:
      gather(call);
      break;
    case CollectiveKind::broadcast:
      broadcast_to_all(call);
      break;
    case CollectiveKind::barrier:
      exchange_frames(call, {});
      break;
  }
  calls_done_ = call.header.number + 1;
  try {
    expect_frames(calls_done_);
  } catch (const std::exception&) {  // gone after its last call: the next one says so
  }
}

void LinkCommunicator::expect_frames(uint64_t number) {
  for_peers([&](int r) { peer(r).incoming->receive(r, tag_of(number, Phase::frame), 0, kFrame); });
}

void LinkCommunicator::exchange_frames(const Collective& call, std::span<const std::byte> payload) {
  own_frame_.header = call.header;
  std::copy(payload.begin(), payload.end(), own_frame_.payload);
  for_peers([&](int r) {
    trying(call, r, [&] { outgoing_->send(r, tag_of(call.header.number, Phase::frame), 0, kFrame); });
  });
  for_peers([&](int r) {
    wait_received(call, r, *peer(r).incoming);
    check_frame(call, r);
  });
  for_peers([&](int r) { wait_sent(call, r, *outgoing_); });
}

void LinkCommunicator::check_frame(const Collective& call, int r) {
  const CallHeader& theirs = peer(r).frame.header;
  if (same_call(theirs, call.header)) return;
  const std::string name = "rank " + std::to_string(r);
  if (theirs.number == kGoodbye)
    fail(call, {Failure::Kind::peer_lost, r, name + " has closed this communicator"});
  fail(call,
       {Failure::Kind::communication, -1, name + " came to " + call_text(theirs) + " instead" + kSameCalls});
}

void LinkCommunicator::reduce(const Collective& call, bool spread) {
  const CallHeader& header = call.header;
  const size_t bytes = static_cast<size_t>(header.count) * size_of(header.dtype);
  if (bytes > kPayload) {
    exchange_frames(call, {});
    return reduce_segments(call, spread);
  }
  exchange_frames(call, {call.in, bytes});
  for (int r = 0; r < size(); ++r)
    sources_[static_cast<size_t>(r)] = r == rank() ? own_frame_.payload : peer(r).frame.payload;
  combine(header.dtype, header.op, sources_, call.out, header.count);
}

/// Everything is asked for and sent at once, but for the segments to be added: of those two are on their way.
void LinkCommunicator::reduce_segments(const Collective& call, bool spread) {
  const CallHeader& header = call.header;
  const size_t element = size_of(header.dtype);
  const auto at_once = static_cast<int64_t>(kSegment / element);
  const auto segments_of = [&](int r) {
    return (part_of(header.count, r, size()).count + at_once - 1) / at_once;
  };
  const auto segment = [&](int r, int64_t k) {
    const ElementRange part = part_of(header.count, r, size());
    return ElementRange{part.first + k * at_once, std::min(at_once, part.count - k * at_once)};
  };
  const auto bytes = [&](int64_t elements) { return static_cast<size_t>(elements) * element; };
  const int64_t own_segments = segments_of(rank());
  const auto ask_for = [&](int r, int64_t k) {
    if (k >= own_segments) return;
    trying(call, r, [&] {
      peer(r).segments->receive(r, tag_of(header.number, Phase::data, k),
                                static_cast<size_t>(k % 2) * kSegment, bytes(segment(rank(), k).count));
    });
  };
  const auto send = [&](int r, Phase phase, int owner, int64_t k) {
    const ElementRange range = segment(owner, k);
    trying(call, r, [&] {
      peer(r).data->send(r, tag_of(header.number, phase, k), bytes(range.first), bytes(range.count));
    });
  };

  result_.resize(kSegment);
  for_peers([&](int r) {
    Peer& one = peer(r);
    if (!one.segments) {
      one.segment_memory.resize(2 * kSegment);
      one.segments = links_->buffer(one.segment_memory.data(), 2 * kSegment);
    }
    one.data = links_->buffer(call.out, bytes(header.count));
    ask_for(r, 0);
    ask_for(r, 1);
    for (int64_t k = 0; spread && k < segments_of(r); ++k) {
      const ElementRange range = segment(r, k);
      trying(call, r, [&] {
        one.data->receive(r, tag_of(header.number, Phase::result, k), bytes(range.first), bytes(range.count));
      });
    }
  });
  for_peers([&](int r) {
    for (int64_t k = 0; k < segments_of(r); ++k) send(r, Phase::data, r, k);
  });
  for (int64_t k = 0; k < own_segments; ++k) {
    const ElementRange own = segment(rank(), k);
    std::byte* const place = call.out + bytes(own.first);
    for (int r = 0; r < size(); ++r) {
      if (r != rank()) wait_received(call, r, *peer(r).segments);
      sources_[static_cast<size_t>(r)] =
          r == rank() ? place : peer(r).segment_memory.data() + static_cast<size_t>(k % 2) * kSegment;
    }
    combine(header.dtype, header.op, sources_, result_.data(), own.count);
    std::memcpy(place, result_.data(), bytes(own.count));
    for_peers([&](int r) {
      ask_for(r, k + 2);
      if (spread) send(r, Phase::result, rank(), k);
    });
  }
  for_peers([&](int r) {
    const int64_t sent = segments_of(r) + (spread ? own_segments : 0);
    for (int64_t k = 0; spread && k < segments_of(r); ++k) wait_received(call, r, *peer(r).data);
    for (int64_t k = 0; k < sent; ++k) wait_sent(call, r, *peer(r).data);
  });
}

void LinkCommunicator::gather(const Collective& call) {
  const auto size_at = [&](int r) { return static_cast<size_t>(call.sizes[static_cast<size_t>(r)]); };
  const bool small = static_cast<size_t>(*std::max_element(call.sizes.begin(), call.sizes.end())) <= kPayload;
  const size_t own = size_at(rank());
  const uint64_t tag = tag_of(call.header.number, Phase::data);
  exchange_frames(call, {call.in, small ? own : 0});
  const auto outgoing = small || own == 0 ? nullptr : links_->buffer(const_cast<std::byte*>(call.in), own);
  size_t begin = 0;
  for (int r = 0; r < size(); begin += size_at(r++)) {
    const size_t bytes = size_at(r);
    if (bytes == 0) continue;
    if (r == rank()) {
      std::memmove(call.out + begin, call.in, bytes);
    } else if (small) {
      std::memcpy(call.out + begin, peer(r).frame.payload, bytes);
    } else {
      peer(r).data = links_->buffer(call.out + begin, bytes);
      trying(call, r, [&] { peer(r).data->receive(r, tag, 0, bytes); });
    }
  }
  if (outgoing) for_peers([&](int r) { trying(call, r, [&] { outgoing->send(r, tag, 0, own); }); });
  for_peers([&](int r) {
    if (peer(r).data) wait_received(call, r, *peer(r).data);
  });
  if (outgoing) for_peers([&](int r) { wait_sent(call, r, *outgoing); });
}

void LinkCommunicator::broadcast_to_all(const Collective& call) {
  const auto bytes = static_cast<size_t>(call.header.count);
  const int root = call.header.root;
  const bool small = bytes <= kPayload, sends = rank() == root;
  const uint64_t tag = tag_of(call.header.number, Phase::data);
  exchange_frames(call, {call.in, small && sends ? bytes : 0});
  if (small) {
    if (!sends && bytes > 0) std::memcpy(call.out, peer(root).frame.payload, bytes);
    return;
  }
  const auto data = links_->buffer(call.out, bytes);
  if (!sends) {
    trying(call, root, [&] { data->receive(root, tag, 0, bytes); });
    return wait_received(call, root, *data);
  }
  for_peers([&](int r) { trying(call, r, [&] { data->send(r, tag, 0, bytes); }); });
  for_peers([&](int r) { wait_sent(call, r, *data); });
}

template <class Body>
void LinkCommunicator::trying(const Collective& call, int r, Body&& body) {
  std::string why;
  try {
    return body();
  } catch (const std::exception& error) {
    why = error.what();
  }
  lose(call, r, why);
}

void LinkCommunicator::wait_received(const Collective& call, int r, Links::Buffer& buffer) {
  wait(call, r, buffer, [&](milliseconds time) { return buffer.wait_received(time); });
}

void LinkCommunicator::wait_sent(const Collective& call, int r, Links::Buffer& buffer) {
  wait(call, r, buffer, [&](milliseconds time) { return buffer.wait_sent(time); });
}

template <class Wait>
void LinkCommunicator::wait(const Collective& call, int r, Links::Buffer& buffer, Wait&& wait_once) {
  const auto await = [&](Links::Buffer* now) {
    std::lock_guard lock(awaited_mutex_);
    awaited_ = now;
    return !interrupted_;
  };
  bool done = false;
  std::string why;
  try {
    done = await(&buffer) && wait_once(time_until(call.deadline));
  } catch (const std::exception& error) {
    why = error.what();
  }
  await(nullptr);
  if (!done) lose(call, r, why);
}

/// The connection with rank `r` is of no more use; perhaps because somebody gave up and said why.
void LinkCommunicator::lose(const Collective& call, int r, const std::string& why) {
  const std::string name = "rank " + std::to_string(r);
  if (failed()) fail(call, {});
  if (Clock::now() >= call.deadline) fail(call, {Failure::Kind::timeout, r, name + " did not come in time"});
  const auto until = std::min(Clock::now() + kReasonComes, call.deadline);
  do {
    if (std::optional<Failure> told = reason_of_others()) fail(call, *std::move(told));
    std::this_thread::sleep_for(milliseconds(5));
  } while (Clock::now() < until);
  fail(call, {Failure::Kind::peer_lost, r, name + " has ended, or the connection with it: " + why});
}

/// "<rank> <kind> <lost rank> <text>", as interrupt() writes it.
std::optional<Communicator::Failure> LinkCommunicator::reason_of_others() noexcept {
  try {
    const std::optional<std::string> value = rendezvous_->get(failure_key(options()));
    if (!value) return std::nullopt;
    std::string_view text = *value;
    const auto by = take_number(text), kind = take_number(text), lost = take_number(text);
    if (!by || !kind || !lost || *kind < 0 || *kind > 2) return std::nullopt;
    return Failure{static_cast<Failure::Kind>(*kind), *lost >= 0 && *lost < size() ? *lost : -1,
                   "told by rank " + std::to_string(*by) + ": " + std::string(text)};
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

void LinkCommunicator::interrupt(const Failure& failure) noexcept {
  if (process_forks_ != forks() || !awaited_mutex_.lock_unless_lost()) return;
  interrupted_ = true;
  if (awaited_ != nullptr) awaited_->abort_waits();
  awaited_mutex_.unlock();
  tell_reason(failure);  // first: whoever sees the connections end looks for it
  links_->close();
}

void LinkCommunicator::tell_reason(const Failure& failure) noexcept try {
  const std::string key = failure_key(options());
  if (rendezvous_->get(key)) return;
  const std::string numbers = std::to_string(rank()) + " " + std::to_string(static_cast<int>(failure.kind)) +
                              " " + std::to_string(failure.peer) + " ";
  rendezvous_->set(key, numbers + failure.text.substr(0, 2000));
} catch (const std::exception&) {  // the others see the connections end all the same
}

}  // namespace nyala::detail
