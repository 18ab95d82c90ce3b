#pragma once

#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/ops/update/whole_update_loops.h>
#include <nyala/backend/runtime/parallel.h>

// Internal linkage, as update_formulas.h says.
namespace nyala {

namespace {

template <template <class> class Formula>
void run_update(const KernelCall& call) {
  detail::dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    parallel_for(call.output(0).num_elements(), kParallelGrain, [&](int64_t begin, int64_t end) {
      formulas::update_elements<T, Formula<T>>(call, begin, end);
    });
  });
}

void run_average(const KernelCall& call) {
  detail::dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    parallel_for(call.output(0).num_elements(), kParallelGrain,
                 [&](int64_t begin, int64_t end) { formulas::average_elements<T>(call, begin, end); });
  });
}

void run_squared_sums(const KernelCall& call) {
  detail::dispatch_real(call.input(0).dtype(), call.op->name, [&]<class T>(T) {
    parallel_for(call.output(0).num_elements(), kParallelGrain / ops::kNormChunk,
                 [&](int64_t begin, int64_t end) { formulas::squared_sum_chunks<T>(call, begin, end); });
  });
}

constexpr auto kAmongThreads = [](int64_t count, int64_t grain, auto&& body) {
  parallel_for(count, grain, body);
};

template <int64_t (*kNumbers)(const KernelCall&)>
size_t scratch_bytes(const KernelCall& call) {
  return static_cast<size_t>(kNumbers(call)) * sizeof(double);
}

void run_lamb(const KernelCall& call) {
  detail::dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    formulas::lamb_update<T>(call, call.workspace.raw_as<double>(), kAmongThreads);
  });
}

void run_adafactor(const KernelCall& call) {
  detail::dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    formulas::adafactor_update<T>(call, call.workspace.raw_as<double>(), kAmongThreads);
  });
}

void run_muon_momentum(const KernelCall& call) {
  detail::dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    formulas::muon_momentum<T>(call, call.workspace.raw_as<double>(), kAmongThreads);
  });
}

void run_muon_polynomial(const KernelCall& call) {
  const int64_t side = call.output(0).shape()[0];
  detail::dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    parallel_for(side, (kParallelGrain + side - 1) / side,
                 [&](int64_t begin, int64_t end) { formulas::muon_polynomial<T>(call, begin, end); });
  });
}

void run_muon_step(const KernelCall& call) {
  detail::dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    parallel_for(call.output(0).num_elements(), kParallelGrain,
                 [&](int64_t begin, int64_t end) { formulas::muon_step<T>(call, begin, end); });
  });
}

/// Adds the loops of this translation unit as kernels called `name`.
void add_update_kernels(KernelTable& table, std::string_view name) {
  const auto add = [&](const OpDef& op, void (*run)(const KernelCall&),
                       size_t (*workspace)(const KernelCall&) = nullptr) {
    table.add(op, DeviceKind::cpu, {.name = name, .workspace = workspace, .run = run});
  };
  const auto add_formulas = [&]<template <class> class... Formula>(formulas::FormulaList<Formula...>) {
    (add(ops::detail::update_op<Formula>(), run_update<Formula>), ...);
  };
  add_formulas(formulas::Formulas());
  add(ops::kMovingAverage, run_average);
  add(ops::kSquaredSums, run_squared_sums);
  add(ops::kLambUpdate, run_lamb, scratch_bytes<formulas::lamb_scratch>);
  add(ops::kAdafactorUpdate, run_adafactor, scratch_bytes<formulas::adafactor_scratch>);
  add(ops::kMuonMomentum, run_muon_momentum, scratch_bytes<formulas::muon_scratch>);
  add(ops::kMuonPolynomial, run_muon_polynomial);
  add(ops::kMuonStep, run_muon_step);
}

}  // namespace

}  // namespace nyala
