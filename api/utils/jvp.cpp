// With u the gradients of the results, going back gives g = J^T u; the derivative of g . tangents by u is
// J tangents, at any u.
#include <nyala/api/utils/jvp.h>

#include <string>

#include <nyala/api/utils/gradient_tape.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/reduction/reduction.h>

namespace nyala::ops {

namespace {

void check_tangents(const Tensors& primals, const Tensors& tangents) {
  if (primals.size() != tangents.size())
    throw InvalidArgumentError("jvp: expected one tangent for each of " + std::to_string(primals.size()) +
                               " primals, received " + std::to_string(tangents.size()));
  for (size_t i = 0; i < primals.size(); ++i)
    if (primals[i].shape() != tangents[i].shape())
      throw ShapeError("jvp: expected tangent " + std::to_string(i) + " of the primal's shape " +
                       primals[i].shape().to_string() + ", received " + tangents[i].shape().to_string());
}

/// The sum of the elementwise products of each defined tensor of `a` with its partner; undefined for none.
Tensor dot(const Tensors& a, const Tensors& b) {
  Tensor total;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!a[i].defined() || !b[i].defined()) continue;
    const Tensor part = sum(a[i] * cast(b[i], a[i].dtype()));
    total = total.defined() ? total + part : part;
  }
  return total;
}

}  // namespace

Jvp jvp(const std::function<Tensors(const Tensors&)>& fun, const Tensors& primals, const Tensors& tangents) {
  check_tangents(primals, tangents);
  GradientTape outer;
  Tensors watched, results, directions;
  Tensor moved;
  {
    GradientTape inner;
    for (const Tensor& primal : primals) watched.push_back(inner.watch(primal.detached()));
    results = fun(watched);
    for (const Tensor& result : results)
      directions.push_back(result.tape() ? outer.watch(zeros_like(result.detached())) : Tensor());
    const Tensor total = dot(results, directions);
    if (total.defined()) moved = dot(inner.gradient(total, watched), tangents);
  }
  Jvp out{{}, Tensors(results.size())};
  for (const Tensor& result : results) out.primals_out.push_back(result.detached());
  if (!moved.defined()) return out;
  Tensors sources;
  for (const Tensor& direction : directions)
    if (direction.defined()) sources.push_back(direction);
  const Tensors found = outer.gradient(moved, sources, {.unconnected_gradients = UnconnectedGradients::zero});
  size_t next = 0;
  for (size_t i = 0; i < results.size(); ++i)
    if (directions[i].defined()) out.tangents_out[i] = found[next++];
  return out;
}

}  // namespace nyala::ops
