#include <cmath>

#include <nyala/api/callbacks/base/python_text.h>
#include <nyala/api/callbacks/terminate_on_nan.h>
#include <nyala/api/model/model.h>
#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

void TerminateOnNaN::on_train_batch_end(int64_t batch, Logs& logs) {
  if (!logs.contains("loss")) return;
  const double loss = logs["loss"];
  if (std::isfinite(loss)) return;
  if (config_.raise_error)
    throw NumericError("NaN or Inf loss encountered at batch " + std::to_string(batch) +
                       ". Loss value: " + python_repr(loss) + ". Terminating training immediately.");
  print_message("Batch " + std::to_string(batch) + ": Invalid loss, terminating training");
  model().set_stop_training(true);
}

}  // namespace nyala
