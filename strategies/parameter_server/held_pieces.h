#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nyala/strategies/parameter_server/server_message.h>

namespace nyala::detail {

/// The gradients of a synchronous step's pieces, until all are there and the chief says that they count.
/// Those of one attempt's part at a time: a later one replaces them.
class HeldPieces {
 public:
  using Bytes = std::vector<std::byte>;
  struct Piece {
    std::string rule;  // by which its gradients are applied
    std::vector<ParameterEntry> entries;
    Bytes payload;
  };

  /// Of two that are the same the first one stays.
  void hold(const StepPiece& place, Piece piece);
  /// All of the attempt's part that `any` is a piece of, in their order; empty where some are missing.
  std::vector<const Piece*> all_of(const StepPiece& any) const;
  /// As if there had been none: whoever is asked to hold pieces knows which steps are over.
  void clear() { *this = {}; }
  /// What there is, for people.
  std::string describe() const;

 private:
  StepPiece attempt_;
  std::vector<std::optional<Piece>> pieces_;
};

}  // namespace nyala::detail
