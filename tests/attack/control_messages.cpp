// Messages of the control plane that lie: bytes of real ones changed, cut, joined and made up. Each has to be
// decoded or refused with CommunicationError, and what was decoded may be asked of a control plane.
//   attack_control_messages [trials = 20000] [seed = 1]
#include <cstdlib>
#include <iostream>
#include <random>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/control/control_state.h>

namespace {

using namespace nyala::detail;
using Random = std::mt19937_64;

size_t below(Random& random, size_t end) { return random() % end; }

std::string some_text(Random& random, size_t most) {
  std::string text(below(random, most), '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

std::string real_request(Random& random) {
  ControlRequest request;
  request.call = static_cast<ControlCall>(below(random, 11));
  request.rank = static_cast<int32_t>(below(random, 5)) - 1;
  request.size = 3;
  request.timeout_ms = static_cast<uint32_t>(random());
  request.generation = below(random, 3);
  request.process = below(random, 4);
  request.name = some_text(random, 12);
  request.value = some_text(random, 40);
  for (size_t facts = below(random, 4); facts > 0; --facts)
    request.facts.emplace_back(some_text(random, 5), some_text(random, 5));
  for (size_t bases = below(random, 3); bases > 0; --bases)
    request.bases.push_back({below(random, 4), below(random, 2) == 1, {below(random, 4), below(random, 4)}});
  return encode(request);
}

std::string real_reply(Random& random) {
  ControlReply reply;
  reply.value = some_text(random, 40);
  reply.text = some_text(random, 40);
  reply.members.resize(below(random, 5));
  return encode(reply);
}

void change(Random& random, std::string& bytes) {
  for (size_t changes = below(random, 5); changes > 0 && !bytes.empty(); --changes) {
    const size_t place = below(random, bytes.size());
    switch (below(random, 4)) {
      case 0:
        bytes[place] = static_cast<char>(random());
        break;
      case 1:
        bytes.resize(place);
        break;
      case 2:
        bytes.insert(place, some_text(random, 9));
        break;
      default:
        bytes[place] = static_cast<char>(below(random, 2) ? 0xff : 0x7f);
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  const long trials = count > 1 ? std::atol(arguments[1]) : 20000;
  const unsigned long seed = count > 2 ? std::strtoul(arguments[2], nullptr, 10) : 1;
  Random random(seed);
  long taken = 0, refused = 0, answers = 0;
  ControlState state({.size = 3});
  auto now = ControlState::Clock::now();
  for (long trial = 0; trial < trials; ++trial) {
    const bool is_request = trial % 2 == 0;
    std::string bytes = is_request ? real_request(random) : real_reply(random);
    change(random, bytes);
    try {
      if (is_request) {
        const uint64_t id = state.handle(
            decode_control_request(bytes), [&](ControlReply) { ++answers; }, now);
        if (below(random, 4) == 0) state.cancel(id, now);
      } else {
        decode_control_reply(bytes);
      }
      ++taken;
    } catch (const nyala::CommunicationError&) {
      ++refused;
    }
    now += std::chrono::milliseconds(below(random, 300));
    if (below(random, 3) == 0) state.tick(now);
  }
  state.close();
  std::cout << "seed " << seed << ": " << trials << " messages, " << taken << " taken, " << refused
            << " refused, " << answers << " answers\n";
  return taken > 0 && refused > 0 && answers > 0 ? 0 : 1;
}
