#include <nyala/strategies/parameter_server/held_pieces.h>

#include <algorithm>
#include <tuple>

#include <nyala/backend/core/error.h>

namespace nyala::detail {

namespace {

auto order_of(const StepPiece& piece) { return std::tuple(piece.id, piece.attempt, piece.part); }

}  // namespace

void HeldPieces::hold(const StepPiece& place, Piece piece) {
  if (place.id == 0 || place.piece < 0 || place.piece >= place.pieces || place.pieces > StepPiece::kMost)
    throw CommunicationError("parameter server: piece " + std::to_string(place.piece) + " of " +
                             std::to_string(place.pieces) + " of step " + std::to_string(place.id));
  if (order_of(place) < order_of(attempt_)) return;
  if (order_of(place) > order_of(attempt_) || std::ssize(pieces_) != place.pieces) {
    attempt_ = place;
    pieces_.clear();
    pieces_.resize(static_cast<size_t>(place.pieces));
  }
  std::optional<Piece>& held = pieces_[static_cast<size_t>(place.piece)];
  if (!held) held = std::move(piece);
}

std::vector<const HeldPieces::Piece*> HeldPieces::all_of(const StepPiece& any) const {
  std::vector<const Piece*> all;
  if (order_of(any) != order_of(attempt_) || std::ssize(pieces_) != any.pieces) return all;
  for (const std::optional<Piece>& held : pieces_) {
    if (!held) return {};
    all.push_back(&*held);
  }
  return all;
}

std::string HeldPieces::describe() const {
  const auto held = std::ranges::count_if(pieces_, [](const auto& piece) { return piece.has_value(); });
  return std::to_string(held) + " of " + std::to_string(pieces_.size()) + " pieces of step " +
         std::to_string(attempt_.id) + ", attempt " + std::to_string(attempt_.attempt);
}

}  // namespace nyala::detail
