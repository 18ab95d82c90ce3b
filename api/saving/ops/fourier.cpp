// Fourier transforms of keras.ops.math. Complex numbers are lists of two tensors.
#include <nyala/api/saving/ops/op_forms.h>
#include <nyala/api/saving/ops/op_table.h>
#include <nyala/backend/ops/all.h>

namespace nyala {

namespace {

ops::ComplexTensor complex_argument(const OpArguments& a) {
  const Tensors parts = a.tensors("x", 0);
  if (parts.size() != 2) a.fail("x", "two tensors, the real and the imaginary parts");
  return {parts[0], parts[1]};
}

Tensors parts_of(const ops::ComplexTensor& y) { return {y.real, y.imag}; }

template <ops::ComplexTensor (*op)(const ops::ComplexTensor&)>
Tensors transform(const OpArguments& a) {
  return parts_of(op(complex_argument(a)));
}
void write_complex(const TracedOp&, OpConfig& out) { out.args = Json::array({out.args}); }

std::optional<int64_t> optional_integer(const OpArguments& a, const char* name) {
  if (a.setting(name).is_null()) return std::nullopt;
  return a.integer(name, 0);
}
void write_length(const TracedOp& op, OpConfig& out) {
  const int64_t length = op.as<ops::FourierDescriptor>().fft_length;
  out.config["fft_length"] = length ? Json(length) : Json();
}

Tensors read_rfft(const OpArguments& a) {
  return parts_of(ops::rfft(a.tensor("x", 0), optional_integer(a, "fft_length")));
}

Tensors read_irfft(const OpArguments& a) {
  return {ops::irfft(complex_argument(a), optional_integer(a, "fft_length"))};
}
void write_irfft(const TracedOp& op, OpConfig& out) {
  write_complex(op, out);
  write_length(op, out);
}

/// Files hold names alone.
ops::StftWindow window_of(const OpArguments& a) {
  if (a.setting("window").is_null()) return std::nullopt;
  return a.text("window", "");
}

Tensors read_stft(const OpArguments& a) {
  return parts_of(ops::stft(a.tensor("x", 0), a.integer("sequence_length", 0),
                            a.integer("sequence_stride", 0), a.integer("fft_length", 0),
                            {window_of(a), a.flag("center")}));
}

Tensors read_istft(const OpArguments& a) {
  return {ops::istft(complex_argument(a), a.integer("sequence_length", 0), a.integer("sequence_stride", 0),
                     a.integer("fft_length", 0),
                     {optional_integer(a, "length"), window_of(a), a.flag("center")})};
}

constexpr OpRow kFourierRows[] = {
    {"FFT", transform<ops::fft>, {{&ops::kFft, write_complex}}},
    {"FFT2", transform<ops::fft2>},
    {"IFFT2", transform<ops::ifft2>},
    {"RFFT", read_rfft, {{&ops::kRfft, write_length}}},
    {"IRFFT", read_irfft, {{&ops::kIrfft, write_irfft}}},
    {"STFT", read_stft},
    {"ISTFT", read_istft},
};

}  // namespace

OpFamily fourier_ops() { return {"keras.src.ops.math", kFourierRows}; }

}  // namespace nyala
