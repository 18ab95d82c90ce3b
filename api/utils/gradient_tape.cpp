// A range of entries of a record that several tapes, and the training step around them, may share: nested
// tapes then see each other's ops, and a gradient that is recorded can be differentiated by the outer one.
// Pauses are gaps between ranges; what lies in them counts as constant.
#include <nyala/api/utils/gradient_tape.h>

#include <algorithm>
#include <limits>
#include <mutex>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/mutex.h>
#include <nyala/backend/parameters/row_source.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/runtime/collectives.h>

namespace nyala {

using namespace nyala::detail;

namespace {

constexpr size_t kOpen = std::numeric_limits<size_t>::max();

/// Of a tape that ends on another thread than it began on, which still points there: it records nothing.
void keep_for_good(std::shared_ptr<Tape> tape) {
  static Mutex& mutex = *new Mutex;
  static auto& kept = *new std::vector<std::shared_ptr<Tape>>;
  const std::lock_guard lock(mutex);
  if (tape.use_count() == 1) tape->clear();
  kept.push_back(std::move(tape));
}

/// The record that this thread writes already, where tapes can share it. One that nobody records on was ended
/// by another thread.
std::shared_ptr<Tape> shared_record() {
  Tape*& current = thread_context().tape;
  const std::shared_ptr<Tape> record = current ? current->weak_from_this().lock() : nullptr;
  if (!record || record->recorders > 0) return record;
  current = nullptr;
  return nullptr;
}

/// The copy of a variable that this thread's replica reads.
const Tensor& own_copy(const Variable& variable) {
  const Collectives* const replica = thread_context().replica;
  return variable.value(replica ? static_cast<size_t>(replica->local_index()) % variable.num_copies() : 0);
}

/// Its gradient would be as large as it is.
void check_lies_here(const Variable& variable) {
  if (is_remote_table(variable.node()))
    throw StateError("GradientTape: variable " + in_quotes(variable.path()) +
                     " is a table on parameter servers, whose gradient is rows that fit pushes to them; a "
                     "loop of the program's own needs it in the worker: a table below .remote_rows_above");
}

Tensor for_unconnected(const Tensor& like, const GradientOptions& options) {
  return options.unconnected_gradients == UnconnectedGradients::zero ? ops::zeros_like(like) : Tensor();
}

/// Gradients that share their bytes get bytes of their own: a caller may write into them.
void separate(Tensors& gradients) {
  for (Tensor& gradient : gradients)
    if (gradient.defined() && !gradient.tape() && !gradient.storage().unique()) gradient = gradient.clone();
}

}  // namespace

GradientTape::GradientTape(Config config)
    : config_(config), tape_(shared_record()), outside_(thread_context().tape) {
  if (!tape_) tape_ = std::make_shared<Tape>();
  begin_range();
}

GradientTape::~GradientTape() {
  end_range();
  if (left_elsewhere_ && tape_->recorders == 0) keep_for_good(std::move(tape_));
}

void GradientTape::begin_range() {
  if (records_) return;
  records_ = true;
  thread_ = std::this_thread::get_id();
  ranges_.push_back({tape_->entries().size(), kOpen});
  ++tape_->recorders;
  tape_->recording = true;
  thread_context().tape = tape_.get();
}

void GradientTape::end_range() {
  if (!records_) return;
  records_ = false;
  if (thread_ != std::this_thread::get_id()) left_elsewhere_ = true;
  ranges_.back().end = tape_->entries().size();
  if (--tape_->recorders > 0) return;
  tape_->recording = false;
  if (thread_context().tape == tape_.get())
    thread_context().tape = outside_ == tape_.get() ? nullptr : outside_;
}

Tensor GradientTape::watch(const Tensor& tensor) {
  if (!is_floating(tensor.dtype()))
    throw InvalidArgumentError("GradientTape: only floating tensors have gradients, received " +
                               std::string(name_of(tensor.dtype())));
  return tensor.tape() == tape_.get() ? tensor : tape_->track(tensor);
}

void GradientTape::watch(const Variables& variables) {
  for (const Variable& variable : variables) variable.node();  // throws for an empty handle
  watched_.insert(watched_.end(), variables.begin(), variables.end());
}

void GradientTape::stop() { end_range(); }

GradientTape::Pause GradientTape::stop_recording() { return Pause(*this); }

void GradientTape::reset() {
  const bool recorded = records_;
  end_range();
  ranges_.clear();
  watched_.clear();
  asked_ = false;
  if (tape_.use_count() == 1) tape_->clear();
  if (recorded) begin_range();
}

std::vector<EntryRange> GradientTape::ranges() const {
  std::vector<EntryRange> closed = ranges_;
  for (EntryRange& range : closed) range.end = std::min(range.end, tape_->entries().size());
  return closed;
}

void GradientTape::begin_request() {
  if (config_.persistent) return;
  if (asked_)
    throw StateError(
        "GradientTape: this tape has given its gradients; make it with {.persistent = true} to ask several "
        "times");
  asked_ = true;
  stop();
}

void GradientTape::end_request() {
  if (!config_.persistent && tape_.use_count() == 1) tape_->clear();
}

Tensors GradientTape::ask(const Tensor& target, const std::vector<uint32_t>& sources, const Tensor& seed) {
  std::vector<uint32_t> found;
  for (const uint32_t id : sources)
    if (id != Tape::kUntracked) found.push_back(id);
  const Tensors known = differentiate(
      *tape_, target, {.sources = found, .ranges = ranges(), .seed = seed, .record = tape_->recorders > 0});
  Tensors all;
  size_t next = 0;
  for (const uint32_t id : sources) all.push_back(id != Tape::kUntracked ? known[next++] : Tensor());
  return all;
}

uint32_t GradientTape::source_id(const Variable& variable) const {
  if (!config_.watch_accessed_variables &&
      std::find(watched_.begin(), watched_.end(), variable) == watched_.end())
    return Tape::kUntracked;
  uint32_t id = Tape::kUntracked;
  for (size_t copy = 0; copy < variable.num_copies() && id == Tape::kUntracked; ++copy)
    id = tape_->find(variable.node().leaf, variable.value(copy).raw());
  const Tensor& home = variable.node().home;
  if (id == Tape::kUntracked && home.defined()) id = tape_->find(variable.node().leaf, home.raw());
  return id;
}

Tensors GradientTape::gradient(const Tensor& target, const Variables& sources,
                               const GradientOptions& options) {
  begin_request();
  std::vector<uint32_t> ids;
  for (const Variable& variable : sources) {
    check_lies_here(variable);
    ids.push_back(source_id(variable));
  }
  Tensors gradients = ask(target, ids, options.output_gradients);
  for (size_t i = 0; i < gradients.size(); ++i)
    if (!gradients[i].defined()) gradients[i] = for_unconnected(own_copy(sources[i]), options);
  separate(gradients);
  end_request();
  return gradients;
}

Tensors GradientTape::gradient(const Tensor& target, const Tensors& sources, const GradientOptions& options) {
  begin_request();
  std::vector<uint32_t> ids;
  for (const Tensor& source : sources) {
    if (source.tape() != tape_.get())
      throw StateError(
          "GradientTape: a source is not tracked by this tape; use the tensor that watch() returned");
    ids.push_back(source.value_id());
  }
  Tensors gradients = ask(target, ids, options.output_gradients);
  for (size_t i = 0; i < gradients.size(); ++i)
    if (!gradients[i].defined()) gradients[i] = for_unconnected(sources[i], options);
  separate(gradients);
  end_request();
  return gradients;
}

Tensor GradientTape::jacobian(const Tensor& target, const Tensor& source) {
  begin_request();
  if (source.tape() != tape_.get())
    throw StateError(
        "GradientTape: the source is not tracked by this tape; use the tensor that watch() "
        "returned");
  Shape shape = target.shape();
  for (const int64_t size : source.shape()) shape.append(size);
  const int64_t rows = target.num_elements();
  const Tensor out = Tensor::zeros({rows, source.num_elements()}, source.dtype(), source.device());
  const Tensor ones = Tensor::full({}, 1.0, target.dtype(), target.device());
  for (int64_t row = 0; row < rows; ++row) {
    const Tensor seed = Tensor::zeros({rows}, target.dtype(), target.device());
    seed.rows(row, 1).copy_from(ones.with_shape({1}));
    const Tensor gradient = differentiate(*tape_, target,
                                          {.sources = {source.value_id()},
                                           .ranges = ranges(),
                                           .seed = seed.with_shape(target.shape()),
                                           .record = false})[0];
    if (!gradient.defined()) {  // the way does not depend on the row
      end_request();
      return {};
    }
    out.rows(row, 1).copy_from(gradient.with_shape({1, source.num_elements()}));
  }
  end_request();
  return out.with_shape(shape);
}

}  // namespace nyala
