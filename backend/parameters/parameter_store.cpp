// Weights of one dtype are segments of few large chunks, so that an optimizer updates neighbours in one loop
// and a bucket of gradients is a range of memory. Chunks never move; free pieces are kept in order and
// joined, the first that fits is taken. The same segment names an element in every plane (weights, gradients,
// each slot), and what lies between segments stays zero, so that merged segments may be updated and measured
// whole.
#include <nyala/backend/parameters/parameter_store.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/mutex.h>
#include <nyala/backend/parameters/aggregating_variable.h>
#include <nyala/backend/parameters/mirrored_variable.h>
#include <nyala/backend/parameters/remote_table_variable.h>
#include <nyala/backend/parameters/sync_on_read_variable.h>
#include <nyala/backend/runtime/process_exchange.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// Chunks double up to the larger one: what is reserved too much is memory that is touched.
constexpr int64_t kSmallestChunk = int64_t{1} << 18, kLargestGrowth = int64_t{1} << 21;

int64_t padded(int64_t count) {
  return (std::max<int64_t>(count, 1) + ArenaLayout::kAlignment - 1) / ArenaLayout::kAlignment *
         ArenaLayout::kAlignment;
}

bool before(const Segment& a, const Segment& b) {
  return a.chunk != b.chunk ? a.chunk < b.chunk : a.offset < b.offset;
}

}  // namespace

Segment ArenaLayout::reserve(int64_t count) {
  chunk_sizes_.reserve(chunk_sizes_.size() + 1);
  free_.reserve(segments_ + chunk_sizes_.size() + 2);  // as many as there can be: release() allocates nothing
  const int64_t wanted = padded(count);
  auto fitting =
      std::find_if(free_.begin(), free_.end(), [&](const Segment& s) { return s.count >= wanted; });
  if (fitting == free_.end()) {
    int64_t total = 0;
    for (int64_t size : chunk_sizes_) total += size;
    const int64_t size = std::max({wanted, kSmallestChunk, std::min(total, kLargestGrowth)});
    free_.push_back({static_cast<int32_t>(chunk_sizes_.size()), 0, size});
    chunk_sizes_.push_back(size);
    fitting = free_.end() - 1;
  }
  ++segments_;
  const Segment taken{fitting->chunk, fitting->offset, count};
  fitting->offset += wanted;
  fitting->count -= wanted;
  if (fitting->count == 0) free_.erase(fitting);
  return taken;
}

Segment ArenaLayout::with_gap(const Segment& segment) {
  return {segment.chunk, segment.offset, padded(segment.count)};
}

std::optional<int32_t> ArenaLayout::release(const Segment& segment) noexcept {
  --segments_;
  const auto freed = add_free(with_gap(segment));
  int64_t& size = chunk_sizes_[static_cast<size_t>(freed->chunk)];
  if (freed->count < size || size <= kSmallestChunk) return {};
  const int32_t chunk = freed->chunk;
  size = 0;
  free_.erase(freed);
  return chunk;
}

/// Joined with its neighbours.
std::vector<Segment>::iterator ArenaLayout::add_free(Segment freed) noexcept {
  auto next = std::lower_bound(free_.begin(), free_.end(), freed, before);
  if (next != free_.end() && next->chunk == freed.chunk && freed.offset + freed.count == next->offset) {
    freed.count += next->count;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    Segment& previous = *(next - 1);
    if (previous.chunk == freed.chunk && previous.offset + previous.count == freed.offset) {
      previous.count += freed.count;
      return next - 1;
    }
  }
  return free_.insert(next, freed);
}

Tensor Plane::view(const ArenaLayout& layout, const Segment& segment) {
  const auto index = static_cast<size_t>(segment.chunk);
  if (index >= chunks_.size()) chunks_.resize(index + 1);
  Tensor& chunk = chunks_[index];
  if (!chunk.defined()) {  // the layout may have given it up since the segment was a variable's
    const int64_t size = std::max(layout.chunk_sizes()[index], segment.offset + segment.count);
    chunk = Tensor::full({size}, initial_, dtype_, device_);
  }
  return Tensor::view_of(chunk.storage(),
                         chunk.storage_offset() + static_cast<size_t>(segment.offset) * size_of(dtype_),
                         {segment.count}, dtype_);
}

