#pragma once

#include <cstdint>
#include <functional>

#include <nyala/api/model/model.h>
#include <nyala/strategies/process_generations.h>

namespace nyala {

/// A call between trainings that all processes of a model's strategy make together and that changes nothing
/// in the model: evaluate, predict, save.
struct CallOfAll {
  const char* what;
  /// The call itself. It may be made several times.
  std::function<void()> make;
  /// Builds the model as the others have it, where it is not yet.
  std::function<void()> learn = [] {};
  /// In place of make() where the others have done the call without this process, which was started again or
  /// stood still: with the number that the call has in ProcessGenerations::results.
  std::function<void(ProcessGenerations&, int64_t number)> pass_over;
};

/// Makes the call. Where a process is lost meanwhile, or was lost before, it is made once more by all of the
/// next generation, as fit goes on there; where there is no next one, CommunicationError. Inside of another
/// call (fit's callbacks) that one is made again. Returns the call's number, 0 where no generations are
/// counted or the call is inside of another one.
int64_t make_with_all(const Model& model, const CallOfAll& call);

/// Keeps what evaluate gave in that call, and reads it.
void keep_result(ProcessGenerations& generations, int64_t number, const Logs& logs);
/// Throws StateError where it was not kept.
Logs kept_result(const ProcessGenerations& generations, int64_t number);

/// The same for predict, while all that is kept is no more than so many bytes, and where processes may be
/// started again; else nothing is kept.
constexpr size_t kMostKeptBytes = size_t{64} << 20;
void keep_outputs(ProcessGenerations& generations, int64_t number, const Tensors& outputs);
Tensors kept_outputs(const ProcessGenerations& generations, int64_t number);

}  // namespace nyala
