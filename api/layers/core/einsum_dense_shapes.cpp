// Keras' EinsumDense: sizes are kept by letter. The result's come from output_shape, the others from the
// input, and the kernel's axes look theirs up. An equation whose contracted letters end the input and begin
// the kernel, in one order, is a plain product of matrices (is_plain_product).
#include <nyala/api/layers/core/einsum_dense_shapes.h>

#include <algorithm>
#include <map>

#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

namespace {

constexpr std::string_view kDots = "...";

bool only_letters(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_letter);
}

bool take_left(std::string& term) {
  if (!term.starts_with(kDots)) return false;
  term.erase(0, kDots.size());
  return true;
}

bool take_right(std::string& term) {
  if (!term.ends_with(kDots)) return false;
  term.erase(term.size() - kDots.size());
  return true;
}

bool has(const std::string& letters, char letter) { return letters.find(letter) != std::string::npos; }

std::string quoted(char letter) { return std::string("'") + letter + "'"; }

/// Sizes of the result's letters, None where the output shape leaves them to the input.
std::map<char, int64_t> output_sizes(const EinsumDenseEquation& e, const Shape& input,
                                     const std::vector<int64_t>& given) {
  const int elided = input.rank() - static_cast<int>(e.input.size());
  if (elided < 0 || (elided > 0 && e.dots == EinsumDenseEquation::Dots::none))
    throw ShapeError("expected an input of " + std::to_string(e.input.size()) + " axes " +
                     in_quotes(e.input) + ", received " + input.to_string());
  std::vector<int64_t> sizes(given.begin(), given.end());
  if (e.dots != EinsumDenseEquation::Dots::left || elided == 0) sizes.insert(sizes.begin(), input[0]);
  if (sizes.size() != e.output.size())
    throw ShapeError("expected an output_shape of " +
                     std::to_string(e.output.size() + given.size() - sizes.size()) + " sizes for " +
                     in_quotes(e.output) + ", received " + std::to_string(given.size()));
  std::map<char, int64_t> by_letter;
  for (size_t i = 0; i < sizes.size(); ++i) by_letter[e.output[i]] = sizes[i];
  return by_letter;
}

std::map<char, int64_t> input_sizes(const EinsumDenseEquation& e, const Shape& input) {
  const int elided = input.rank() - static_cast<int>(e.input.size());
  const int first = e.dots == EinsumDenseEquation::Dots::left ? elided : 0;
  std::map<char, int64_t> by_letter;
  for (size_t i = 0; i < e.input.size(); ++i) by_letter[e.input[i]] = input[first + static_cast<int>(i)];
  return by_letter;
}

void check_shared(const EinsumDenseEquation& e, const std::map<char, int64_t>& inputs,
                  const std::map<char, int64_t>& outputs) {
  for (const auto& [letter, size] : inputs) {
    const auto found = outputs.find(letter);
    if (found != outputs.end() && found->second != None && found->second != size)
      throw ShapeError("expected the size of " + quoted(letter) + " to be that of the input, " +
                       std::to_string(size) + ", received an output_shape with " +
                       std::to_string(found->second));
  }
  for (const char letter : e.output)
    if (!has(e.input, letter) && !has(e.kernel, letter))
      throw ShapeError("the result has " + quoted(letter) + ", which neither input nor kernel has");
}

Shape bias_shape(const EinsumDenseEquation& e, const std::map<char, int64_t>& sizes, const std::string& axes,
                 int elided) {
  size_t first = e.output.size();
  for (const char letter : axes) {
    if (!has(e.output, letter))
      throw ShapeError("bias_axes has " + quoted(letter) + ", which the result " + in_quotes(e.output) +
                       " lacks");
    first = std::min(first, e.output.find(letter));
  }
  Shape shape;
  for (size_t i = first; i < e.output.size(); ++i)
    shape.append(has(axes, e.output[i]) ? sizes.at(e.output[i]) : 1);
  for (int i = 0; i < elided && e.dots == EinsumDenseEquation::Dots::right; ++i) shape.append(1);
  return shape;
}

}  // namespace

EinsumDenseEquation detail::read_dense_equation(const std::string& equation) {
  std::string text = equation;
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const size_t comma = text.find(','), arrow = text.find("->");
  EinsumDenseEquation e;
  if (comma != std::string::npos && arrow != std::string::npos && comma < arrow) {
    e.input = text.substr(0, comma);
    e.kernel = text.substr(comma + 1, arrow - comma - 1);
    e.output = text.substr(arrow + 2);
    const bool left = take_left(e.input), right = !left && take_right(e.input);
    const bool same = left ? take_left(e.output) : right ? take_right(e.output) : true;
    e.dots = left    ? EinsumDenseEquation::Dots::left
             : right ? EinsumDenseEquation::Dots::right
                     : EinsumDenseEquation::Dots::none;
    if (same && only_letters(e.input) && only_letters(e.kernel) && only_letters(e.output)) return e;
  }
  throw InvalidArgumentError(
      "EinsumDense: expected an equation like 'ab,bc->ac', '...b,bc->...c' or "
      "'ab...,bc->ac...', received " +
      in_quotes(equation));
}

EinsumDenseShapes detail::shapes_of_dense(const EinsumDenseEquation& e, const Shape& input,
                                  const std::vector<int64_t>& output_shape, const std::string& bias_axes) {
  const std::map<char, int64_t> outputs = output_sizes(e, input, output_shape),
                                inputs = input_sizes(e, input);
  check_shared(e, inputs, outputs);
  EinsumDenseShapes shapes;
  for (size_t i = 0; i < e.kernel.size(); ++i) {
    const char letter = e.kernel[i];
    if (!has(e.output, letter) && !has(e.input, letter))
      throw ShapeError("the kernel has " + quoted(letter) + ", which neither input nor result has");
    const bool is_output = has(e.output, letter);
    const int64_t of_output = is_output ? outputs.at(letter) : None;
    shapes.kernel.append(of_output != None || !has(e.input, letter) ? of_output : inputs.at(letter));
    (is_output ? shapes.output_axes : shapes.input_axes).push_back(static_cast<int64_t>(i));
  }
  if (!bias_axes.empty()) {
    std::map<char, int64_t> sizes = outputs;
    for (auto& [letter, size] : sizes)
      if (size == None && inputs.contains(letter)) size = inputs.at(letter);
    shapes.bias = bias_shape(e, sizes, bias_axes, input.rank() - static_cast<int>(e.input.size()));
  }
  return shapes;
}

bool detail::is_plain_product(const EinsumDenseEquation& e, int& contracted) {
  if (e.dots == EinsumDenseEquation::Dots::right) return false;
  size_t count = 0;
  while (count < e.kernel.size() && has(e.input, e.kernel[count]) && !has(e.output, e.kernel[count])) ++count;
  contracted = static_cast<int>(count);
  if (count == 0 || count > e.input.size() || count == e.kernel.size()) return false;
  const std::string free = e.input.substr(0, e.input.size() - count), made = e.kernel.substr(count);
  for (const char letter : made)
    if (has(e.input, letter)) return false;
  return e.input.ends_with(e.kernel.substr(0, count)) && e.output == free + made;
}

}  // namespace nyala
