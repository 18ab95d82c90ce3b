// The forward-backward algorithm of Graves et al. 2006: with blanks between the labels, alpha(t, s) is the
// log probability of all readings that are at place s at time t, beta(t, s) of all that go on from there;
// both follow from their neighbours in time, O(steps * labels). The loss is -alpha at the last two places,
// its gradient by the logits softmax minus the share of readings that show a class at that time, alpha + beta
// - total. In double and in logarithms, so that long sequences do not underflow; both come from one pass, so
// the op has the gradient as its second output.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/nn/ctc_loss.h>
#include <nyala/backend/runtime/status_word.h>

namespace nyala::ops {

using namespace nyala::detail;

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

double log_add(double a, double b) {
  const double larger = std::max(a, b);
  return larger == kNever ? kNever : larger + std::log1p(std::exp(std::min(a, b) - larger));
}

void infer_ctc(InferContext& c) {
  const Shape &target = c.shape(0), &logits = c.shape(1);
  if (target.rank() != 2 || logits.rank() != 3 || !is_floating(c.dtype(1)) || c.dtype(0) != DType::int64)
    c.fail("expected labels (batch, labels) and logits (batch, steps, classes), received " +
           target.to_string() + " and " + logits.to_string());
  if (target[0] != None && logits[0] != None && target[0] != logits[0])
    c.fail("expected as many labels as logits, received " + target.to_string() + " and " +
           logits.to_string());
  const int64_t blank = c.descriptor<CtcDescriptor>().blank, classes = logits[2];
  if (blank < 0 || (classes != None && blank >= classes))
    c.fail("expected a blank that is one of the classes of logits " + logits.to_string() + ", received " +
           std::to_string(blank));
  c.output(0, {logits[0]}, c.dtype(1));
  c.output(1, logits, c.dtype(1));
}

/// One sample in double: log probabilities over time of all places in "blank l1 blank l2 ... blank".
class Sample {
 public:
  Sample(const int64_t* labels, int64_t num_labels, int64_t blank, int64_t steps, int64_t classes)
      : steps_(steps), classes_(classes), places_{blank} {
    for (int64_t i = 0; i < num_labels; ++i)
      if (labels[i] != blank) places_.insert(places_.end(), {labels[i], blank});
  }

  template <class T>
  void read(const T* logits) {
    log_p_.resize(static_cast<size_t>(steps_ * classes_));
    for (int64_t t = 0; t < steps_; ++t) {
      const T* x = logits + t * classes_;
      double largest = kNever, sum = 0.0;
      for (int64_t c = 0; c < classes_; ++c) largest = std::max(largest, static_cast<double>(x[c]));
      for (int64_t c = 0; c < classes_; ++c) sum += std::exp(static_cast<double>(x[c]) - largest);
      for (int64_t c = 0; c < classes_; ++c) p(t, c) = static_cast<double>(x[c]) - largest - std::log(sum);
    }
  }

  /// The log probability of the labels.
  double run() {
    const int64_t n = size();
    forward_.assign(static_cast<size_t>(steps_ * n), kNever);
    backward_ = forward_;
    for (int64_t t = 0; t < steps_; ++t)
      for (int64_t s = 0; s < n; ++s) {
        double reach = t == 0 ? (s < 2 ? 0.0 : kNever) : at(forward_, t - 1, s);
        if (t > 0 && s > 0) reach = log_add(reach, at(forward_, t - 1, s - 1));
        if (t > 0 && s > 1 && may_skip(s)) reach = log_add(reach, at(forward_, t - 1, s - 2));
        at(forward_, t, s) = reach + p(t, places_[static_cast<size_t>(s)]);
      }
    for (int64_t t = steps_ - 1; t >= 0; --t)
      for (int64_t s = 0; s < n; ++s) at(backward_, t, s) = rest(t, s);
    if (steps_ == 0) return n == 1 ? 0.0 : kNever;
    const double last = at(forward_, steps_ - 1, n - 1);
    return n > 1 ? log_add(last, at(forward_, steps_ - 1, n - 2)) : last;
  }

