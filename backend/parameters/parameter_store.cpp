#include <nyala/backend/parameters/parameter_store.h>

#include <algorithm>

#include <nyala/backend/core/error.h>

namespace nyala {

namespace {

constexpr int64_t kSmallestChunk = int64_t{1} << 18;

int64_t padded(int64_t count) {
  return (std::max<int64_t>(count, 1) + ArenaLayout::kAlignment - 1) / ArenaLayout::kAlignment *
         ArenaLayout::kAlignment;
}

bool before(const Segment& a, const Segment& b) {
  return a.chunk != b.chunk ? a.chunk < b.chunk : a.offset < b.offset;
}

}  // namespace

Segment ArenaLayout::reserve(int64_t count) {
  const int64_t wanted = padded(count);
  auto fitting =
      std::find_if(free_.begin(), free_.end(), [&](const Segment& s) { return s.count >= wanted; });
  if (fitting == free_.end()) {
    int64_t total = 0;
    for (int64_t size : chunk_sizes_) total += size;
    const int64_t size = std::max({wanted, kSmallestChunk, total});
    free_.push_back({static_cast<int32_t>(chunk_sizes_.size()), 0, size});
    chunk_sizes_.push_back(size);
    fitting = free_.end() - 1;
  }
  const Segment taken{fitting->chunk, fitting->offset, count};
  fitting->offset += wanted;
  fitting->count -= wanted;
  if (fitting->count == 0) free_.erase(fitting);
  return taken;
}

Segment ArenaLayout::with_gap(const Segment& segment) {
  return {segment.chunk, segment.offset, padded(segment.count)};
}

void ArenaLayout::release(const Segment& segment) {
  Segment freed = with_gap(segment);
  auto next = std::lower_bound(free_.begin(), free_.end(), freed, before);
  if (next != free_.end() && next->chunk == freed.chunk && freed.offset + freed.count == next->offset) {
    freed.count += next->count;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    Segment& previous = *(next - 1);
    if (previous.chunk == freed.chunk && previous.offset + previous.count == freed.offset) {
      previous.count += freed.count;
      return;
    }
  }
  free_.insert(next, freed);
}

Tensor Plane::view(const ArenaLayout& layout, const Segment& segment) {
  while (chunks_.size() < layout.chunk_sizes().size()) {
    const Shape shape{layout.chunk_sizes()[chunks_.size()]};
    chunks_.push_back(Tensor::full(shape, initial_, dtype_, device_));
  }
  const Tensor& chunk = chunks_[static_cast<size_t>(segment.chunk)];
  return Tensor::view_of(chunk.storage(),
                         chunk.storage_offset() + static_cast<size_t>(segment.offset) * size_of(dtype_),
                         {segment.count}, dtype_);
}

void Plane::reset(const ArenaLayout& layout, const Segment& segment) {
  if (static_cast<size_t>(segment.chunk) >= chunks_.size()) return;
  const Tensor place = view(layout, segment);
  place.copy_from(Tensor::full(place.shape(), initial_, dtype_, device_));
}

std::shared_ptr<ParameterStore> ParameterStore::make(std::vector<Device> replica_devices,
                                                     bool share_weights) {
  check_internal(!replica_devices.empty(), "a parameter store without replicas");
  return std::shared_ptr<ParameterStore>(new ParameterStore(std::move(replica_devices), share_weights));
}

ParameterStore::Arena& ParameterStore::arena(DType dtype) {
  const auto found = arenas_.find(dtype);
  if (found != arenas_.end()) return found->second;
  Arena made;
  for (int copy = 0; copy < num_weight_copies(); ++copy) made.weights.emplace_back(device(copy), dtype);
  for (int replica = 0; replica < num_replicas(); ++replica)
    made.gradients.emplace_back(device(replica), dtype);
  return arenas_.emplace(dtype, std::move(made)).first->second;
}

// Gaps between segments stay zero in every plane, so that merged segments can be updated and measured whole.
Segment ParameterStore::reserve_clean(Arena& arena, int64_t count) {
  const Segment segment = arena.layout.reserve(count);
  const Segment whole = ArenaLayout::with_gap(segment);
  for (Plane& plane : arena.weights) plane.reset(arena.layout, whole);
  for (Plane& plane : arena.gradients) plane.reset(arena.layout, whole);
  return segment;
}

Variable ParameterStore::create(const VariableSpec& spec) {
  auto node = std::make_shared<VariableNode>();
  node->spec = spec;
  node->trainable = spec.trainable;
  const Tensor initial = Tensor::zeros(spec.shape, spec.dtype);
  if (spec.initialize) spec.initialize(initial);
  {
    std::lock_guard lock(mutex_);
    node->leaf = free_leaves_.empty() ? next_leaf_++ : free_leaves_.back();
    if (!free_leaves_.empty()) free_leaves_.pop_back();
    node->in_arena = spec.trainable && is_floating(spec.dtype);
    if (node->in_arena) node->segment = reserve_clean(arena(spec.dtype), spec.shape.num_elements());
    for (int replica = 0; replica < num_replicas(); ++replica) {
      if (node->in_arena)
        node->copies.push_back(view_weights(share_weights_ ? 0 : replica, spec.dtype, node->segment)
                                   .with_shape(spec.shape)
                                   .alias_on(device(replica)));
      else
        node->copies.push_back(Tensor::empty(spec.shape, spec.dtype, device(replica)));
    }
    node->owner = weak_from_this();
  }
  Variable variable(std::move(node));
  variable.assign(initial);
  return variable;
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
  return of_dtype.gradients[static_cast<size_t>(replica)].view(of_dtype.layout, segment);
}

Tensor ParameterStore::gradient(int replica, const Variable& variable) {
  return gradients(replica, variable.dtype(), variable.node().segment).with_shape(variable.shape());
}

void ParameterStore::release(DType dtype, const Segment& segment, int32_t leaf) noexcept {
  std::lock_guard lock(mutex_);
  free_leaves_.push_back(leaf);
  const auto found = arenas_.find(dtype);
  if (segment.count > 0 && found != arenas_.end()) found->second.layout.release(segment);
}

std::vector<Segment> merged_segments(const Variables& variables) {
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
