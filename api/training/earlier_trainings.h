#pragma once

#include <functional>
#include <memory>

#include <nyala/api/model/model_node.h>
#include <nyala/strategies/process_generations.h>

namespace nyala {

/// What becomes of the models of trainings that are done where a process is started again: it passes these
/// trainings over, and awaits what they made of the models. Where all meet in a later one, it gets them as
/// they are by then; until then their variables are awaited (set_awaited()).

/// `model` has been trained in the training of that number, by this process, too.
void note_training(ProcessGenerations& generations, int64_t number, const std::shared_ptr<ModelNode>& model);
/// The same of a training that only the others did. `learn` builds model and optimizer.
void pass_over_training(ProcessGenerations& generations, int64_t number,
                        const std::shared_ptr<ModelNode>& model, const std::function<void()>& learn);

/// While it lives variables that are awaited can be used: where they get their values.
class AwaitedInUse {
 public:
  explicit AwaitedInUse(ProcessGenerations& generations);
  ~AwaitedInUse();
  AwaitedInUse(const AwaitedInUse&) = delete;
  AwaitedInUse& operator=(const AwaitedInUse&) = delete;

 private:
  ProcessGenerations& generations_;
};

/// How many models this process awaits besides `current`.
int64_t number_of_awaited(const ProcessGenerations& generations, const ModelNode& current);
/// `current` has got its state.
void note_taken(ProcessGenerations& generations, const ModelNode& current);
/// The models of `root`'s earlier trainings but `current`: processes that await one take it. All processes
/// call it. Those with sums over replicas, which no process has alone, are left out, and so are those in the
/// middle of gathering gradients. Throws StateError for a model that the others made differently.
void take_earlier(ProcessGenerations& generations, int root, const ModelNode& current);

}  // namespace nyala
