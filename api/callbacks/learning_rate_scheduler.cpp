#include <nyala/api/callbacks/base/python_text.h>
#include <nyala/api/callbacks/learning_rate_scheduler.h>
#include <nyala/api/model/model.h>
#include <nyala/backend/core/check_is_function.h>

namespace nyala {

using namespace nyala::detail;

void LearningRateScheduler::on_epoch_begin(int epoch, Logs&) {
  check_is_function(schedule_, "LearningRateScheduler");  // one that was moved from has none
  const Optimizer optimizer = model().optimizer();
  const double rate = schedule_(epoch, optimizer.learning_rate());
  optimizer.set_learning_rate(rate);
  if (config_.verbose > 0)
    print_message("\nEpoch " + std::to_string(epoch + 1) +
                  ": LearningRateScheduler setting learning rate to " + python_repr(rate) + ".");
}

void LearningRateScheduler::on_epoch_end(int, Logs& logs) {
  logs.set("learning_rate", model().optimizer().learning_rate());
}

}  // namespace nyala
