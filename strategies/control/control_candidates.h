#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nyala/strategies/control/control_transport.h>

namespace nyala::detail {

/// A process that could serve the control plane, and where.
struct ControlCandidate {
  int rank = 0;  ///< as it was started
  HostPort address = {};
};

/// What was seen of one.
struct ControlSight {
  enum class Kind {
    gone,    ///< it has ended: nobody listens there
    silent,  ///< nothing is known of it
    waits,   ///< it lives, and does not serve
    serves,
  };
  ControlCandidate candidate = {};
  Kind kind = Kind::silent;
  uint64_t generation = 0;                         ///< the newest one that it knows
  bool has_generation = false;                     ///< of one that serves: its generation has not ended
  std::optional<ControlCandidate> elsewhere = {};  ///< of one that waits: who serves, as far as it knows

  bool is_alive() const { return kind == Kind::waits || kind == Kind::serves; }
  /// "rank 1 at b:2222 does not answer".
  std::string text() const;
};

struct ControlLook {
  int rank = 0, size = 1;        ///< who looks
  std::string own_address = {};  ///< and would serve there; "" for nobody
  ControlSecurity security = {};
  std::chrono::milliseconds timeout = std::chrono::seconds(1);
};

/// Asks all of them at the same time. Throws nothing for what one of them does.
std::vector<ControlSight> look_at(std::span<const ControlCandidate> candidates, const ControlLook& look);

/// Whom to join: of those that serve one whose generation lives, then one that knows the newest generation,
/// then the lowest rank; null for none.
const ControlSight* best_server(std::span<const ControlSight> sights);
/// The order of best_server().
bool is_better_server(const ControlSight& one, const ControlSight& other);

}  // namespace nyala::detail
