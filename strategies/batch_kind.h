#pragma once

#include <cstdint>
#include <string_view>

#include <nyala/backend/runtime/process_exchange.h>
#include <nyala/datasets/base/element.h>

namespace nyala::detail {

/// A number for what a batch is made of, but its sizes: which tensors x, y and sample weights are, their
/// dtypes and how many axes they have.
int64_t kind_of(const Batch& batch);

/// For processes whose batches are of different kinds: all call it, with null where they have none. Throws
/// StateError, in all, with what each has; `what` begins its text.
[[noreturn]] void refuse_kinds(ProcessExchange& processes, const Batch* batch, std::string_view what);

}  // namespace nyala::detail
