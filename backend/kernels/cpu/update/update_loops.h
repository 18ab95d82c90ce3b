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
  add(ops::kSgdUpdate, run_update<formulas::Sgd>);
  add(ops::kSgdMomentumUpdate, run_update<formulas::PlainMomentum>);
  add(ops::kSgdNesterovUpdate, run_update<formulas::NesterovMomentum>);
  add(ops::kAdamUpdate, run_update<formulas::Adam>);
  add(ops::kAdamAmsgradUpdate, run_update<formulas::AdamAmsgrad>);
  add(ops::kRmspropUpdate, run_update<formulas::Rmsprop>);
  add(ops::kRmspropMomentumUpdate, run_update<formulas::RmspropMomentum>);
  add(ops::kRmspropCenteredUpdate, run_update<formulas::RmspropCentered>);
  add(ops::kRmspropMomentumCenteredUpdate, run_update<formulas::RmspropMomentumCentered>);
  add(ops::kAdagradUpdate, run_update<formulas::Adagrad>);
  add(ops::kAdadeltaUpdate, run_update<formulas::Adadelta>);
  add(ops::kAdamaxUpdate, run_update<formulas::Adamax>);
  add(ops::kNadamUpdate, run_update<formulas::Nadam>);
  add(ops::kFtrlUpdate, run_update<formulas::Ftrl>);
  add(ops::kLionUpdate, run_update<formulas::Lion>);
  add(ops::kScheduleFreeAdamwUpdate, run_update<formulas::ScheduleFreeAdamw>);
  add(ops::kMovingAverage, run_average);
  add(ops::kSquaredSums, run_squared_sums);
}

}  // namespace

}  // namespace nyala
