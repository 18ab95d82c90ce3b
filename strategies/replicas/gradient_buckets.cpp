// Buckets of gradients, summed while backward runs (Li et al., PyTorch Distributed, 2020, section 3.2). A
// counter per bucket counts variables times replicas down; whoever brings the last one sums the bucket, the
// others go on. Gradients are written into the arena where buckets are ranges, so nothing is packed.
// Gradients of tables that a step reads by rows travel as indices and values (as tf.IndexedSlices), once a
// first step has shown which tables those are.
#include <nyala/strategies/replicas/gradient_buckets.h>

#include <algorithm>
#include <optional>
#include <utility>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/device_copy.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/shape/gather.h>
#include <nyala/backend/runtime/process_exchange.h>
#include <nyala/backend/runtime/random.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/cross_device/buffers.h>
#include <nyala/strategies/replicas/row_exchange.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// So often processes ask each other whose gradients come as rows; optimizers that take turns begin anew in
/// each step.
constexpr int kAsked = 50;

void add_rows(const Tensor& indices, const Tensor& values, const Tensor& table) {
  dispatch_into(ops::kTakeBackwardAdd, ops::ScatterAddDescriptor{0, table.shape()[0]}, {&values, &indices},
                table);
}

}  // namespace

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
    if (Rows* rows = rows_of(*place)) rows->dense = true;
    if (buckets_.accumulate_)
      dispatch_into(ops::kAddInPlace, NoDescriptor{}, {&gradient},
                    place->gradients[static_cast<size_t>(replica_)]);
    buckets_.count(place->bucket, replica_);
  }

  bool take_rows(int32_t leaf, const Tensor& indices, const Tensor& values) override {
    const Place* place = buckets_.place_of(leaf);
    if (!place) {
      if (buckets_.on_remote_rows) buckets_.on_remote_rows(replica_, leaf, indices, values);
      return true;  // else nobody wants it
    }
    const int64_t named = indices.num_elements() * buckets_.num_replicas();
    if (!buckets_.takes_rows() || !buckets_.pays(named, place->gradients[0])) return false;
    Rows* rows = rows_of(*place);
    if (!rows) {
      buckets_.learn_rows(leaf);
      return false;
    }
    reported_[static_cast<size_t>(leaf)] = true;
    *rows = {indices, values};
    buckets_.count(place->bucket, replica_);
    return true;
  }

  void begin() { reported_.assign(buckets_.places_.size(), false); }

  void finish() {
    for (size_t leaf = 0; leaf < reported_.size(); ++leaf) {
      const Place& place = buckets_.places_[leaf];
      if (place.bucket < 0 || reported_[leaf]) continue;
      const bool may_be_absent = rows_of(place) && buckets_.takes_rows();
      if (!buckets_.accumulate_ && !may_be_absent)
        ops::detail::fill_zero(place.gradients[static_cast<size_t>(replica_)]);
      buckets_.count(place.bucket, replica_);
    }
  }

 private:
  Rows* rows_of(const Place& place) {
    std::vector<Rows>& rows = buckets_.buckets_[static_cast<size_t>(place.bucket)].rows;
    return rows.empty() ? nullptr : &rows[static_cast<size_t>(replica_)];
  }

  GradientBuckets& buckets_;
  int replica_;
  std::vector<bool> reported_;
};

GradientBuckets::GradientBuckets(ParameterStore& store, int64_t bucket_elements,
                                 std::shared_ptr<const CrossDeviceOps> ops)
    : store_(store), bucket_elements_(bucket_elements), ops_(std::move(ops)) {
  std::vector<Device> devices;
  for (int replica = 0; replica < store.num_local_replicas(); ++replica) {
    sinks_.push_back(std::make_unique<Sink>(*this, replica));
    devices.push_back(store.device(replica));
  }
  if (!ops_) ops_ = choose_cross_device_ops(devices);
  ops_->check_devices(devices);
}

GradientBuckets::~GradientBuckets() = default;

GradientSink& GradientBuckets::sink(int replica) { return *sinks_[static_cast<size_t>(replica)]; }

const GradientBuckets::Place* GradientBuckets::place_of(int32_t leaf) const {
  if (static_cast<size_t>(leaf) >= places_.size()) return nullptr;
  const Place& place = places_[static_cast<size_t>(leaf)];
  return place.bucket < 0 ? nullptr : &place;
}

