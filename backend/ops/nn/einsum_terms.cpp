#include <nyala/backend/ops/nn/einsum_terms.h>

#include <algorithm>

#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>

namespace nyala::ops {

using namespace nyala::detail;

namespace {

constexpr std::string_view kDots = "...";
constexpr char kDotsMark = '.';

[[noreturn]] void fail(std::string_view equation, const std::string& reason) {
  throw InvalidArgumentError("einsum: equation " + in_quotes(equation) + ": " + reason);
}

/// A term without spaces and with one '.' for "...".
std::string read_term(std::string_view term, std::string_view equation) {
  std::string out;
  for (size_t i = 0; i < term.size(); ++i) {
    if (term[i] == ' ') continue;
    if (term.substr(i, kDots.size()) == kDots && out.find(kDotsMark) == std::string::npos) {
      out += kDotsMark;
      i += kDots.size() - 1;
    } else if (is_letter(term[i])) {
      out += term[i];
    } else {
      fail(equation, "expected letters and at most one '...' per tensor");
    }
  }
  return out;
}

std::vector<std::string> read_inputs(std::string_view left, std::string_view equation) {
  std::vector<std::string> terms;
  for (size_t begin = 0; begin <= left.size();) {
    const size_t end = std::min(left.find(',', begin), left.size());
    terms.push_back(read_term(left.substr(begin, end - begin), equation));
    begin = end + 1;
  }
  return terms;
}

/// Keras' and NumPy's rule where there is no arrow: letters that occur once, in alphabetical order.
std::string implied_output(const std::vector<std::string>& inputs) {
  std::map<char, int> counts;
  for (const std::string& term : inputs)
    for (const char label : term) ++counts[label];
  std::string out;
  for (const auto& [label, count] : counts)
    if (label == kDotsMark || count == 1) out += label;
  return out;  // '.' sorts before letters
}

/// Labels of `count` axes that broadcast.
std::string dots_labels(int count) {
  std::string out;
  for (int i = count; i-- > 0;) out += static_cast<char>('0' + i);
  return out;
}

std::string with_dots(std::string term, int count) {
  const size_t at = term.find(kDotsMark);
  if (at != std::string::npos) term.replace(at, 1, dots_labels(count));
  return term;
}

void add_sizes(EinsumTerms& terms, const std::string& labels, const Shape& shape, std::string_view equation) {
  for (size_t axis = 0; axis < labels.size(); ++axis) {
    const int64_t size = shape[static_cast<int>(axis)];
    const auto [known, fresh] = terms.sizes.emplace(labels[axis], size);
    if (fresh || known->second == size || size == 1) continue;
    if (known->second != 1 && known->second != None && size != None)
      throw ShapeError("einsum: equation " + in_quotes(equation) + ": expected axes of one size for '" +
                       labels[axis] + "', received " + std::to_string(known->second) + " and " +
                       std::to_string(size));
    if (size != None || known->second == 1) known->second = size;
  }
}

void check_output(const EinsumTerms& terms, std::string_view equation) {
  for (size_t i = 0; i < terms.output.size(); ++i) {
    if (!terms.sizes.contains(terms.output[i]))
      fail(equation, std::string("the result has '") + terms.output[i] + "', which no tensor has");
    if (terms.output.find(terms.output[i], i + 1) != std::string::npos)
      fail(equation, std::string("the result has '") + terms.output[i] + "' twice");
  }
}

}  // namespace

EinsumTerms detail::read_einsum(std::string_view equation, const std::vector<Shape>& shapes) {
  const size_t arrow = equation.find("->");
  EinsumTerms terms;
  terms.inputs = read_inputs(equation.substr(0, std::min(arrow, equation.size())), equation);
  terms.output = arrow == std::string_view::npos ? implied_output(terms.inputs)
                                                 : read_term(equation.substr(arrow + 2), equation);
  if (terms.inputs.size() != shapes.size())
    fail(equation, "it is about " + std::to_string(terms.inputs.size()) + " tensor(s), received " +
                       std::to_string(shapes.size()));
  int longest = 0;
  for (size_t i = 0; i < shapes.size(); ++i) {
    std::string& term = terms.inputs[i];
    const bool dots = term.find(kDotsMark) != std::string::npos;
    const int rest = shapes[i].rank() - static_cast<int>(term.size()) + (dots ? 1 : 0);
    if (rest < 0 || (!dots && rest > 0))
      throw ShapeError("einsum: equation " + in_quotes(equation) + ": expected " +
                       std::to_string(term.size() - (dots ? 1 : 0)) + (dots ? " or more" : "") +
                       " axes of tensor " + std::to_string(i) + ", received " + shapes[i].to_string());
    term = with_dots(term, rest);
    longest = std::max(longest, dots ? rest : 0);
    add_sizes(terms, term, shapes[i], equation);
  }
  terms.output = with_dots(terms.output, longest);
  check_output(terms, equation);
  return terms;
}

}  // namespace nyala::ops
