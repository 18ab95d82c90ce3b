// NumPy-like text of a tensor: numbers of one tensor share their format, long axes are cut in the middle.
#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/tensor.h>

namespace nyala {

using namespace nyala::detail;

namespace {

constexpr int64_t kWholeUpTo = 1000;  // elements that are printed without an ellipsis
constexpr int64_t kEdge = 3;          // entries kept at either end of a cut axis
constexpr int kPrecision = 8;
constexpr size_t kLineWidth = 75;

/// The host's copy of a tensor as numbers.
struct Values {
  std::vector<double> numbers;  // exact for everything but int64 beyond 2^53
  std::vector<int64_t> whole;   // for int64
};

Values read(const Tensor& tensor) {
  Values values;
  if (tensor.dtype() == DType::int64) {
    values.whole = tensor.to_vector<int64_t>();
    return values;
  }
  const size_t count = static_cast<size_t>(tensor.num_elements());
  dispatch_any(tensor.dtype(), [&]<class T>(T) {
    const std::vector<T> raw = tensor.to_vector<T>();
    values.numbers.resize(count);
    for (size_t i = 0; i < count; ++i) {
      if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>)
        values.numbers[i] = static_cast<double>(static_cast<float>(raw[i]));
      else
        values.numbers[i] = static_cast<double>(raw[i]);
    }
  });
  return values;
}

/// The shortest decimal fraction that reads back as the same value of `dtype`, at most kPrecision digits.
std::string shortest(double value, DType dtype, char form) {
  std::string text;
  for (int digits = 0; digits <= kPrecision; ++digits) {
    text = form == 'e' ? scientific_text(value, digits) : fixed_text(value, digits);
    const double back = *parse_number(text);
    const bool same =
        dtype == DType::float64 ? back == value : static_cast<float>(back) == static_cast<float>(value);
    if (same) break;
  }
  return text;
}

/// How all numbers of one tensor are written.
class NumberFormat {
 public:
  NumberFormat(const std::vector<double>& shown, DType dtype) : dtype_(dtype) {
    double smallest = 0, largest = 0;
    for (const double value : shown) {
      const double size = std::abs(value);
      if (!std::isfinite(size) || size == 0) continue;
      smallest = smallest == 0 ? size : std::min(smallest, size);
      largest = std::max(largest, size);
    }
    // NumPy compares in the array's own dtype: the float32 nearest to 1e-4 is not below it.
    const double tiny = dtype == DType::float64 ? 1e-4 : static_cast<double>(1e-4f);
    scientific_ = largest >= 1e8 || (smallest > 0 && (smallest < tiny || largest / smallest > 1e3));
    for (const double value : shown) {
      if (!std::isfinite(value)) continue;
      const std::string text = shortest(value, dtype_, scientific_ ? 'e' : 'f');
      const size_t point = text.find('.');
      if (point == std::string::npos) continue;
      const size_t end = scientific_ ? text.find('e') : text.size();
      digits_ = std::max(digits_, static_cast<int>(end - point - 1));
    }
  }

  std::string operator()(double value) const {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    if (scientific_) {
      std::string out = scientific_text(value, digits_);
      if (digits_ == 0) out.insert(out.find('e'), ".");
      return out;
    }
    const std::string own = shortest(value, dtype_, 'f');
    const size_t point = own.find('.');
    const size_t fraction = point == std::string::npos ? 0 : own.size() - point - 1;
    return own + (point == std::string::npos ? "." : "") +
           std::string(static_cast<size_t>(digits_) - std::min(fraction, static_cast<size_t>(digits_)), ' ');
  }

 private:
  DType dtype_;
  bool scientific_ = false;
  int digits_ = 0;
};

class Printer {
 public:
  explicit Printer(const Tensor& tensor) : shape_(tensor.shape()), cut_(tensor.num_elements() > kWholeUpTo) {
    format_elements(tensor);
    for (const std::string& text : elements_) width_ = std::max(width_, text.size());
  }

  std::string text() {
    next_ = 0;
    return shape_.rank() == 0 ? trimmed(elements_[0]) : block(0);
  }

 private:
  static std::string trimmed(std::string text) {
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  }

  /// Collects the texts of the elements that are shown, in order.
  void format_elements(const Tensor& tensor) {
    const Values values = read(tensor);
    std::vector<size_t> shown;
    collect(0, 0, shown);
    if (tensor.dtype() == DType::int64) {
      for (const size_t i : shown) elements_.push_back(std::to_string(values.whole[i]));
    } else if (tensor.dtype() == DType::bool_) {
      for (const size_t i : shown) elements_.emplace_back(values.numbers[i] != 0 ? "True" : "False");
    } else if (!is_floating(tensor.dtype())) {
      for (const size_t i : shown)
        elements_.push_back(std::to_string(static_cast<int64_t>(values.numbers[i])));
    } else {
      std::vector<double> numbers;
      for (const size_t i : shown) numbers.push_back(values.numbers[i]);
      const NumberFormat format(numbers, tensor.dtype());
      for (const double number : numbers) elements_.push_back(format(number));
    }
  }

  bool is_cut(int axis) const { return cut_ && shape_[axis] > 2 * kEdge; }

  template <class Body>
  void for_each_shown(int axis, Body&& body) const {
    const int64_t size = shape_[axis];
    for (int64_t i = 0; i < size; ++i) {
      if (is_cut(axis) && i == kEdge) i = size - kEdge;
      body(i);
    }
  }

  void collect(int axis, size_t offset, std::vector<size_t>& shown) const {
    if (axis == shape_.rank()) {
      shown.push_back(offset);
      return;
    }
    for_each_shown(axis, [&](int64_t i) {
      collect(axis + 1, offset * static_cast<size_t>(shape_[axis]) + static_cast<size_t>(i), shown);
    });
  }

  std::string block(int axis) {
    const bool last = axis == shape_.rank() - 1;
    const std::string indent(static_cast<size_t>(axis) + 1, ' ');
    const std::string between =
        last ? "" : std::string(static_cast<size_t>(shape_.rank() - 1 - axis), '\n') + indent;
    std::string out = "[";
    size_t line = indent.size();
    const auto add = [&](const std::string& text) {
      if (last && line + 1 + text.size() > kLineWidth - static_cast<size_t>(shape_.rank()) &&
          line > indent.size()) {
        out += "\n" + indent;
        line = indent.size();
      } else if (out.size() > 1) {
        out += last ? " " : between;
        line += 1;
      }
      out += text;
      line += text.size();
    };
    for_each_shown(axis, [&](int64_t i) {
      if (is_cut(axis) && i == shape_[axis] - kEdge) add("...");
      add(last ? padded(elements_[next_++]) : block(axis + 1));
    });
    return out + "]";
  }

  std::string padded(const std::string& text) const { return std::string(width_ - text.size(), ' ') + text; }

  Shape shape_;
  bool cut_;
  std::vector<std::string> elements_;
  size_t width_ = 0, next_ = 0;
};

}  // namespace

std::string Tensor::to_string() const {
  if (!defined_) return "undefined";
  if (is_abstract())
    return "<symbolic tensor shape=" + shape_.to_string() + ", dtype=" + std::string(name_of(dtype_)) + ">";
  if (num_elements() == 0 && rank() != 1)
    return "[]  (shape " + shape_.to_string() + ", " + std::string(name_of(dtype_)) + ")";
  return Printer(*this).text();
}

std::ostream& Tensor::write(std::ostream& out, const Tensor& x) { return out << x.to_string(); }

}  // namespace nyala