void GradientBuckets::begin(const UpdateRule& rule, bool reduce, bool accumulate) {
  const bool anew = learned_ || !is_armed_for(rule);
  if (anew) arm(rule);
  if (anew && exchange_) {
    agree_on_buckets();
    if (learns_from_others()) arm(rule);
    asks_ = asked_[trained_]++ < kAsked;
  }
  reduce_ = reduce;
  accumulate_ = accumulate;
  for (Bucket& bucket : buckets_) {
    bucket.missing = bucket.variables * store_.num_local_replicas();
    bucket.rows.assign(bucket.rows.size(), {});
    bucket.sends_rows = false;
  }
  for (const auto& sink : sinks_) sink->begin();
  if (!exchange_ || !reduce_) return;
  // Behind the last bucket all replicas have reported.
  const size_t asks = takes_rows() && asks_ ? 1 : 0;
  exchange_->begin(buckets_.size() + asks,
                   [this](size_t bucket, Communicator& others) { exchange(bucket, others); });
  if (asks) exchange_->ready(buckets_.size());
}

void GradientBuckets::set_exchange(std::shared_ptr<ProcessExchange> processes,
                                   std::shared_ptr<Communicator> communicator) {
  for (int replica = 0; replica < store_.num_local_replicas(); ++replica)
    if (!is_on_host(store_.device(replica)))
      throw StateError("gradients go to other processes from CPUs only so far; a replica is on " +
                       store_.device(replica).to_string());
  processes_ = std::move(processes);
  agreed_.clear();
  asked_.clear();  // newcomers know nothing of it
  told_.clear();
  known_leaves_.merge(row_leaves_);
  row_leaves_.clear();
  seen_leaves_.clear();
  learned_ = false;
  exchange_ = std::make_unique<BucketExchange>(std::move(communicator));
}

// Between processes rows are announced, sorted and gathered, each of which takes its time.
bool GradientBuckets::pays(int64_t named, const Tensor& table) const {
  if (!exchange_) return named < table.shape()[0];
  return static_cast<int64_t>(table.bytes()) >= least_table_bytes && named < table.shape()[0] / 2;
}

int GradientBuckets::num_replicas() const {
  return processes_ ? processes_->num_replicas() : store_.num_local_replicas();
}

void GradientBuckets::drain() {
  if (exchange_ && reduce_) exchange_->finish();
}

void GradientBuckets::cancel(const std::string& reason) noexcept {
  if (exchange_) exchange_->cancel(reason);
}

void GradientBuckets::agree_on_buckets() {
  trained_ = mix_key(0, "variables");
  for (const Variable& variable : armed_)
    trained_ = mix_key(mix_key(trained_, variable.path()), variable.shape().to_string());
  uint64_t number = mix_key(trained_, "buckets");
  for (const Bucket& bucket : buckets_) {
    const Tensor& sum = bucket.gradients[0];
    number = mix_key(mix_key(number, static_cast<uint64_t>(sum.num_elements())), name_of(sum.dtype()));
  }
  processes_->agree(number, "the variables to be trained");
  if (!agreed_.insert(trained_).second) return;
  for (const Variable& variable : armed_) {
    const Tensor& value = variable.value(0);
    number = mix_key(number, stable_hash(value.raw(), value.bytes()));
  }
  processes_->agree(number, "the values of the variables to be trained");
}

const Tensor& GradientBuckets::sum_of(size_t index) const {
  const Bucket& bucket = buckets_[index];
  return bucket.sum.defined() ? bucket.sum : bucket.gradients[0];
}

void GradientBuckets::spread(size_t index) const {
  const Bucket& bucket = buckets_[index];
  if (bucket.sum.defined() || store_.shares_weights()) return;
  for (size_t replica = 1; replica < bucket.gradients.size(); ++replica)
    bucket.gradients[replica].copy_from(bucket.gradients[0]);
}

void GradientBuckets::finish(int replica) { sinks_[static_cast<size_t>(replica)]->finish(); }

void GradientBuckets::disarm() noexcept {
  armed_.clear();
  armed_places_.clear();
  places_.clear();
  buckets_.clear();
}

