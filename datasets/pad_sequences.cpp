#include <nyala/datasets/pad_sequences.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

namespace {

constexpr const char* kWhere = "pad_sequences: ";

bool is_pre(const std::string& word, const char* argument) {
  if (word == "pre") return true;
  if (word == "post") return false;
  throw InvalidArgumentError(kWhere + ("expected " + std::string(argument)) + " 'pre' or 'post', received '" +
                             word + "'" + did_you_mean(word, {"pre", "post"}));
}

/// `value` as a To; the cut of fractions is C's and NumPy's alike.
template <class To, class From>
To converted(From value) {
  const auto fail = [&] {
    throw InvalidArgumentError(kWhere + std::string("expected values that ") +
                               std::string(name_of(dtype_of<To>)) + " can hold, received " +
                               number_text(static_cast<double>(value)));
  };
  if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_integral_v<To> && std::is_integral_v<From>) {
    if (!std::in_range<To>(static_cast<int64_t>(value))) fail();
  } else if constexpr (std::is_integral_v<To>) {
    const double cut = std::trunc(static_cast<double>(value));
    const double low = static_cast<double>(std::numeric_limits<To>::min());
    const double above = std::ldexp(1.0, std::numeric_limits<To>::digits);
    if (!(cut >= low && cut < above)) fail();
  }
  return static_cast<To>(value);
}

/// What all sequences have in common.
struct Layout {
  int64_t longest = 0;
  Shape step = {};  // of the first sequence that is not empty
  bool known = false;
};

Layout layout_of(const Tensors& sequences) {
  Layout out;
  for (size_t i = 0; i < sequences.size(); ++i) {
    const Shape& shape = sequences[i].shape();
    if (shape.rank() < 1)
      throw ShapeError(kWhere + ("expected sequences, received a scalar at position " + std::to_string(i)));
    out.longest = std::max(out.longest, shape[0]);
    if (shape[0] == 0) continue;
    const Shape step = shape.slice(1, shape.rank());
    if (out.known && step != out.step)
      throw ShapeError(kWhere + ("expected steps of shape " + out.step.to_string()) +
                       " as in the sequences before, received " + step.to_string() + " at position " +
                       std::to_string(i));
    out.step = step;
    out.known = true;
  }
  return out;
}

struct Rules {
  int64_t maxlen = 0;
  int64_t step = 1;  // elements
  bool pad_before = true;
  bool cut_before = true;
};

template <class To>
void copy_sequence(const Tensor& sequence, const Rules& rules, To* row) {
  const int64_t length = sequence.shape()[0], kept = std::min(length, rules.maxlen);
  const int64_t from = rules.cut_before ? length - kept : 0;
  const int64_t to = rules.pad_before ? rules.maxlen - kept : 0;
  dispatch_arithmetic(sequence.dtype(), "pad_sequences", [&]<class From>(From) {
    const auto values = sequence.data<From>();
    for (int64_t i = 0; i < kept * rules.step; ++i)
      row[to * rules.step + i] = converted<To>(values[static_cast<size_t>(from * rules.step + i)]);
  });
}

}  // namespace

Tensor pad_tensor_sequences(const Tensors& sequences, const PadSequencesConfig& config) {
  const Layout layout = layout_of(sequences);
  if (sequences.empty() && !config.maxlen)
    throw InvalidArgumentError(kWhere + std::string("expected sequences, or maxlen, received neither"));
  if (config.maxlen && *config.maxlen < 1)
    throw InvalidArgumentError(kWhere +
                               ("expected maxlen above 0, received " + std::to_string(*config.maxlen)));
  const Rules rules{config.maxlen.value_or(layout.longest), layout.step.num_elements(),
                    is_pre(config.padding, "padding"), is_pre(config.truncating, "truncating")};
  std::vector<int64_t> sizes = {static_cast<int64_t>(sequences.size()), rules.maxlen};
  for (int axis = 0; axis < layout.step.rank(); ++axis) sizes.push_back(layout.step[axis]);
  const DType dtype = parse_dtype(config.dtype);
  Tensor out = Tensor::empty(Shape(sizes), dtype);
  dispatch_arithmetic(dtype, "pad_sequences", [&]<class To>(To) {
    To* values = out.raw_as<To>();
    std::fill_n(values, out.num_elements(), converted<To>(config.value));
    const int64_t row = rules.maxlen * rules.step;
    for (size_t i = 0; i < sequences.size(); ++i)
      if (sequences[i].shape()[0] > 0)
        copy_sequence(sequences[i], rules, values + static_cast<int64_t>(i) * row);
  });
  return out;
}

}  // namespace nyala
