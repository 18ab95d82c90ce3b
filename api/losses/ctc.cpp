#include <nyala/api/losses/configured_loss.h>
#include <nyala/api/losses/ctc.h>
#include <nyala/backend/ops/nn/ctc_loss.h>

namespace nyala {

void CTCConfig::fields(FieldVisitor& v) { v.field("reduction", reduction); }

CTC::CTC(const Config& config)
    : Loss(make_loss(
          "CTC", config,
          [](const Tensor& y_true, const Tensor& y_pred) { return ops::ctc_loss(y_true, y_pred); },
          ValuesOf::rows)) {}

}  // namespace nyala
