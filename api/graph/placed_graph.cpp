// The plan is made of levels: a step's level is the largest of those that it depends on, one more where that
// lies on another device, so that the steps of one level and device follow each other and devices of one
// level work at the same time. Besides values, steps that write the same variable depend on each other. How
// many random numbers each step draws and what it writes is learned from a run on abstract tensors, so that
// the numbers are those of a run in order.
#include <nyala/api/graph/placed_graph.h>

#include <algorithm>
#include <map>
#include <set>

#include <nyala/api/graph/branches.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/thread_team.h>

namespace nyala {

using namespace nyala::detail;

namespace {

Tensor& at(Tensors& values, int index) { return values[static_cast<size_t>(index)]; }

}  // namespace

PlacedGraph::PlacedGraph(std::vector<PlacedStep> steps, std::vector<int> outputs, Tensors abstract,
                         RunStep run_step)
    : steps_(std::move(steps)),
      outputs_(std::move(outputs)),
      run_step_(std::move(run_step)),
      num_values_(abstract.size()) {
  learn_effects(abstract);
}

void PlacedGraph::learn_effects(const Tensors& abstract) {
  std::vector<std::set<const VariableNode*>> written(steps_.size());
  for (const bool training : {false, true}) {
    uint64_t draws = 0;
    Tensors values = abstract;
    for (size_t step = 0; step < steps_.size(); ++step) {
      Call c({.training = training, .step = Tensor::abstract({}, DType::int64)});
      c.set_draws(draws);
      draws_before_[training].push_back(draws);
      run_step_(c, step, values);
      draws = c.draws();
      for (const auto& [variable, value] : c.assignments()) written[step].insert(&variable.node());
    }
    draws_before_[training].push_back(draws);
  }
  state_from_.resize(steps_.size());
  for (size_t step = 0; step < steps_.size(); ++step)
    for (size_t earlier = 0; earlier < step; ++earlier)
      if (std::any_of(written[step].begin(), written[step].end(),
                      [&](const VariableNode* node) { return written[earlier].contains(node); }))
        state_from_[step].push_back(earlier);
}

std::vector<Device> PlacedGraph::devices() const {
  std::set<Device> named;
  for (const PlacedStep& step : steps_)
    if (step.device != kNoPlacement) named.insert(step.device);
  return {named.begin(), named.end()};
}

std::vector<int> PlacedGraph::levels_of(Device home) const {
  std::vector<int> producer(num_values_, -1), levels;
  auto device = [&](size_t step) { return steps_[step].device == kNoPlacement ? home : steps_[step].device; };
  for (size_t step = 0; step < steps_.size(); ++step) {
    int level = 0;
    for (const int value : steps_[step].inputs) {
      const int from = producer[static_cast<size_t>(value)];
      if (from < 0) continue;
      const size_t source = static_cast<size_t>(from);
      level = std::max(level, levels[source] + (device(source) == device(step) ? 0 : 1));
    }
    for (const size_t earlier : state_from_[step])
      level = std::max(level, levels[earlier] + (device(earlier) == device(step) ? 0 : 1));
    levels.push_back(level);
    for (int i = 0; i < steps_[step].num_outputs; ++i)
      producer[static_cast<size_t>(steps_[step].first_output + i)] = static_cast<int>(step);
  }
  return levels;
}

PlacedGraph::Plan PlacedGraph::make_plan(Device home) const {
  Plan plan;
  const std::vector<int> levels = levels_of(home);
  for (size_t step = 0; step < steps_.size(); ++step) {
    const size_t number = static_cast<size_t>(levels[step]);
    if (number >= plan.size()) plan.resize(number + 1);
    std::vector<Segment>& segments = plan[number].segments;
    const Device device = steps_[step].device == kNoPlacement ? home : steps_[step].device;
    auto segment = std::find_if(segments.begin(), segments.end(),
                                [&](const Segment& existing) { return existing.device == device; });
    if (segment == segments.end()) segment = segments.insert(segments.end(), Segment{device, {}, {}, {}, {}});
    segment->steps.push_back(step);
  }
  // The first segment runs on the calling thread, whose caches hold what the home device has computed.
  for (Level& level : plan)
    std::stable_partition(level.segments.begin(), level.segments.end(),
                          [&](const Segment& segment) { return segment.device == home; });
  find_inputs(plan);
  find_outputs(plan);
  find_last_uses(plan);
  return plan;
}

void PlacedGraph::find_inputs(Plan& plan) const {
  std::vector<const Segment*> maker(num_values_, nullptr);
  for (Level& level : plan)
    for (Segment& segment : level.segments) {
      std::set<int> inputs;
      for (const size_t step : segment.steps) {
        for (const int value : steps_[step].inputs)
          if (maker[static_cast<size_t>(value)] != &segment) inputs.insert(value);
        for (int i = 0; i < steps_[step].num_outputs; ++i)
          maker[static_cast<size_t>(steps_[step].first_output + i)] = &segment;
      }
      segment.inputs.assign(inputs.begin(), inputs.end());
    }
}

void PlacedGraph::find_outputs(Plan& plan) const {
  std::set<int> read(outputs_.begin(), outputs_.end());
  for (const Level& level : plan)
    for (const Segment& segment : level.segments) read.insert(segment.inputs.begin(), segment.inputs.end());
  for (Level& level : plan)
    for (Segment& segment : level.segments)
      for (const size_t step : segment.steps)
        for (int i = 0; i < steps_[step].num_outputs; ++i)
          if (const int value = steps_[step].first_output + i; read.contains(value))
            segment.outputs.push_back(value);
}

void PlacedGraph::find_last_uses(Plan& plan) const {
  std::vector<int> last_level(num_values_, -1);
  for (size_t l = 0; l < plan.size(); ++l)
    for (Segment& segment : plan[l].segments) {
      for (const int value : segment.inputs) last_level[static_cast<size_t>(value)] = static_cast<int>(l);
      std::map<int, size_t> last_step;
      for (size_t i = 0; i < segment.steps.size(); ++i)
        for (const int value : steps_[segment.steps[i]].inputs) last_step[value] = i;
      for (const int value : segment.outputs) last_step.erase(value);
      segment.dead_after.resize(segment.steps.size());
      for (const auto& [value, step] : last_step) segment.dead_after[step].push_back(value);
    }
  for (const int value : outputs_) last_level[static_cast<size_t>(value)] = -1;
  for (size_t value = 0; value < num_values_; ++value)
    if (last_level[value] >= 0)
      plan[static_cast<size_t>(last_level[value])].dead_after.push_back(static_cast<int>(value));
}

const PlacedGraph::Plan& PlacedGraph::plan_for(Device home) const {
  std::lock_guard lock(mutex_);
  const auto found = plans_.find(home);
  return found != plans_.end() ? found->second : plans_.emplace(home, make_plan(home)).first->second;
}

/// Every step has a Call of its own: what the steps write is merged in the order of the graph, as if they had
/// run one after the other.
struct PlacedGraph::Pass {
  Call& c;
  std::vector<Call> calls;
  std::vector<Tensors> losses;  // of each step, on the tape of the pass

