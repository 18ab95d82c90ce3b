// Nothing is kept of a training that is done: what the others' models are when all meet is what this
// process' would be there. The process that gives the state of the training that goes on gives these, too.
#include <nyala/api/training/earlier_trainings.h>

#include <algorithm>

#include <nyala/api/training/state_broadcast.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/parameters/awaited_variable.h>

namespace nyala {

using namespace nyala::detail;

namespace {

ModelNode* model_of(const std::shared_ptr<Adoptable>& owner) { return dynamic_cast<ModelNode*>(owner.get()); }

EarlierTraining& noted(ProcessGenerations& generations, int64_t number,
                       const std::shared_ptr<ModelNode>& model) {
  std::erase_if(generations.earlier, [&](const EarlierTraining& one) {
    const std::shared_ptr<Adoptable> owner = one.model.lock();
    return !owner || owner == model;
  });
  return generations.earlier.emplace_back(EarlierTraining{number, model});
}

EarlierTraining* find(ProcessGenerations& generations, int64_t number) {
  const auto found = std::ranges::find(generations.earlier, number, &EarlierTraining::number);
  return found == generations.earlier.end() ? nullptr : &*found;
}

/// Of a model that is given.
struct Announced {
  int64_t number = 0;
  uint64_t kind = 0;
};

std::vector<Announced> given(const ProcessGenerations& generations, const ModelNode& current) {
  std::vector<Announced> all;
  for (const EarlierTraining& one : generations.earlier) {
    const std::shared_ptr<Adoptable> owner = one.model.lock();
    const ModelNode* const model = model_of(owner);
    if (!model || model == &current || one.is_awaited) continue;
    if (model->strategy()->generations() != &generations) continue;  // it was adopted elsewhere
    if (!is_copied_together(*model) && can_be_copied(*model))
      all.push_back({one.number, kind_of_state(*model)});
  }
  return all;
}

void take(EarlierTraining& earlier, ModelNode& model, uint64_t kind, const TrainingState& state) {
  if (kind_of_state(model) != kind)
    throw StateError("fit: the model of call number " +
                     std::to_string(ProcessGenerations::training_of(earlier.number)) +
                     " of fit has other variables or optimizers than the others'; a process that is started "
                     "again has to make the models of the others");
  restore_state(model, state);
  earlier.is_awaited = false;
  earlier.awaited.clear();
}

}  // namespace

void note_training(ProcessGenerations& generations, int64_t number, const std::shared_ptr<ModelNode>& model) {
  noted(generations, number, model);
}

void pass_over_training(ProcessGenerations& generations, int64_t number,
                        const std::shared_ptr<ModelNode>& model, const std::function<void()>& learn) {
  const AwaitedInUse in_use(generations);
  learn();
  EarlierTraining& earlier = noted(generations, number, model);
  earlier.is_awaited = true;
  earlier.awaited = model->variables();
}

// What a program has assigned itself is known.
AwaitedInUse::AwaitedInUse(ProcessGenerations& generations) : generations_(generations) {
  for (EarlierTraining& one : generations.earlier)
    std::erase_if(one.awaited, [](const Variable& variable) { return !is_awaited(variable); });
  for (EarlierTraining& one : generations.earlier)
    for (const Variable& variable : one.awaited) set_awaited(variable, false);
}

AwaitedInUse::~AwaitedInUse() {
  for (const EarlierTraining& one : generations_.earlier)
    for (const Variable& variable : one.awaited) set_awaited(variable, true);
}

int64_t number_of_awaited(const ProcessGenerations& generations, const ModelNode& current) {
  return std::ranges::count_if(generations.earlier, [&](const EarlierTraining& one) {
    return one.is_awaited && model_of(one.model.lock()) != &current;
  });
}

void note_taken(ProcessGenerations& generations, const ModelNode& current) {
  const Variables known = current.variables();
  for (EarlierTraining& one : generations.earlier) {
    if (model_of(one.model.lock()) == &current) one.is_awaited = false;
    std::erase_if(one.awaited, [&](const Variable& variable) {
      return std::ranges::find(known, variable) != known.end();
    });
  }
}

void take_earlier(ProcessGenerations& generations, int root, const ModelNode& current) {
  const bool gives = generations.link().rank() == root;
  std::vector<Announced> all;
  if (gives) all = given(generations, current);
  int64_t count = std::ssize(all);
  constexpr const char* kWhat = "the models of earlier trainings";
  generations.broadcast(std::as_writable_bytes(std::span(&count, 1)), root, kWhat);
  all.resize(static_cast<size_t>(count));
  generations.broadcast(std::as_writable_bytes(std::span(all)), root, kWhat);
  for (const Announced& one : all) {
    EarlierTraining* const earlier = find(generations, one.number);
    const std::shared_ptr<Adoptable> owner = earlier ? earlier->model.lock() : nullptr;
    ModelNode* const model = model_of(owner);
    TrainingState state;
    if (gives) copy_state(*model, state);
    broadcast_state(generations, root, state);
    if (model && earlier->is_awaited) take(*earlier, *model, one.kind, state);
  }
}

}  // namespace nyala