  /// The derivative of -log probability by the logits.
  template <class T>
  void derive(double total, T* out) {
    for (int64_t t = 0; t < steps_; ++t) {
      T* dx = out + t * classes_;
      for (int64_t c = 0; c < classes_; ++c) dx[c] = static_cast<T>(std::exp(p(t, c)));
      for (int64_t s = 0; s < size(); ++s)
        dx[places_[static_cast<size_t>(s)]] -=
            static_cast<T>(std::exp(at(forward_, t, s) + at(backward_, t, s) - total));
    }
  }

 private:
  int64_t size() const { return static_cast<int64_t>(places_.size()); }
  double& p(int64_t t, int64_t c) { return log_p_[static_cast<size_t>(t * classes_ + c)]; }
  double& at(std::vector<double>& table, int64_t t, int64_t s) {
    return table[static_cast<size_t>(t * size() + s)];
  }
  /// Whether place s may follow place s - 2: labels that differ.
  bool may_skip(int64_t s) const {
    const size_t i = static_cast<size_t>(s);
    return s % 2 == 1 && places_[i] != places_[i - 2];
  }
  /// The log probability of all that comes after step t at place s.
  double rest(int64_t t, int64_t s) {
    if (t == steps_ - 1) return s >= size() - 2 ? 0.0 : kNever;
    double sum = kNever;
    for (int64_t next = s; next < std::min(s + 3, size()); ++next)
      if (next < s + 2 || may_skip(next))
        sum = log_add(sum, at(backward_, t + 1, next) + p(t + 1, places_[static_cast<size_t>(next)]));
    return sum;
  }

  int64_t steps_, classes_;
  std::vector<int64_t> places_;
  std::vector<double> log_p_, forward_, backward_;
};

/// Whether all labels of `row` are classes; the first one that is none is reported to the status word.
bool labels_are_classes(const KernelCall& call, int64_t row, int64_t classes) {
  const Shape& target = call.input(0).shape();
  for (int64_t i = row * target[1]; i < (row + 1) * target[1]; ++i) {
    const int64_t label = call.in<int64_t>(0)[i];
    if (label >= 0 && label < classes) continue;
    report_status(*call.inputs.back(), {StatusCode::label_out_of_range, i, label, classes, target});
    return false;
  }
  return true;
}

void ctc_reference(const KernelCall& call) {
  const Shape& shape = call.input(1).shape();
  const int64_t num_labels = call.input(0).shape()[1], size = shape[1] * shape[2];
  dispatch_real(call.input(1).dtype(), call.op->name, [&]<class T>(T) {
    for (int64_t row = 0; row < shape[0]; ++row) {
      T* gradient = call.out<T>(1) + row * size;
      std::fill_n(gradient, size, T(0));
      double total = std::numeric_limits<double>::quiet_NaN();
      if (labels_are_classes(call, row, shape[2])) {
        Sample sample(call.in<int64_t>(0) + row * num_labels, num_labels,
                      call.descriptor<CtcDescriptor>().blank, shape[1], shape[2]);
        sample.read(call.in<T>(1) + row * size);
        total = sample.run();
        if (std::isfinite(total)) sample.derive(total, gradient);
      }
      call.out<T>(0)[row] = static_cast<T>(-total);
    }
  });
}

void ctc_gradient(GradContext& c) {
  if (!c.needs(1)) return;
  const Tensor& upstream = c.grad(0);
  c.set(1, c.output(1) * upstream.with_shape({upstream.num_elements(), 1, 1}));
}

}  // namespace

const OpDef kCtcLoss = {.name = "ctc_loss",
                        .num_outputs = 2,
                        .infer = infer_ctc,
                        .gradient = ctc_gradient,
                        .keep_outputs = keep(1),
                        .reference = ctc_reference,
                        .reports_status = true};

Tensor ctc_loss(const Tensor& target, const Tensor& logits, int64_t blank) {
  const Tensor labels = cast(target, DType::int64);
  const Tensor* const inputs[] = {&labels, &logits};
  const int64_t classes = logits.rank() == 3 ? logits.shape()[2] : int64_t{None};
  if (blank < 0 && classes != None && blank >= -classes) blank += classes;
  Tensor outputs[2];
  dispatch(kCtcLoss, CtcDescriptor{blank}, inputs, outputs);
  return outputs[0];
}

}  // namespace nyala::ops