  void merge(Device home) {
    for (size_t step = 0; step < calls.size(); ++step) {
      for (const auto& [variable, value] : calls[step].assignments()) c.assign(variable, value);
      for (const auto& [name, value] : calls[step].metrics()) c.add_metric(name, seen_with_mask(value, home));
      for (const Tensor& loss : losses[step]) c.add_loss(seen_with_mask(loss, home));
    }
  }
};

void PlacedGraph::run(Call& c, Tensors& values, size_t first_input) const {
  const ThreadContext& context = thread_context();
  const Device home = context.is_placed() ? context.device : values[first_input].device();
  c.begin_pass();  // branches must not count it each by itself
  Pass pass{c, std::vector<Call>(steps_.size()), std::vector<Tensors>(steps_.size())};
  for (const Level& level : plan_for(home)) {
    if (level.segments.size() == 1)
      run_alone(pass, level.segments[0], values);
    else
      run_together(pass, level, values);
    for (const int dead : level.dead_after) at(values, dead) = Tensor();
  }
  pass.merge(home);
  c.set_draws(c.draws() + draws_before_[c.training()].back());
  for (const int output : outputs_) at(values, output) = seen_with_mask(at(values, output), home);
}

void PlacedGraph::run_steps(Pass& pass, const Segment& segment, Tape* tape, Tensors& local) const {
  CallOptions options = pass.c.options();
  options.tape = tape;
  const std::vector<uint64_t>& draws = draws_before_[options.training];
  for (size_t i = 0; i < segment.steps.size(); ++i) {
    const size_t step = segment.steps[i];
    Call& call = pass.calls[step];
    call.restart(options);
    call.set_draws(pass.c.draws() + draws[step]);
    for (const size_t earlier : state_from_[step])
      for (const auto& [variable, value] : pass.calls[earlier].assignments())
        call.assign(variable, seen_with_mask(value, segment.device));
    run_step_(call, step, local);
    check_internal(call.draws() == pass.c.draws() + draws[step + 1],
                   "a layer draws another number of random numbers than on abstract tensors");
    pass.losses[step] = call.losses();
    for (const int dead : segment.dead_after[i]) at(local, dead) = Tensor();
  }
}

void PlacedGraph::run_alone(Pass& pass, const Segment& segment, Tensors& values) const {
  const DeviceGuard on(segment.device);
  Tensors local(num_values_);
  for (const int input : segment.inputs) at(local, input) = seen_with_mask(at(values, input), segment.device);
  run_steps(pass, segment, pass.c.tape(), local);
  for (const int output : segment.outputs) at(values, output) = at(local, output);
}

void PlacedGraph::run_together(Pass& pass, const Level& level, Tensors& values) const {
  const auto on_cpu = std::count_if(level.segments.begin(), level.segments.end(), [](const Segment& segment) {
    return segment.device.kind == DeviceKind::cpu;
  });
  const int share = std::max(1, compute_threads() / std::max(1, static_cast<int>(on_cpu)));
  std::vector<Branch> branches;
  for (const Segment& segment : level.segments) {
    Branch branch{segment.device, share, {}, {}};
    for (const int input : segment.inputs) branch.inputs.push_back(at(values, input));
    branch.run = [this, &pass, &segment](Tape* tape, const Tensors& inputs) {
      Tensors local(num_values_), results;
      for (size_t i = 0; i < inputs.size(); ++i) at(local, segment.inputs[i]) = inputs[i];
      run_steps(pass, segment, tape, local);
      for (const int output : segment.outputs) results.push_back(at(local, output));
      for (const size_t step : segment.steps)
        results.insert(results.end(), pass.losses[step].begin(), pass.losses[step].end());
      return results;
    };
    branches.push_back(std::move(branch));
  }
  std::vector<Tensors> results = run_branches(pass.c.tape(), branches);
  for (size_t s = 0; s < results.size(); ++s) {
    const Segment& segment = level.segments[s];
    size_t next = 0;
    for (const int output : segment.outputs) at(values, output) = std::move(results[s][next++]);
    for (const size_t step : segment.steps)
      for (Tensor& loss : pass.losses[step]) loss = std::move(results[s][next++]);
  }
}

}  // namespace nyala
