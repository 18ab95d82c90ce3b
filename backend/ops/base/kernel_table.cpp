// The first kernel of the list that has no reason to refuse runs; the reference is behind them all, but not
// on a GPU. Reasons are constant texts: only the log and the error of a call that nobody takes make sentences
// of them.
#include <nyala/backend/ops/base/kernel_table.h>

#include <algorithm>
#include <string>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/runtime/context.h>

namespace nyala {

using namespace nyala::detail;

KernelTable& KernelTable::instance() {
  static KernelTable* const table = [] {
    auto* filled = new KernelTable;  // kernels may run while static objects are being destroyed
    register_kernels(*filled);
    return filled;
  }();
  return *table;
}

void KernelTable::add(const OpDef& op, DeviceKind kind, const Kernel& kernel) {
  fast_[&op][static_cast<size_t>(kind)].push_back(kernel);
}

void KernelTable::order(const OpDef& op, DeviceKind kind, std::span<const std::string_view> names) {
  std::vector<Kernel>& kernels = fast_[&op][static_cast<size_t>(kind)];
  const auto place = [&](const Kernel& kernel) {
    const auto found = std::find(names.begin(), names.end(), kernel.name);
    if (found == names.end())
      throw InternalError("the list of kernels does not say when '" + std::string(op.name) + "' asks '" +
                          std::string(kernel.name) + "'");
    return found - names.begin();
  };
  std::stable_sort(kernels.begin(), kernels.end(),
                   [&](const Kernel& a, const Kernel& b) { return place(a) < place(b); });
}

std::span<const Kernel> KernelTable::fast_kernels(const OpDef& op, DeviceKind kind) const {
  const auto found = fast_.find(&op);
  if (found == fast_.end()) return {};
  return found->second[static_cast<size_t>(kind)];
}

std::vector<const OpDef*> KernelTable::ops_with_kernels(DeviceKind kind) const {
  std::vector<const OpDef*> ops;
  for (const auto& [op, lists] : fast_)
    if (!lists[static_cast<size_t>(kind)].empty()) ops.push_back(op);
  return ops;
}

namespace {

bool has_empty_input(const KernelCall& call) {
  for (const Tensor* input : call.inputs)
    if (input->num_elements() == 0) return true;
  return false;
}

/// The kernel a test asks for, if it is the reference or one that this op has; ops without it choose freely.
std::string_view wanted_kernel(std::span<const Kernel> fast) {
  const std::string_view only = thread_context().only_kernel;
  if (only.empty() || only == "reference") return only;
  for (const Kernel& kernel : fast)
    if (kernel.name == only) return only;
  return {};
}

const char* unsupported_reason(const Kernel& kernel, const KernelCall& call, std::string_view only) {
  if (!only.empty() && only != kernel.name) return "a test asks for another kernel";
  if (kernel.name != "reference" && !call.op->fast_kernels_take_empty && has_empty_input(call))
    return "an input is empty";
  const char* reason = kernel.unsupported_reason ? kernel.unsupported_reason(call) : nullptr;
  return reason && *reason ? reason : nullptr;
}

void log_choice(const KernelCall& call, const Kernel& kernel, const char* reason) {
  std::string text = std::string(call.op->name) + ": " + std::string(kernel.name) +
                     (reason ? " does not support this: " : " runs");
  if (reason) text += reason;
  for (const Tensor* input : call.inputs) text += " " + input->shape().to_string();
  log(LogChannel::kernels, text);
}

/// Every kernel's reason on a line of its own, for the error alone: a call that finds a kernel allocates
/// nothing.
std::string all_unsupported_reasons(std::span<const Kernel> fast, const KernelCall& call,
                                    bool with_reference) {
  const std::string_view only = wanted_kernel(fast);
  std::string text;
  auto add = [&](const Kernel& kernel) {
    const char* reason = unsupported_reason(kernel, call, only);
    text += "\n  " + std::string(kernel.name) + ": " + (reason ? reason : "takes it");
  };
  for (const Kernel& kernel : fast) add(kernel);
  if (with_reference) add(call.op->reference);
  return text.empty() ? " (none exists)" : ":" + text;
}

}  // namespace

bool has_half(const KernelCall& call) {
  for (const Tensor* input : call.inputs)
    if (is_half(input->dtype())) return true;
  for (const Tensor& output : call.outputs)
    if (is_half(output.dtype())) return true;
  return false;
}

const Kernel* KernelTable::find_half(const KernelCall& call, DeviceKind kind) const {
  const bool logging = log_enabled(LogChannel::kernels);
  const std::span<const Kernel> fast = fast_kernels(*call.op, kind);
  const std::string_view only = wanted_kernel(fast);
  const auto takes = [&](const Kernel& kernel) {
    const char* reason = unsupported_reason(kernel, call, only);
    if (logging) log_choice(call, kernel, reason);
    return reason == nullptr;
  };
  for (const Kernel& kernel : fast)
    if (kernel.takes_half && takes(kernel)) return &kernel;
  const bool with_reference = call.op->takes_half && entry_of(kind).runs_reference_loops;
  return with_reference && takes(call.op->reference) ? &call.op->reference : nullptr;
}

const Kernel& KernelTable::select(const KernelCall& call, DeviceKind kind) const {
  const bool logging = log_enabled(LogChannel::kernels);
  const std::span<const Kernel> fast = fast_kernels(*call.op, kind);
  const std::string_view only = wanted_kernel(fast);
  auto takes = [&](const Kernel& kernel) {
    const char* reason = unsupported_reason(kernel, call, only);
    if (logging) log_choice(call, kernel, reason);
    return reason == nullptr;
  };
  for (const Kernel& kernel : fast)
    if (takes(kernel)) return kernel;
  const bool with_reference = entry_of(kind).runs_reference_loops && call.op->reference.run;
  if (with_reference && takes(call.op->reference)) return call.op->reference;
  throw NotFoundError("no kernel of '" + std::string(call.op->name) + "' on " + std::string(name_of(kind)) +
                      " takes this call" + all_unsupported_reasons(fast, call, with_reference));
}

}  // namespace nyala
