#include <nyala/strategies/gradient_buckets.h>

#include <algorithm>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/arithmetic.h>
#include <nyala/backend/ops/dispatch.h>
#include <nyala/backend/runtime/device_registry.h>

namespace nyala {

class GradientBuckets::Sink final : public GradientSink {
 public:
  Sink(GradientBuckets& buckets, int replica) : buckets_(buckets), replica_(replica) {}

  Tensor destination(int32_t leaf) override {
    if (buckets_.accumulate_) return {};  // the arena holds a sum already: ready() adds to it
    const Place* place = buckets_.place_of(leaf);
    return place ? place->gradients[static_cast<size_t>(replica_)] : Tensor();
  }

  void ready(int32_t leaf, const Tensor& gradient) override {
    const Place* place = buckets_.place_of(leaf);
    if (!place) return;
    reported_[static_cast<size_t>(leaf)] = true;
    if (buckets_.accumulate_)
      dispatch_into(ops::kAddInPlace, NoDescriptor{}, {&gradient},
                    place->gradients[static_cast<size_t>(replica_)]);
    buckets_.count(place->bucket);
  }

  void begin() { reported_.assign(buckets_.places_.size(), false); }

  void finish() {
    for (size_t leaf = 0; leaf < reported_.size(); ++leaf) {
      const Place& place = buckets_.places_[leaf];
      if (place.bucket < 0 || reported_[leaf]) continue;
      if (!buckets_.accumulate_) ops::fill_zero(place.gradients[static_cast<size_t>(replica_)]);
      buckets_.count(place.bucket);
    }
  }

 private:
  GradientBuckets& buckets_;
  int replica_;
  std::vector<bool> reported_;
};

GradientBuckets::GradientBuckets(ParameterStore& store, int64_t bucket_elements)
    : store_(store), bucket_elements_(bucket_elements) {
  for (int replica = 0; replica < store.num_replicas(); ++replica)
    sinks_.push_back(std::make_unique<Sink>(*this, replica));
}

GradientBuckets::~GradientBuckets() = default;

GradientSink& GradientBuckets::sink(int replica) { return *sinks_[static_cast<size_t>(replica)]; }

const GradientBuckets::Place* GradientBuckets::place_of(int32_t leaf) const {
  if (static_cast<size_t>(leaf) >= places_.size()) return nullptr;
  const Place& place = places_[static_cast<size_t>(leaf)];
  return place.bucket < 0 ? nullptr : &place;
}

void GradientBuckets::begin(const UpdateRule& rule, bool reduce, bool accumulate) {
  if (armed_ != rule.variables()) arm(rule);
  reduce_ = reduce;
  accumulate_ = accumulate;
  for (Bucket& bucket : buckets_) bucket.missing = bucket.variables * store_.num_replicas();
  for (const auto& sink : sinks_) sink->begin();
}

void GradientBuckets::finish(int replica) { sinks_[static_cast<size_t>(replica)]->finish(); }

// Variables are made from the first layer to the last, gradients become final from the last to the first:
// buckets are filled from the end of the arena, so that each is complete early.
void GradientBuckets::arm(const UpdateRule& rule) {
  buckets_.clear();
  places_.assign(static_cast<size_t>(store_.num_leaves()), Place());
  Variables sorted = rule.variables();
  std::sort(sorted.begin(), sorted.end(), [](const Variable& a, const Variable& b) {
    const Segment &x = a.node().segment, &y = b.node().segment;
    return x.chunk != y.chunk ? x.chunk > y.chunk : x.offset > y.offset;
  });
  Variables pending;
  int64_t elements = 0;
  for (const Variable& variable : sorted) {
    pending.push_back(variable);
    elements += variable.shape().num_elements();
    if (elements < bucket_elements_) continue;
    add_buckets(pending);
    pending.clear();
    elements = 0;
  }
  add_buckets(pending);
  armed_ = rule.variables();
}

void GradientBuckets::add_buckets(const Variables& variables) {
  for (const Segment& segment : merged_segments(variables)) {
    const int index = static_cast<int>(buckets_.size());
    Bucket& bucket = buckets_.emplace_back();
    const DType dtype = variables.front().dtype();
    for (int replica = 0; replica < store_.num_replicas(); ++replica)
      bucket.gradients.push_back(store_.gradients(replica, dtype, segment));
    for (const Variable& variable : variables) {
      const Segment& own = variable.node().segment;
      const bool inside = own.chunk == segment.chunk && own.offset >= segment.offset &&
                          own.offset < segment.offset + segment.count;
      if (!inside) continue;
      Place& place = places_[static_cast<size_t>(variable.node().leaf)];
      place.bucket = index;
      for (int replica = 0; replica < store_.num_replicas(); ++replica)
        place.gradients.push_back(store_.gradient(replica, variable));
      ++bucket.variables;
    }
  }
}

void GradientBuckets::count(int index) {
  Bucket& bucket = buckets_[static_cast<size_t>(index)];
  if (bucket.missing.fetch_sub(1, std::memory_order_acq_rel) != 1 || !reduce_) return;
  if (on_reduce) on_reduce(index);
  for (const Tensor& gradient : bucket.gradients)
    if (gradient.device().kind != DeviceKind::cpu) synchronize(gradient.device());
  all_reduce_sum(bucket.gradients, !store_.shares_weights());
}

}  // namespace nyala
