#pragma once

#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/ops/update/update_formulas.h>
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

/// Adds the loops of this translation unit as kernels called `name`.
void add_update_kernels(KernelTable& table, std::string_view name) {
  const auto add = [&](const OpDef& op, void (*run)(const KernelCall&)) {
    table.add(op, DeviceKind::cpu, {.name = name, .run = run});
  };
  const auto add_formulas = [&]<template <class> class... Formula>(formulas::FormulaList<Formula...>) {
    (add(ops::detail::update_op<Formula>(), run_update<Formula>), ...);
  };
  add_formulas(formulas::Formulas());
  add(ops::kMovingAverage, run_average);
  add(ops::kSquaredSums, run_squared_sums);
}

}  // namespace

}  // namespace nyala
