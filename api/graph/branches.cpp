// Branches run at the same time, each with a tape of its own, since a tape is one thread's. The pass' tape
// gets one entry for all of them: its inputs are what came in and every weight that a branch read, its
// gradient walks the branches' tapes, again at the same time. On each of those an entry at the beginning
// hands out what came in, and one at the end leads to all results, so that one walk serves several outputs.
// Gradients meet in a fixed order, the last branch first.
#include <nyala/api/graph/branches.h>

#include <mutex>
#include <set>

#include <nyala/api/layers/base/mask.h>
#include <nyala/backend/autograd/backward.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/mutex.h>
#include <nyala/backend/ops/base/device_copy.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/together.h>

namespace nyala {

using namespace nyala::detail;

Tensor seen_with_mask(const Tensor& x, Device device) {
  if (x.device() == device) return x;
  const Tensor mask = mask_of(x), out = ops::seen_from(x, device);
  return mask.defined() ? with_mask(out, ops::seen_from(mask, device)) : out;
}

namespace {

/// What one branch leaves for backward. The indices count the inputs and outputs of the region's entry.
struct Part {
  std::shared_ptr<Tape> tape = std::make_shared<Tape>();  // a GradientTape inside a layer shares it
  Device device;
  int threads = 1;
  Tensor end;                   // leads back to every tracked output
  std::vector<size_t> inputs;   // of each value that came in tracked
  std::vector<size_t> outputs;  // of each tracked result
  std::vector<std::pair<int32_t, size_t>> leaves;
  // of one walk:
  Tensors seeds, input_gradients;
  std::vector<std::pair<int32_t, Tensor>> leaf_gradients;
};

/// The tapes of branches that ran together; held by the entry on the tape of the pass.
struct Region {
  std::vector<std::unique_ptr<Part>> parts;
  size_t count = 0;  // parts in use

  void clear() {
    for (std::unique_ptr<Part>& part : parts) {
      part->tape->clear();
      part->end = Tensor();
      part->inputs.clear();
      part->outputs.clear();
      part->leaves.clear();
      part->seeds.clear();
      part->input_gradients.clear();
      part->leaf_gradients.clear();
    }
    count = 0;
  }
};

/// Regions that no tape needs any more: their tapes keep memory for the next step.
struct RegionPool {
  Mutex mutex{Mutex::AtFork::is_waited};
  std::vector<std::unique_ptr<Region>> idle;
};

RegionPool& region_pool() {
  static RegionPool* const pool = new RegionPool;  // tensors may outlive static objects
  return *pool;
}

std::shared_ptr<Region> take_region(size_t count) {
  std::unique_ptr<Region> region;
  {
    std::lock_guard lock(region_pool().mutex);
    if (!region_pool().idle.empty()) {
      region = std::move(region_pool().idle.back());
      region_pool().idle.pop_back();
    }
  }
  if (!region) region = std::make_unique<Region>();
  while (region->parts.size() < count) region->parts.push_back(std::make_unique<Part>());
  region->count = count;
  return {region.release(), [](Region* used) {
            used->clear();
            std::lock_guard lock(region_pool().mutex);
            region_pool().idle.emplace_back(used);
          }};
}

/// Which part an entry on a part's tape belongs to.
struct PartLink {
  Part* part;
};

void begin_gradient(GradContext& c) {
  Part& part = *c.descriptor<PartLink>().part;
  for (size_t i = 0; i < part.inputs.size(); ++i) part.input_gradients[i] = c.grad(i);
}

void end_gradient(GradContext& c) {
  const Part& part = *c.descriptor<PartLink>().part;
  for (size_t i = 0; i < part.seeds.size(); ++i)
    if (part.seeds[i].defined()) c.set(i, part.seeds[i]);
}

void infer_nothing(InferContext& c) { c.fail("expected to be recorded, not dispatched"); }

/// First entry of a part's tape: its outputs are what came in.
const OpDef kBranchBegin = {
    .name = "branch_begin", .infer = infer_nothing, .gradient = begin_gradient, .reference = {}};
/// Last entry: its inputs are what goes out.
const OpDef kBranchEnd = {
    .name = "branch_end", .infer = infer_nothing, .gradient = end_gradient, .reference = {}};

class LeafGradients final : public GradientSink {
 public:
  explicit LeafGradients(Part& part) : part_(part) {}
  Tensor destination(int32_t) override { return {}; }
  bool without_gradient(int32_t) override { return true; }
  void ready(int32_t leaf, const Tensor& gradient) override {
    part_.leaf_gradients.emplace_back(leaf, gradient);
  }

