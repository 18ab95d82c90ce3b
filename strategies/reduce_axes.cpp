#include <nyala/strategies/reduce_axes.h>

#include <cctype>

#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

ReduceOpName::ReduceOpName(std::string_view name) : op(ReduceOp::sum) {
  std::string upper;
  for (const char c : name) upper += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (upper == "SUM") return;
  if (upper != "MEAN")
    throw InvalidArgumentError(in_quotes(name) + " is not a valid ReduceOp; expected 'SUM' or 'MEAN'" +
                               did_you_mean(upper, {"SUM", "MEAN"}));
  op = ReduceOp::mean;
}

}  // namespace nyala
