#include <vector>

#include <nyala/backend/ops/update/whole_update_loops.h>
#include <nyala/backend/ops/update/whole_updates.h>

namespace nyala::ops {

using namespace nyala::detail;

namespace {

/// Pieces one after the other.
constexpr auto kInOrder = [](int64_t count, int64_t, auto&& body) { body(int64_t{0}, count); };

void infer_lamb(InferContext& c) { detail::infer_update(c, 3); }

void lamb_reference(const KernelCall& call) {
  std::vector<double> scratch(static_cast<size_t>(formulas::lamb_scratch(call)));
  dispatch_real(call.output(0).dtype(), call.op->name,
                [&]<class T>(T) { formulas::lamb_update<T>(call, scratch.data(), kInOrder); });
}

void infer_adafactor(InferContext& c) {
  detail::infer_update(c, 4);
  const auto& d = c.descriptor<AdafactorDescriptor>();
  if (d.rows > 0 && c.shape(0).back() != None && d.matrices * d.rows * d.columns != c.shape(0).back())
    c.fail("expected a gradient of " + std::to_string(d.matrices * d.rows * d.columns) +
           " elements, received " + c.shape(0).to_string());
}

void adafactor_reference(const KernelCall& call) {
  std::vector<double> scratch(static_cast<size_t>(formulas::adafactor_scratch(call)));
  dispatch_real(call.output(0).dtype(), call.op->name,
                [&]<class T>(T) { formulas::adafactor_update<T>(call, scratch.data(), kInOrder); });
}

void infer_muon_momentum(InferContext& c) { detail::infer_update(c, 3); }

void muon_momentum_reference(const KernelCall& call) {
  std::vector<double> scratch(static_cast<size_t>(formulas::muon_scratch(call)));
  dispatch_real(call.output(0).dtype(), call.op->name,
                [&]<class T>(T) { formulas::muon_momentum<T>(call, scratch.data(), kInOrder); });
}

void infer_muon_polynomial(InferContext& c) {
  if (c.shape(0).rank() != 2 || c.shape(0)[0] != c.shape(0)[1] || !is_floating(c.dtype(0)))
    c.fail("expected a floating square matrix, received " + c.shape(0).to_string());
  c.output(0, c.shape(0), c.dtype(0));
}

void muon_polynomial_reference(const KernelCall& call) {
  dispatch_real(call.output(0).dtype(), call.op->name,
                [&]<class T>(T) { formulas::muon_polynomial<T>(call, 0, call.output(0).shape()[0]); });
}

void infer_muon_step(InferContext& c) {
  const auto& d = c.descriptor<MuonStepDescriptor>();
  if (c.num_inputs() != 2 || c.shape(0).rank() != 1 || !is_floating(c.dtype(0)))
    c.fail("expected a flat floating step and scalars, received " + c.shape(0).to_string());
  if (c.dtype(1) != DType::float64 || c.shape(1).rank() != 1 ||
      c.shape(1).back() <= kFirstFormulaScalar + d.rate)
    c.fail("expected float64 scalars, more than " + std::to_string(kFirstFormulaScalar + d.rate) +
           ", received " + c.shape(1).to_string());
  c.output(0, c.shape(0), c.dtype(0));
}

void muon_step_reference(const KernelCall& call) {
  dispatch_real(call.output(0).dtype(), call.op->name,
                [&]<class T>(T) { formulas::muon_step<T>(call, 0, call.output(0).num_elements()); });
}

}  // namespace

const OpDef kLambUpdate = {
    .name = "lamb_update", .num_outputs = 3, .infer = infer_lamb, .reference = lamb_reference};
const OpDef kAdafactorUpdate = {
    .name = "adafactor_update", .num_outputs = 4, .infer = infer_adafactor, .reference = adafactor_reference};
const OpDef kMuonMomentum = {.name = "muon_momentum",
                             .num_outputs = 3,
                             .infer = infer_muon_momentum,
                             .reference = muon_momentum_reference};
const OpDef kMuonPolynomial = {
    .name = "muon_polynomial", .infer = infer_muon_polynomial, .reference = muon_polynomial_reference};
const OpDef kMuonStep = {.name = "muon_step", .infer = infer_muon_step, .reference = muon_step_reference};

}  // namespace nyala::ops
