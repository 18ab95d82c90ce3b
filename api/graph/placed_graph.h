#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include <nyala/backend/core/mutex.h>
#include <nyala/backend/parameters/call.h>

namespace nyala {

/// What a placed graph knows of one call: where it was traced and which values it reads and makes.
struct PlacedStep {
  Device device;  // kNoPlacement: where the model's inputs are
  std::vector<int> inputs;
  int first_output = 0;
  int num_outputs = 1;
};

/// The plan of a model some of whose calls were traced under device() guards. Calls are cut into levels: a
/// value that crosses from one device to another begins the next level, and so does state that calls on two
/// devices write, which they do in the order of the graph. Within a level the devices work at
/// the same time, each with its share of the compute threads.
class PlacedGraph {
 public:
  /// Runs step number `step` on `values`.
  using RunStep = std::function<void(Call& c, size_t step, Tensors& values)>;

  /// `abstract`: tensors of the model's inputs, at the places of their values. Runs every step on
  /// abstract tensors, in training and out of it, to learn its random draws and the state that it writes.
  PlacedGraph(std::vector<PlacedStep> steps, std::vector<int> outputs, Tensors abstract, RunStep run_step);

  /// Fills `values`, which hold the inputs, up to the outputs; those end on the device where the work begins:
  /// that of the open guard, else that of `values[first_input]`.
  void run(Call& c, Tensors& values, size_t first_input) const;

  /// The devices that guards named.
  std::vector<Device> devices() const;

 private:
  /// Calls of one level on one device, in the order of the graph.
  struct Segment {
    Device device;
    std::vector<size_t> steps;
    std::vector<int> inputs, outputs;
    std::vector<std::vector<int>> dead_after;  // per step: values that nobody reads later
  };
  struct Level {
    std::vector<Segment> segments;
    std::vector<int> dead_after;
  };
  using Plan = std::vector<Level>;
  struct Pass;

  void learn_effects(const Tensors& abstract);
  const Plan& plan_for(Device home) const;
  Plan make_plan(Device home) const;
  std::vector<int> levels_of(Device home) const;
  void find_inputs(Plan& plan) const;
  void find_outputs(Plan& plan) const;
  void find_last_uses(Plan& plan) const;
  void run_alone(Pass& pass, const Segment& segment, Tensors& values) const;
  void run_together(Pass& pass, const Level& level, Tensors& values) const;
  void run_steps(Pass& pass, const Segment& segment, Tape* tape, Tensors& local) const;

  std::vector<PlacedStep> steps_;
  std::vector<int> outputs_;
  RunStep run_step_;
  size_t num_values_;
  std::array<std::vector<uint64_t>, 2> draws_before_;  // of each step, and of all; [1] in training
  std::vector<std::vector<size_t>> state_from_;        // earlier steps that write what a step writes
  mutable Mutex mutex_;
  mutable std::map<Device, Plan> plans_;  // by the device where the work begins
};

}  // namespace nyala