// Variables are made from the first layer to the last, gradients become final from the last to the first:
// buckets are filled from the end of the arena, so that each is complete early.
void GradientBuckets::arm(const UpdateRule& rule) {
  disarm();  // should this fail, nobody takes half of it for the whole
  places_.assign(static_cast<size_t>(store_.num_leaves()), Place());
  Variables sorted = rule.variables();
  std::sort(sorted.begin(), sorted.end(), [](const Variable& a, const Variable& b) {
    const Segment &x = a.node().segment, &y = b.node().segment;
    return x.chunk != y.chunk ? x.chunk > y.chunk : x.offset > y.offset;
  });
  Variables pending;
  int64_t elements = 0;
  for (const Variable& variable : sorted) {
    if (row_leaves_.contains(variable.node().leaf)) {
      add_buckets(std::exchange(pending, {}));
      elements = 0;
      add_buckets({variable});
      buckets_.back().rows_shape = variable.shape();
      buckets_.back().rows.resize(static_cast<size_t>(store_.num_local_replicas()));
      continue;
    }
    pending.push_back(variable);
    elements += variable.shape().num_elements();
    if (elements < bucket_elements_) continue;
    add_buckets(pending);
    pending.clear();
    elements = 0;
  }
  add_buckets(pending);
  for (const Variable& variable : rule.variables())
    armed_places_.push_back({variable.node().copies[0], variable.node().leaf});
  armed_ = rule.variables();
  learned_ = false;
}

bool GradientBuckets::is_armed_for(const UpdateRule& rule) const {
  if (armed_ != rule.variables()) return false;
  for (size_t i = 0; i < armed_.size(); ++i) {
    const VariableNode& node = armed_[i].node();
    if (node.leaf != armed_places_[i].leaf || node.copies[0].raw() != armed_places_[i].weights.raw())
      return false;
  }
  return true;
}

void GradientBuckets::add_buckets(const Variables& variables) {
  for (const Segment& segment : merged_segments(variables)) {
    const int index = static_cast<int>(buckets_.size());
    Bucket& bucket = buckets_.emplace_back();
    const DType dtype = variables.front().dtype();
    for (int replica = 0; replica < store_.num_local_replicas(); ++replica)
      bucket.gradients.push_back(store_.gradients(replica, dtype, segment));
    if (store_.parameter_device()) bucket.sum = store_.gradients(store_.sum_place(0), dtype, segment);
    for (const Variable& variable : variables) {
      const Segment& own = variable.node().segment;
      const bool inside = own.chunk == segment.chunk && own.offset >= segment.offset &&
                          own.offset < segment.offset + segment.count;
      if (!inside) continue;
      Place& place = places_[static_cast<size_t>(variable.node().leaf)];
      place.bucket = index;
      for (int replica = 0; replica < store_.num_local_replicas(); ++replica)
        place.gradients.push_back(store_.gradient(replica, variable));
      ++bucket.variables;
    }
  }
}

void GradientBuckets::count(int index, int replica) {
  Bucket& bucket = buckets_[static_cast<size_t>(index)];
  if (bucket.missing.fetch_sub(1, std::memory_order_acq_rel) != 1 || !reduce_) return;
  const StepProfiler::Scope scope(profiler, replica, StepProfiler::Phase::reduce);
  if (on_reduce) on_reduce(index);
  const auto is_dense = [](const Rows& rows) { return rows.dense; };
  bucket.sends_rows = exchange_ && takes_rows() && !bucket.rows.empty() &&
                      std::none_of(bucket.rows.begin(), bucket.rows.end(), is_dense);
  if (!bucket.sends_rows) reduce(bucket);
  if (exchange_) exchange_->ready(static_cast<size_t>(index));
}

void GradientBuckets::learn_rows(int32_t leaf) {
  const std::lock_guard lock(rows_mutex_);
  if (exchange_)
    seen_leaves_.insert(leaf);
  else
    learned_ |= row_leaves_.insert(leaf).second;
}

/// In a generation that goes on with newcomers these send rows from their first step on, as the others do.
bool GradientBuckets::learns_from_others() {
  if (!told_.insert(trained_).second) return false;
  std::vector<int64_t> own, all(armed_places_.size() * static_cast<size_t>(processes_->size()));
  for (const Armed& one : armed_places_) own.push_back(known_leaves_.contains(one.leaf));
  processes_->all_numbers(own, all, "which gradients come as rows");
  bool is_any = false;
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i] != 0) is_any |= row_leaves_.insert(armed_places_[i % own.size()].leaf).second;
  return is_any;
}

