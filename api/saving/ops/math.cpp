#include <nyala/api/saving/ops/op_forms.h>
#include <nyala/api/saving/ops/op_table.h>
#include <nyala/backend/ops/all.h>

namespace nyala {

namespace {

Tensors read_top_k(const OpArguments& a) {
  const ops::TopK found = ops::top_k(a.tensor("x", 0), a.small_integer("k", 1));
  return {found.values, found.indices};
}
void write_top_k(const TracedOp& op, OpConfig& out) {
  out.config["k"] = op.as<ops::TopKDescriptor>().k;
  out.config["sorted"] = true;
}

Tensors read_in_top_k(const OpArguments& a) {
  return {ops::in_top_k(a.tensor("targets", 0), a.tensor("predictions", 1), a.small_integer("k", 1))};
}
void write_in_top_k(const TracedOp& op, OpConfig& out) { out.config["k"] = op.as<ops::TopKDescriptor>().k; }

constexpr OpRow kMathRows[] = {
    {"Rsqrt", unary<ops::rsqrt>, {{&ops::kRsqrt}}, legacy_unary("rsqrt")},
    {"Erf", unary<ops::erf>, {{&ops::kErf}}, legacy_unary("erf")},
    {"Logsumexp",
     reduction<ops::logsumexp>,
     {{&ops::kLogsumexp, write_reduction}},
     legacy_reduction("reduce_logsumexp")},
    {"TopK", read_top_k, {{&ops::kTopK, write_top_k}}},
    {"InTopK", read_in_top_k, {{&ops::kInTopK, write_in_top_k}}},
};

}  // namespace

OpFamily math_ops() { return {"keras.src.ops.math", kMathRows}; }

}  // namespace nyala
