// Two tensors are one batched product of matrices: letters of both and of the result are the batch, letters
// of both that vanish the inner axis, the rest rows and columns. Letters of one tensor alone that vanish are
// summed before. Any order inside these four groups computes the same, so the orders of the result and of the
// inputs are tried, and the one that copies the fewest elements is taken. A single loop over all letters
// would be simpler and takes the product of all sizes without a kernel's speed: it is the reference.
#include <nyala/backend/ops/nn/einsum.h>

#include <algorithm>
#include <vector>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/nn/einsum_terms.h>
#include <nyala/backend/ops/nn/matmul.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/shape/repeat.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/backend/ops/shape/slice.h>
#include <nyala/backend/ops/shape/transpose.h>

namespace nyala::ops {

using namespace nyala::detail;
using namespace nyala::ops::detail;

namespace {

std::vector<Shape> shapes_of(TensorPointers inputs) {
  std::vector<Shape> shapes;
  for (const Tensor* input : inputs) shapes.push_back(input->shape());
  return shapes;
}

EinsumTerms terms_of(const void* descriptor, TensorPointers inputs) {
  return read_einsum(static_cast<const EinsumDescriptor*>(descriptor)->equation.data(), shapes_of(inputs));
}

void infer_einsum(InferContext& c) {
  std::vector<Shape> shapes;
  for (size_t i = 0; i < c.num_inputs(); ++i) shapes.push_back(c.shape(i));
  const EinsumTerms terms = read_einsum(c.descriptor<EinsumDescriptor>().equation.data(), shapes);
  DType dtype = c.dtype(0);
  for (size_t i = 1; i < c.num_inputs(); ++i) dtype = promote(dtype, c.dtype(i));
  Shape out;
  for (const char label : terms.output) out.append(terms.sizes.at(label));
  c.output(0, out, dtype);
}

/// Elements from one value of each label in `order` to the next.
std::vector<int64_t> strides_along(const std::string& order, const std::string& labels, const Shape& shape) {
  std::vector<int64_t> strides(order.size(), 0);
  int64_t stride = 1;
  for (size_t axis = labels.size(); axis-- > 0;) {
    const int64_t size = shape[static_cast<int>(axis)];
    if (size > 1) strides[order.find(labels[axis])] += stride;
    stride *= size;
  }
  return strides;
}

void einsum_reference(const KernelCall& call) {
  const EinsumTerms terms = terms_of(call.descriptor_data, call.inputs);
  std::string order = terms.output;
  for (const auto& [label, size] : terms.sizes)
    if (order.find(label) == std::string::npos) order += label;
  std::vector<std::vector<int64_t>> strides;
  for (size_t i = 0; i < call.inputs.size(); ++i)
    strides.push_back(strides_along(order, terms.inputs[i], call.input(i).shape()));
  strides.push_back(strides_along(order, terms.output, call.output(0).shape()));
  int64_t count = 1;
  for (const auto& [label, size] : terms.sizes) count *= size;
  dispatch_arithmetic(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    std::fill_n(call.out<T>(0), call.output(0).num_elements(), T(0));
    std::vector<int64_t> at(strides.size());
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i;
      std::fill(at.begin(), at.end(), 0);
      for (size_t axis = order.size(); axis-- > 0;) {
        const int64_t size = terms.sizes.at(order[axis]), index = rest % size;
        rest /= size;
        for (size_t k = 0; k < strides.size(); ++k) at[k] += index * strides[k][axis];
      }
      T product = call.in<T>(0)[at[0]];
      for (size_t k = 1; k < call.inputs.size(); ++k)
        product = static_cast<T>(product * call.in<T>(k)[at[k]]);
      T& sum = call.out<T>(0)[at.back()];
      sum = static_cast<T>(sum + product);
    }
  });
}

/// A tensor whose axes have labels, each once.
struct Labelled {
  Tensor x;
  std::string labels;

  bool has(char label) const { return labels.find(label) != std::string::npos; }
  int axis(char label) const { return static_cast<int>(labels.find(label)); }
  int64_t size(char label) const { return x.shape()[axis(label)]; }
};

/// Brings the two axes of a letter that occurs twice together and takes every (n + 1)th element of both.
void take_diagonals(Labelled& t) {
  for (size_t first = 0; first < t.labels.size(); ++first) {
    const size_t second = t.labels.find(t.labels[first], first + 1);
    if (second == std::string::npos) continue;
    const Tensor together = moveaxis(t.x, static_cast<int>(second), static_cast<int>(first) + 1);
    t.labels.erase(second, 1);
    const int64_t n = together.shape()[static_cast<int>(first)];
    Shape merged = together.shape().without(static_cast<int>(first) + 1);
    merged.set(static_cast<int>(first), n * n);
    t.x =
        slice_axis(reshape(together, merged), static_cast<int>(first), {.step = static_cast<int32_t>(n + 1)});
    --first;
  }
}