void Plane::reset(const ArenaLayout& layout, const Segment& segment) {
  const auto index = static_cast<size_t>(segment.chunk);
  if (index >= chunks_.size() || !chunks_[index].defined()) return;
  const Tensor place = view(layout, segment);
  if (is_on_host(device_) && initial_ == 0.0)
    std::memset(place.raw(), 0, place.bytes());
  else
    place.copy_from(Tensor::full(place.shape(), initial_, dtype_, device_));
}

void Plane::drop(int32_t chunk) noexcept {
  if (static_cast<size_t>(chunk) < chunks_.size()) chunks_[static_cast<size_t>(chunk)] = Tensor();
}

std::shared_ptr<ParameterStore> ParameterStore::make(std::vector<Device> replica_devices,
                                                     bool share_weights) {
  check_internal(!replica_devices.empty(), "a parameter store without replicas");
  return std::shared_ptr<ParameterStore>(new ParameterStore(std::move(replica_devices), share_weights));
}

std::shared_ptr<ParameterStore> ParameterStore::make_central(std::vector<Device> compute_devices,
                                                             Device parameter_device) {
  check_internal(!compute_devices.empty(), "a parameter store without replicas");
  return std::shared_ptr<ParameterStore>(
      new ParameterStore(std::move(compute_devices), true, parameter_device));
}

std::shared_ptr<ParameterStore> detail::default_store(Device device) {
  static auto* const stores = new std::map<Device, std::shared_ptr<ParameterStore>>;
  static Mutex& mutex = *new Mutex(Mutex::AtFork::is_waited);
  std::lock_guard lock(mutex);
  std::shared_ptr<ParameterStore>& store = (*stores)[device];
  if (!store) {
    store = ParameterStore::make({device}, true);
    store->plain_ = true;
  }
  return store;
}

bool ParameterStore::reads_weights(int replica) const {
  if (!parameter_device_) return true;
  return share_memory(device(replica), *parameter_device_);
}

ParameterStore::Arena& ParameterStore::arena(DType dtype) {
  const auto found = arenas_.find(dtype);
  if (found != arenas_.end()) return found->second;
  Arena made;
  for (int copy = 0; copy < num_weight_copies(); ++copy)
    made.weights.emplace_back(weights_device(copy), dtype);
  for (int replica = 0; replica < num_local_replicas(); ++replica) {
    made.gradients.emplace_back(device(replica), dtype);
    if (!reads_weights(replica)) made.fetched.emplace(replica, Plane(device(replica), dtype));
  }
  if (parameter_device_ && !reads_weights(0)) made.gradients.emplace_back(*parameter_device_, dtype);
  return arenas_.emplace(dtype, std::move(made)).first->second;
}

// Gaps between segments stay zero in every plane, so that merged segments can be updated and measured whole.
void ParameterStore::clean(Arena& arena, const Segment& segment) {
  const Segment whole = ArenaLayout::with_gap(segment);
  for (Plane& plane : arena.weights) plane.reset(arena.layout, whole);
  for (Plane& plane : arena.gradients) plane.reset(arena.layout, whole);
  for (auto& [replica, plane] : arena.fetched) plane.reset(arena.layout, whole);
}

