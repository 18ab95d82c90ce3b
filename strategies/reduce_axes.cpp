#include <nyala/strategies/reduce_axes.h>


#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

ReduceOpName::ReduceOpName(std::string_view name) : op(ReduceOp::sum) {
  const std::string upper = upper_case(name);
  if (upper == "SUM") return;
  if (upper != "MEAN")
    throw InvalidArgumentError(in_quotes(name) + " is not a valid ReduceOp; expected 'SUM' or 'MEAN'" +
                               did_you_mean(upper, {"SUM", "MEAN"}));
  op = ReduceOp::mean;
}

}  // namespace nyala
