#include <nyala/api/estimator/train_and_evaluate.h>

#include <nyala/backend/core/error.h>

namespace nyala {

namespace {

using Clock = std::chrono::steady_clock;

/// Evaluates the model inside of fit whenever a checkpoint has been written: its state is the checkpoint's.
class EvaluatesNewCheckpoints : public Callback {
 public:
  EvaluatesNewCheckpoints(const Estimator& estimator, const EvalSpec& spec)
      : estimator_(estimator), spec_(spec) {}

  void on_train_begin(Logs&) override { seen_ = estimator_.latest_checkpoint(); }

  void on_train_batch_end(int64_t, Logs&) override {
    if (Clock::now() - begun_ < spec_.throttle) return;
    const std::string latest = estimator_.latest_checkpoint();
    if (latest == seen_) return;
    seen_ = latest;
    begun_ = Clock::now();
    model().evaluate(spec_.input_fn(), {.steps = spec_.steps});
  }

 private:
  const Estimator& estimator_;
  const EvalSpec& spec_;
  std::string seen_;
  Clock::time_point begun_ = Clock::now();
};

}  // namespace

Logs train_and_evaluate(Estimator& estimator, const TrainSpec& train_spec, const EvalSpec& eval_spec) {
  if (!eval_spec.input_fn || eval_spec.steps < 0)
    throw InvalidArgumentError(
        "train_and_evaluate: expected a function that makes the data of evaluations, and steps of 0 or more");
  std::vector<CallbackArgument> callbacks = train_spec.callbacks;
  callbacks.emplace_back(EvaluatesNewCheckpoints(estimator, eval_spec));
  estimator.train(train_spec.input_fn, {.max_steps = train_spec.max_steps, .callbacks = callbacks});
  return estimator.evaluate(eval_spec.input_fn, {.steps = eval_spec.steps});
}

}  // namespace nyala
