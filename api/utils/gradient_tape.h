#pragma once

#include <concepts>
#include <memory>
#include <thread>
#include <vector>

#include <nyala/api/base/no_such_field.h>
#include <nyala/backend/autograd/differentiate.h>
#include <nyala/backend/core/tape.h>
#include <nyala/backend/parameters/variable.h>
#include <nyala/backend/runtime/context.h>

namespace nyala {

struct GradientTapeConfig {
  /// Gradients may be asked several times.
  bool persistent = false;
  /// False: only what watch() was told, variables too.
  bool watch_accessed_variables = true;
};

/// What stands for the gradient of a source that nothing leads to: an undefined tensor, or zeros.
enum class UnconnectedGradients { none, zero };

struct GradientOptions {
  /// What the target's gradient is multiplied by; undefined: ones.
  Tensor output_gradients = {};
  UnconnectedGradients unconnected_gradients = UnconnectedGradients::none;
};

/// Records what models and ops compute on this thread from its construction until stop() or its end, and
/// gives gradients: `GradientTape tape; Tensor loss = ...; auto gradients = tape.gradient(loss,
/// model.trainable_variables());` Trainable variables are watched by themselves, tensors by watch().
///
/// A tape inside another one shares its record, so that the gradients it gives while the outer one records
/// can be differentiated again: `GradientTape outer; { GradientTape inner; ...; g = inner.gradient(y, {x}); }
/// outer.gradient(f(g), variables)`. Second derivatives exist for elementwise ops, matmul, Dense, reductions,
/// softmax and ops that move elements; through others they throw InvalidArgumentError.
///
/// A tape keeps no copy of a variable's value: where a gradient needs one that was written since its use was
/// recorded (by assign(), an optimizer, adopt()), gradient() throws StateError naming the variable. Ask
/// first. One thread at a time.
class GradientTape {
 public:
  using Config = GradientTapeConfig;
  explicit GradientTape(Config config = {});
  template <size_t N>
  explicit GradientTape(const NoSuchField (&)[N]) = delete;
  ~GradientTape();
  GradientTape(const GradientTape&) = delete;
  GradientTape& operator=(const GradientTape&) = delete;

  /// `tensor` with what is computed from it tracked: use the result. Throws InvalidArgumentError for
  /// integers.
  Tensor watch(const Tensor& tensor);
  void watch(const Variables& variables);
  /// Records no more.
  void stop();
  /// Records nothing until the guard ends: `{ auto paused = tape.stop_recording(); ... }`
  class Pause;
  [[nodiscard]] Pause stop_recording();
  /// Forgets what was recorded until now.
  void reset();

  /// Gradients of the sum of `target` with respect to variables, or to tensors that are tracked: watched, or
  /// computed under the tape. As in TensorFlow that of a source to which nothing leads is undefined (None),
  /// also where `target` was computed by ops without a gradient (floor, round, argmax, comparisons; that of
  /// sign is zero) or not under this tape. A tape that is not persistent stops and can be asked once. A
  /// persistent one that still records records this too: stop() it before. Throws StateError for a second
  /// request and if a source tensor was not computed under this tape.
  Tensors gradient(const Tensor& target, const Variables& sources, const GradientOptions& options = {});
  Tensors gradient(const Tensor& target, const Tensors& sources, const GradientOptions& options = {});
  /// The same for one source.
  template <std::same_as<Tensor> T>
  Tensor gradient(const Tensor& target, const T& source, const GradientOptions& options = {}) {
    return gradient(target, Tensors{source}, options)[0];
  }
  template <std::same_as<Variable> V>
  Tensor gradient(const Tensor& target, const V& source, const GradientOptions& options = {}) {
    return gradient(target, Variables{source}, options)[0];
  }

  /// The derivative of every element of `target` with respect to every element of `source`, of shape
  /// target.shape + source.shape; undefined where nothing leads to the source. One walk per element of the
  /// target.
  Tensor jacobian(const Tensor& target, const Tensor& source);

 private:
  void begin_range();
  void end_range();
  void begin_request();
  void end_request();
  uint32_t source_id(const Variable& variable) const;
  Tensors ask(const Tensor& target, const std::vector<uint32_t>& sources, const Tensor& seed);
  std::vector<EntryRange> ranges() const;

  Config config_;
  std::shared_ptr<Tape> tape_;
  Tape* outside_;                   // the tape that this thread recorded on before
  std::vector<EntryRange> ranges_;  // an open one ends at kOpen
  std::thread::id thread_;          // that it records on
  bool records_ = false;
  bool left_elsewhere_ = false;  // a thread on which it was not ended still points to the record
  bool asked_ = false;
  Variables watched_;
};

class GradientTape::Pause {
 public:
  explicit Pause(GradientTape& tape) : tape_(tape), recorded_(tape.records_) { tape_.end_range(); }
  ~Pause() {
    if (recorded_) tape_.begin_range();
  }
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;

 private:
  GradientTape& tape_;
  bool recorded_;
};

}  // namespace nyala
