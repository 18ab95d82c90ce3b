#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <nyala/backend/core/tensor.h>
#include <nyala/strategies/parameter_server/step_piece.h>

namespace nyala::detail {

/// What a parameter server was before a synchronous step that changes it several times: where the step is
/// begun again it goes back to that.
struct StepBefore {
  StepPiece attempt;                           ///< any piece of the one that goes on
  int64_t parts = 0;                           ///< how many of its changes have been made
  uint64_t version = 0;                        ///< of the server
  std::map<std::string, Tensor> values = {};   ///< of variables
  std::map<std::string, Tensors> states = {};  ///< of rules
};

}  // namespace nyala::detail