namespace {

/// Throws what no variable may be; synchronization comes out as on_write or on_read.
VariableSpec checked(VariableSpec spec) {
  const std::string place = "variable " + in_quotes(spec.path) + ": ";
  if (name_of(spec.aggregation) == "unknown" || name_of(spec.synchronization) == "unknown")
    throw InvalidArgumentError(place + "expected one of the named synchronizations and aggregations");
  if (spec.synchronization == Synchronization::none)
    throw InvalidArgumentError(
        place + "no variable can have synchronization none; expected auto, on_write or on_read");
  if (spec.aggregation == Aggregation::mean && !is_floating(spec.dtype))
    throw InvalidArgumentError(place + "expected a floating dtype for aggregation mean, received " +
                               std::string(name_of(spec.dtype)));
  if (spec.synchronization == Synchronization::on_read && spec.trainable)
    throw InvalidArgumentError(place +
                               "a variable that is synchronised on reads cannot be trainable; expected "
                               "trainable = false or Synchronization::on_write");
  if (spec.synchronization == Synchronization::automatic) spec.synchronization = Synchronization::on_write;
  return spec;
}

Tensor first_value(const VariableSpec& spec, ProcessExchange* processes) {
  Tensor initial = Tensor::zeros(spec.shape, spec.dtype, Device{});
  if (spec.initialize) spec.initialize(initial);
  if (processes)  // which names both shapes where the processes make different models
    processes->broadcast(initial, "variable " + in_quotes(spec.path) + " of shape " + spec.shape.to_string());
  return initial;
}

}  // namespace

Variable ParameterStore::create(const VariableSpec& given) {
  auto node = std::make_shared<VariableNode>();
  node->spec = checked(given);
  const VariableSpec& spec = node->spec;
  node->trainable = spec.trainable;
  node->plain = plain_;
  node->kind = kind_of(spec);
  const std::shared_ptr<RowSource> elsewhere = source_for(*this, spec);
  if (elsewhere) node->kind = &RemoteTableVariable::instance();
  const Tensor initial = elsewhere ? Tensor() : first_value(spec, processes_.get());
  const std::function<void(const Tensor&)> initialize = std::exchange(node->spec.initialize, nullptr);
  {
    std::lock_guard lock(mutex_);
    free_leaves_.reserve(static_cast<size_t>(next_leaf_) + 1);  // release() allocates nothing
    node->leaf = free_leaves_.empty() ? next_leaf_++ : free_leaves_.back();
    if (!free_leaves_.empty()) free_leaves_.pop_back();
    node->owner = weak_from_this();  // from here on what the variable got is given back, whatever happens
    node->in_arena = !elsewhere && spec.trainable && is_floating(spec.dtype);
    if (elsewhere) {
      for (const Device device : devices_)
        node->copies.push_back(Tensor::abstract(spec.shape, spec.dtype, device));
    } else if (node->in_arena) {
      Arena& own = arena(spec.dtype);
      node->segment = own.layout.reserve(spec.shape.num_elements());
      clean(own, node->segment);
      add_arena_copies(*node);
    } else {
      add_state_copies(*node);
    }
  }
  if (elsewhere) {
    elsewhere->create(node, initialize.target<InitializeRows>()->first());
    return Variable::of(std::move(node));
  }
  // Not assign(): a sum over replicas begins with the whole value on each.
  if (node->home.defined()) node->home.copy_from(initial);
  for (const Tensor& copy : node->copies)
    if (!node->home.defined() || copy.raw() != node->home.raw()) copy.copy_from(initial);
  const Variable made = Variable::of(std::move(node));
  if (created_) created_(made);
  return made;
}

const DistributedVariable* ParameterStore::kind_of(const VariableSpec& spec) const {
  if (spec.synchronization == Synchronization::on_read) return &SyncOnReadVariable::instance();
  if (parameter_device_) return &AggregatingVariable::instance();
  return &MirroredVariable::instance();
}

void ParameterStore::add_arena_copies(VariableNode& node) {
  const DType dtype = node.spec.dtype;
  Arena& own = arena(dtype);
  if (parameter_device_ || (share_weights_ && num_local_replicas() > 1))
    node.home = view_weights(0, dtype, node.segment).with_shape(node.spec.shape);
  for (int replica = 0; replica < num_local_replicas(); ++replica) {
    const auto fetched = own.fetched.find(replica);
    const Tensor flat = fetched != own.fetched.end()
                            ? fetched->second.view(own.layout, node.segment)
                            : view_weights(share_weights_ ? 0 : replica, dtype, node.segment);
    node.copies.push_back(flat.with_shape(node.spec.shape).alias_on(device(replica)));
  }
}