void drop_axis(Labelled& t, char label) {
  t.x = reshape(t.x, t.x.shape().without(t.axis(label)));
  t.labels.erase(static_cast<size_t>(t.axis(label)), 1);
}

void sum_over(Labelled& t, const std::string& gone) {
  std::vector<int> axes;
  for (const char label : gone) axes.push_back(t.axis(label));
  if (axes.empty()) return;
  t.x = sum(t.x, axes);
  for (const char label : gone) t.labels.erase(t.labels.find(label), 1);
}

std::string without_ones(const Labelled& t, const std::string& labels) {
  std::string out;
  for (const char label : labels)
    if (t.size(label) != 1) out += label;
  return out;
}

/// Whether the axes lie as in `wanted`, apart from those of size 1.
bool lies_as(const Labelled& t, const std::string& wanted) {
  return t.labels == wanted || without_ones(t, t.labels) == without_ones(t, wanted);
}

/// The tensor with its axes in the order of `wanted`; copied only where they are not.
Tensor arranged(const Labelled& t, const std::string& wanted) {
  if (t.labels == wanted) return t.x;
  if (lies_as(t, wanted)) {
    Shape shape;
    for (const char label : wanted) shape.append(t.size(label));
    return reshape(t.x, shape);
  }
  std::vector<int> axes;
  for (const char label : wanted) axes.push_back(t.axis(label));
  return transpose(t.x, axes);
}

std::string common(const std::string& labels, const Labelled& a, const Labelled& b) {
  std::string out;
  for (const char label : labels)
    if (a.has(label) && b.has(label)) out += label;
  return out;
}

std::string subset(const std::string& labels, const std::string& of) {
  std::string out;
  for (const char label : labels)
    if (of.find(label) != std::string::npos) out += label;
  return out;
}

std::string difference(const std::string& labels, const std::string& other) {
  std::string out;
  for (const char label : labels)
    if (other.find(label) == std::string::npos) out += label;
  return out;
}

/// One way to see a product as a batch of matrices: the orders of its four kinds of labels.
struct MatrixOrders {
  std::string batch, left, right, contracted;
  bool swapped = false;  // right times left
};

int64_t copied(const Labelled& t, const std::string& one, const std::string& other) {
  return lies_as(t, one) || lies_as(t, other) ? 0 : t.x.num_elements();
}

int64_t elements_copied(const Labelled& a, const Labelled& b, const MatrixOrders& o,
                        const std::string& output) {
  int64_t count = copied(a, o.batch + o.left + o.contracted, o.batch + o.contracted + o.left) +
                  copied(b, o.batch + o.contracted + o.right, o.batch + o.right + o.contracted);
  const std::string result = o.swapped ? o.batch + o.right + o.left : o.batch + o.left + o.right;
  if (result != output) {
    int64_t size = 1;
    for (const char label : result) size *= a.has(label) ? a.size(label) : b.size(label);
    count += size;
  }
  return count;
}

/// The orders that copy least.
MatrixOrders best_orders(const Labelled& a, const Labelled& b, const std::string& output) {
  const std::string batch = common(output, a, b), contracted = difference(common(a.labels, a, b), output);
  const std::string left = difference(subset(output, a.labels), batch),
                    right = difference(subset(output, b.labels), batch);
  MatrixOrders best;
  int64_t least = -1;
  for (const std::string& of : {output, a.labels, b.labels})
    for (const std::string& from : {a.labels, b.labels})
      for (const bool of_inputs : {false, true})
        for (const bool swapped : {false, true}) {
          if (least == 0) return best;
          const MatrixOrders orders{subset(of, batch), of_inputs ? subset(a.labels, left) : left,
                                    of_inputs ? subset(b.labels, right) : right, subset(from, contracted),
                                    swapped};
          const int64_t count = elements_copied(a, b, orders, output);
          if (least >= 0 && count >= least) continue;
          least = count;
          best = orders;
        }
  return best;
}

int64_t size_of_labels(const Labelled& t, const std::string& labels) {
  int64_t size = 1;
  for (const char label : labels) size *= t.size(label);
  return size;
}

/// A factor as (batch, rows, columns), or (rows, columns) without a batch; `transposed` where its columns lie
/// outside its rows.
struct Matrices {
  Tensor x;
  bool transposed = false;
};

Matrices matrices_of(const Labelled& t, const std::string& batch, const std::string& rows,
                     const std::string& columns) {
  const bool transposed = !lies_as(t, batch + rows + columns) && lies_as(t, batch + columns + rows);
  const std::string &outer = transposed ? columns : rows, &inner = transposed ? rows : columns;
  Shape shape{size_of_labels(t, outer), size_of_labels(t, inner)};
  if (!batch.empty()) shape = {size_of_labels(t, batch), shape[0], shape[1]};
  return {reshape(arranged(t, batch + outer + inner), shape), transposed};
}