 private:
  Part& part_;
};

void walk_part(Part& part) {
  bool reached = false;
  for (const Tensor& seed : part.seeds) reached = reached || seed.defined();
  if (!reached) return;
  ThreadContext& context = thread_context();
  const ScopedValue<Device> device(context.device, part.device);
  const ScopedValue<Tape*> tape(context.tape, nullptr);
  const ScopedValue<int> team(context.compute_threads, part.threads);
  LeafGradients sink(part);
  backward_keep(*part.tape, part.end, sink, part.end.detached());
}

void region_gradient(GradContext& c) {
  Region& region = *c.input(0).raw_as<Region>();
  for (size_t p = 0; p < region.count; ++p) {
    Part& part = *region.parts[p];
    part.seeds.clear();
    for (const size_t output : part.outputs) part.seeds.push_back(c.grad(output));
    part.input_gradients.assign(part.inputs.size(), Tensor());
    part.leaf_gradients.clear();
  }
  run_together(region.count, [&](size_t p) { walk_part(*region.parts[p]); });
  for (size_t p = region.count; p-- > 0;) {
    Part& part = *region.parts[p];
    for (const auto& [leaf, gradient] : part.leaf_gradients)
      for (const auto& [key, input] : part.leaves)
        if (key == leaf) c.set(input, gradient);
    for (size_t i = 0; i < part.inputs.size(); ++i)
      if (part.input_gradients[i].defined()) c.set(part.inputs[i], part.input_gradients[i]);
    part.seeds.clear();
    part.input_gradients.clear();
    part.leaf_gradients.clear();
  }
}

/// On the tape of the pass; input 0 holds the region.
const OpDef kBranches = {.name = "branches on several devices",
                         .infer = infer_nothing,
                         .gradient = region_gradient,
                         .keep_inputs = keep(0),
                         .reference = {}};

/// The values as the branch sees them: tracked by its tape where they were tracked by that of the pass.
Tensors inputs_of(const Branch& branch, const Tape* tape, Part* part) {
  Tensors inputs, tracked;
  for (const Tensor& input : branch.inputs) {
    inputs.push_back(input.detached());
    if (tape && input.tape() == tape) tracked.push_back(inputs.back());
  }
  if (part) {
    part->tape->record(kBranchBegin, PartLink{part}, {}, tracked);
    for (size_t i = 0, next = 0; i < inputs.size(); ++i)
      if (branch.inputs[i].tape() == tape) inputs[i] = tracked[next++];
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    inputs[i] = seen_with_mask(with_mask(inputs[i], mask_of(branch.inputs[i])), branch.device);
  return inputs;
}

Tensors run_one(const Branch& branch, const Tape* tape, Part* part) {
  ThreadContext& context = thread_context();
  const DeviceGuard on(branch.device);
  const ScopedValue<int> team(context.compute_threads, branch.threads);
  const ScopedValue<Tape*> recorder(context.tape, part && context.tape == tape ? part->tape.get() : nullptr);
  Tape* const own_tape = part ? part->tape.get() : nullptr;
  Tensors results = branch.run(own_tape, inputs_of(branch, tape, part));
  if (!part) return results;
  std::vector<const Tensor*> tracked;
  for (const Tensor& result : results)
    if (result.tape() == own_tape) tracked.push_back(&result);
  part->end = Tensor(0.0f);
  part->tape->record(kBranchEnd, PartLink{part}, tracked, std::span(&part->end, 1));
  return results;
}

/// The entry of all branches on the tape of the pass.
class RegionEntry {
 public:
  RegionEntry(Tape& tape, const std::shared_ptr<Region>& region) : tape_(tape) {
    inputs_.push_back(Tensor::wrap(region.get(), {}, DType::uint8, region));
  }

  void add(const Branch& branch, Part& part, Tensors& results) {
    for (const Tensor& input : branch.inputs) {
      if (input.tape() != &tape_) continue;
      part.inputs.push_back(inputs_.size());
      inputs_.push_back(input);
    }
    std::set<int32_t> keys;
    for (const TapeValue& value : part.tape->values()) {
      if (value.leaf < 0) continue;
      if (!keys.insert(value.leaf).second)
        throw StateError("a branch on " + part.device.to_string() +
                         " reads variables of two strategies; make all of them in one scope");
      part.leaves.emplace_back(value.leaf, inputs_.size());
      inputs_.push_back(tape_.watch_same(value));
    }
    for (Tensor& result : results) {
      if (result.tape() != part.tape.get()) continue;
      const Tensor mask = mask_of(result);
      part.outputs.push_back(outputs_.size());
      outputs_.push_back(result.detached());
      tracked_.push_back(&result);
      masks_.push_back(mask);
    }
  }

  void record() {
    std::vector<const Tensor*> pointers;
    for (const Tensor& input : inputs_) pointers.push_back(&input);
    tape_.record(kBranches, NoDescriptor{}, pointers, outputs_);
    for (size_t i = 0; i < outputs_.size(); ++i) *tracked_[i] = with_mask(outputs_[i], masks_[i]);
  }

 private:
  Tape& tape_;
  Tensors inputs_, outputs_, masks_;
  std::vector<Tensor*> tracked_;
};

}  // namespace

std::vector<Tensors> run_branches(Tape* tape, const std::vector<Branch>& branches) {
  if (tape && !tape->recording) tape = nullptr;
  const std::shared_ptr<Region> region = tape ? take_region(branches.size()) : nullptr;
  std::vector<Tensors> results(branches.size());
  run_together(branches.size(), [&](size_t i) {
    Part* const part = region ? region->parts[i].get() : nullptr;
    results[i] = run_one(branches[i], tape, part);
  });
  if (!region) return results;
  RegionEntry entry(*tape, region);
  for (size_t i = 0; i < branches.size(); ++i) {
    Part& part = *region->parts[i];
    part.device = branches[i].device;
    part.threads = branches[i].threads;
    entry.add(branches[i], part, results[i]);
  }
  entry.record();
  return results;
}

}  // namespace nyala