/// One that has seen them in some process has a bucket of its own in all, from the next step on.
void GradientBuckets::learn_together(Communicator& others) {
  const std::lock_guard lock(rows_mutex_);
  std::vector<std::byte> own, all(armed_places_.size() * static_cast<size_t>(others.size()));
  for (const Armed& one : armed_places_) own.push_back(std::byte{seen_leaves_.contains(one.leaf)});
  others.all_gather(own, all, {.what = "which gradients come as rows"});
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i] != std::byte{0}) learned_ |= row_leaves_.insert(armed_places_[i % own.size()].leaf).second;
  asks_ = false;
}

void GradientBuckets::exchange(size_t index, Communicator& others) {
  if (index == buckets_.size()) return learn_together(others);
  const bool may_be_rows = takes_rows() && !buckets_[index].rows.empty();
  if (!may_be_rows || !exchange_rows(index, others)) {
    const Tensor& sum = sum_of(index);
    const DType travels = may_be_rows ? DType(DType::float32) : wire_dtype;
    others.all_reduce({sum.raw(), sum.num_elements(), sum.dtype()}, CollectiveOp::sum,
                      {.what = "gradients", .wire_dtype = travels});
  }
  spread(index);
}

/// False where the dense sum of this process is there in their place.
bool GradientBuckets::exchange_rows(size_t index, Communicator& others) {
  Bucket& bucket = buckets_[index];
  const DType dtype = bucket.gradients[0].dtype();
  std::optional<GradientRows> own;
  if (bucket.sends_rows) {
    std::vector<GradientRows> of_replicas;
    for (const Rows& rows : bucket.rows)
      if (rows.indices.defined()) of_replicas.push_back({rows.indices, rows.values});
    own = merged_rows(of_replicas, bucket.rows_shape, dtype);
  }
  const std::optional<GradientRows> all = rows_of_all_ranks(others, own, bucket.rows_shape, dtype);
  bucket.rows.assign(bucket.rows.size(), {});
  if (all) own = all;
  if (own) {
    const Tensor target = sum_of(index).with_shape(bucket.rows_shape);
    ops::detail::fill_zero(target);
    add_rows(ops::seen_from(own->indices, target.device()), ops::seen_from(own->values, target.device()),
             target);
  }
  if (all && on_rows) on_rows(static_cast<int>(index), all->indices.num_elements());
  return all.has_value();
}

void GradientBuckets::reduce(Bucket& bucket) const {
  if (bucket.rows.empty() || !takes_rows()) return reduce_dense(bucket);
  const bool all_rows =
      std::none_of(bucket.rows.begin(), bucket.rows.end(), [](const Rows& rows) { return rows.dense; });
  if (all_rows) {
    reduce_rows(bucket);
  } else {
    make_dense(bucket);
    reduce_dense(bucket);
  }
  bucket.rows.assign(bucket.rows.size(), {});
}

void GradientBuckets::reduce_rows(const Bucket& bucket) const {
  Tensors targets = bucket.gradients;
  if (bucket.sum.defined())
    targets = {bucket.sum};
  else if (store_.shares_weights())
    targets.resize(1);
  for (const Tensor& flat : targets) {
    const Tensor target = flat.with_shape(bucket.rows_shape);
    ops::detail::fill_zero(target);
    for (const Rows& rows : bucket.rows) {
      if (!rows.indices.defined()) continue;
      add_rows(ops::seen_from(rows.indices, target.device()), ops::seen_from(rows.values, target.device()),
               target);
    }
  }
}

// One replica had too many rows, or used the variable in another way.
void GradientBuckets::make_dense(Bucket& bucket) const {
  for (size_t replica = 0; replica < bucket.rows.size(); ++replica) {
    const Rows& rows = bucket.rows[replica];
    if (rows.dense) continue;
    const Tensor place = bucket.gradients[replica].with_shape(bucket.rows_shape);
    if (rows.indices.defined())
      dispatch_into(ops::kTakeBackward, ops::ScatterAddDescriptor{0, place.shape()[0]},
                    {&rows.values, &rows.indices}, place);
    else
      ops::detail::fill_zero(place);
  }
}

void GradientBuckets::reduce_dense(const Bucket& bucket) const {
  if (!bucket.sum.defined() || bucket.sum.raw() == bucket.gradients[0].raw()) {
    ops_->all_reduce(ReduceOp::sum, bucket.gradients, !store_.shares_weights() && !exchange_);
    return;
  }
  bucket.sum.copy_from(bucket.gradients[0]);
  std::vector<Tensor> gradients = bucket.gradients;
  gradients[0] = bucket.sum;
  ops_->all_reduce(ReduceOp::sum, gradients, false);
}

}  // namespace nyala