Labelled product(const Labelled& a, const Labelled& b, const std::string& output) {
  const MatrixOrders o = best_orders(a, b, output);
  const Matrices left = matrices_of(a, o.batch, o.left, o.contracted),
                 right = matrices_of(b, o.batch, o.contracted, o.right);
  const Tensor y = o.swapped ? matmul(right.x, left.x, {!right.transposed, !left.transposed})
                             : matmul(left.x, right.x, {left.transposed, right.transposed});
  Labelled out{y, o.swapped ? o.batch + o.right + o.left : o.batch + o.left + o.right};
  Shape shape;
  for (const char label : out.labels) shape.append(a.has(label) ? a.size(label) : b.size(label));
  out.x = reshape(y, shape);
  return out;
}

/// A product without a sum, where each factor has the axes that it lacks with size 1.
Tensor elementwise(const Labelled& a, const Labelled& b, const std::string& output) {
  const auto spread = [&](const Labelled& t) {
    const Tensor x = arranged(t, subset(output, t.labels));
    Shape shape;
    for (const char label : output) shape.append(t.has(label) ? t.size(label) : 1);
    return reshape(x, shape);
  };
  return spread(a) * spread(b);
}

Tensor einsum_of_one(Labelled a, const std::string& output) {
  sum_over(a, difference(a.labels, output));
  return arranged(a, output);
}

Tensor einsum_of_two(Labelled a, Labelled b, const std::string& output) {
  for (const char label : common(a.labels, a, b)) {
    if (a.size(label) == b.size(label)) continue;
    drop_axis(a.size(label) == 1 ? a : b, label);
  }
  sum_over(a, difference(difference(a.labels, b.labels), output));
  sum_over(b, difference(difference(b.labels, a.labels), output));
  if (difference(common(a.labels, a, b), output).empty()) return elementwise(a, b, output);
  return arranged(product(a, b, output), output);
}

/// The letters of two factors that the result or a factor to come has.
std::string kept_labels(const Labelled& a, const Labelled& b, const std::string& wanted) {
  return subset(a.labels + difference(b.labels, a.labels), wanted);
}

Tensor einsum_of_many(const std::vector<Labelled>& factors, const std::string& output) {
  Labelled product = factors[0];
  for (size_t i = 1; i + 1 < factors.size(); ++i) {
    std::string wanted = output;
    for (size_t later = i + 1; later < factors.size(); ++later) wanted += factors[later].labels;
    const std::string kept = kept_labels(product, factors[i], wanted);
    product = {einsum_of_two(product, factors[i], kept), kept};
  }
  return einsum_of_two(product, factors.back(), output);
}

EinsumDescriptor describe(std::string_view equation) {
  EinsumDescriptor descriptor;
  if (equation.size() > EinsumDescriptor::kMaxLength)
    throw InvalidArgumentError("einsum: expected an equation of at most " +
                               std::to_string(EinsumDescriptor::kMaxLength) + " characters, received " +
                               std::to_string(equation.size()));
  std::copy(equation.begin(), equation.end(), descriptor.equation.begin());
  return descriptor;
}

}  // namespace

const OpDef kEinsum = {.name = "einsum", .infer = infer_einsum, .reference = einsum_reference};

Tensor einsum(std::string_view equation, const Tensors& operands) {
  if (operands.empty()) throw InvalidArgumentError("einsum: expected at least one tensor, received none");
  const EinsumDescriptor descriptor = describe(equation);
  DType dtype = operands[0].dtype();
  for (const Tensor& operand : operands) dtype = promote(dtype, operand.dtype());
  Tensors x;
  std::vector<const Tensor*> pointers;
  bool abstract = false;
  for (const Tensor& operand : operands) {
    x.push_back(cast(operand, dtype));
    abstract = abstract || operand.is_abstract();
  }
  for (const Tensor& operand : x) pointers.push_back(&operand);
  if (abstract) {
    Tensor y;
    dispatch(kEinsum, descriptor, pointers, std::span(&y, 1));
    return y;
  }
  const EinsumTerms terms = read_einsum(equation, shapes_of(pointers));
  std::vector<Labelled> labelled;
  for (size_t i = 0; i < x.size(); ++i) {
    labelled.push_back({x[i], terms.inputs[i]});
    take_diagonals(labelled.back());
  }
  if (labelled.size() == 1) return with_bytes_apart(einsum_of_one(labelled[0], terms.output), operands);
  return einsum_of_many(labelled, terms.output);
}

}  // namespace nyala::ops
