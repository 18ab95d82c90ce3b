#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nyala/api/callbacks/base/callback.h>
#include <nyala/api/callbacks/base/keeps_state.h>
#include <nyala/api/training/state/epoch_sums.h>
#include <nyala/api/training/state/resume_point.h>
#include <nyala/api/training/state/training_position.h>

namespace nyala {

class ModelNode;

/// The logs of the epochs that are done.
using FinishedEpochs = std::vector<std::pair<int, Logs>>;

/// The state of a callback and its class, by which it finds the same one in another process.
struct SavedCallback {
  std::string name;
  CallbackState state;
};

/// What a Checkpoint holds, in memory: what training needs to go on as if it had not been interrupted.
struct TrainingState {
  /// What an optimizer was built for, as places in the model's variables.
  struct Built {
    bool built = false;
    std::vector<int64_t> variables = {};
    int64_t values = 0;  // how many of TrainingState::values are its own
  };

  TrainingPosition position;
  bool epoch_has_begun = false;  // what the hooks at its beginning did is part of the state
  ResumePoint resume;
  Tensors values;  // on the host: the variables', then the optimizers'
  std::vector<Built> optimizers;
  std::vector<uint64_t> random_keys;
  SavedSums sums;
  bool loss_is_tracked = false;
  std::vector<std::vector<LoggedValue>> logged;               // of the last step
  std::vector<std::vector<std::vector<double>>> own_metrics;  // by metric, by replica
  FinishedEpochs finished;
  bool stops = false;  // somebody asked for the end of training
  std::vector<SavedCallback> callbacks;
};

/// What the batches of this epoch came to so far: losses, metrics and what the model logs, nothing else of
/// `state`.
void copy_sums(const ModelNode& model, TrainingState& state);
void restore_sums(ModelNode& model, const TrainingState& state);
/// Weights, and what stateful layers keep from batch to batch.
Variables variables_with_state(const ModelNode& model);
/// Whether a copy can be taken now: no optimizer is in the middle of gathering gradients, which lie in the
/// processes that made them.
bool can_be_copied(const ModelNode& model);
/// Whether a copy asks the other processes: where the model has variables that are sums over replicas.
bool is_copied_together(const ModelNode& model);
/// Copies where `model` stands, but for position and finished epochs, into `state`, whose memory is used
/// again.
void copy_state(ModelNode& model, TrainingState& state);
/// The model goes on from there. It is built, and so is the optimizer of compile().
void restore_state(ModelNode& model, const TrainingState& state);
/// Of what a state of the model is made: equal in processes that made the same model.
uint64_t kind_of_state(const ModelNode& model);

/// Everything but the elements of `values`, as bytes for another process of this program, and back.
std::vector<std::byte> packed(const TrainingState& state);
TrainingState unpacked(std::span<const std::byte> bytes);

}  // namespace nyala