void ParameterStore::add_state_copies(VariableNode& node) {
  const VariableSpec& spec = node.spec;
  if (parameter_device_ && spec.synchronization != Synchronization::on_read)
    node.home = Tensor::empty(spec.shape, spec.dtype, *parameter_device_);
  for (int replica = 0; replica < num_local_replicas(); ++replica) {
    const bool reads_home = node.home.defined() && reads_weights(replica);
    node.copies.push_back(reads_home ? node.home.alias_on(device(replica))
                                     : Tensor::empty(spec.shape, spec.dtype, device(replica)));
  }
}

void ParameterStore::begin_update(const Variables& variables) {
  for (const Variable& variable : variables) {
    VariableNode& node = variable.node();
    if (node.diverged.load(std::memory_order_relaxed)) node.kind->rejoin(node);
    node.note_write();
  }
}

void ParameterStore::fetch(const Variables& variables) {
  if (!parameter_device_ || variables.empty()) return;
  const std::lock_guard lock(mutex_);
  Arena& own = arena(variables.front().dtype());
  if (own.fetched.empty()) return;
  for (const Segment& segment : merged_segments(variables))
    for (auto& [replica, plane] : own.fetched)
      plane.view(own.layout, segment).copy_from(own.weights[0].view(own.layout, segment));
}

ArenaLayout ParameterStore::layout(DType dtype) const {
  std::lock_guard lock(mutex_);
  return arenas_.at(dtype).layout;
}

int32_t ParameterStore::num_leaves() const {
  std::lock_guard lock(mutex_);
  return next_leaf_;
}

Tensor ParameterStore::view_weights(int copy, DType dtype, const Segment& segment) {
  Arena& of_dtype = arena(dtype);
  return of_dtype.weights[static_cast<size_t>(copy)].view(of_dtype.layout, segment);
}

Tensor ParameterStore::weights(int copy, DType dtype, const Segment& segment) {
  std::lock_guard lock(mutex_);
  return view_weights(copy, dtype, segment);
}

Tensor ParameterStore::gradients(int replica, DType dtype, const Segment& segment) {
  std::lock_guard lock(mutex_);
  Arena& of_dtype = arena(dtype);
  if (replica == num_local_replicas() && reads_weights(0))  // the sum is made in the first replica's bytes
    return of_dtype.gradients[0].view(of_dtype.layout, segment).alias_on(*parameter_device_);
  return of_dtype.gradients[static_cast<size_t>(replica)].view(of_dtype.layout, segment);
}

Tensor ParameterStore::gradient(int replica, const Variable& variable) {
  return gradients(replica, variable.dtype(), variable.node().segment).with_shape(variable.shape());
}

void ParameterStore::release(DType dtype, const Segment& segment, int32_t leaf) noexcept {
  std::lock_guard lock(mutex_);
  free_leaves_.push_back(leaf);
  const auto found = arenas_.find(dtype);
  if (segment.count == 0 || found == arenas_.end()) return;
  Arena& own = found->second;
  const std::optional<int32_t> empty = own.layout.release(segment);
  if (!empty) return;
  for (Plane& plane : own.weights) plane.drop(*empty);
  for (Plane& plane : own.gradients) plane.drop(*empty);
  for (auto& [replica, plane] : own.fetched) plane.drop(*empty);
}

std::vector<Segment> detail::merged_segments(const Variables& variables) {
  std::vector<Segment> segments;
  for (const Variable& variable : variables) segments.push_back(variable.node().segment);
  std::sort(segments.begin(), segments.end(), before);
  std::vector<Segment> merged;
  for (const Segment& segment : segments) {
    if (!merged.empty()) {
      Segment& last = merged.back();
      if (last.chunk == segment.chunk && last.offset + padded(last.count) == segment.offset) {
        last.count = segment.offset + segment.count - last.offset;
        continue;
      }
    }
    merged.push_back(segment);
  }
  return merged;
}

}  // namespace nyala
