// An op of a program's own: no list knows it, and the checks of Nyala's own ops hold for it.
#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala {

namespace {

struct CubeDescriptor {
  double factor = 1.0;
};

void infer_cube(InferContext& c) {
  if (!is_floating(c.dtype(0))) c.fail("expected a floating dtype");
  c.output(0, c.shape(0), c.dtype(0));
}

void cube_reference(const KernelCall& call) {
  detail::dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    const T factor = static_cast<T>(call.descriptor<CubeDescriptor>().factor);
    const T* x = call.in<T>(0);
    const int64_t count = call.output(0).num_elements();
    for (int64_t i = 0; i < count; ++i) call.out<T>(0)[i] = factor * x[i] * x[i] * x[i];
  });
}

void cube_gradient(GradContext& c) {
  const double factor = c.descriptor<CubeDescriptor>().factor;
  c.set(0, c.grad() * c.input(0) * c.input(0) * (3.0 * factor));
}

const OpDef kCube = {.name = "cube",
                     .infer = infer_cube,
                     .gradient = cube_gradient,
                     .keep_inputs = detail::keep(0),
                     .reference = cube_reference,
                     .twice_differentiable = true};

Tensor cube(const Tensor& x, double factor) { return dispatch(kCube, CubeDescriptor{factor}, {&x}); }

TEST(OwnOps, AreCheckedLikeAllOthers) {
  const auto twice = [](const Tensors& t) { return cube(t[0], 2.0); };
  const Tensors x = {testing::random_tensor({3, 4}, 1)};
  testing::expect_close(twice({testing::tensor_of({1, -2}, {2})}), testing::tensor_of({2, -16}, {2}));
  testing::expect_gradients(twice, x);
  testing::expect_kernels_agree(twice, x);
  EXPECT_EQ(cube(Tensor::abstract({None, 3}, DType::float32), 2.0).shape(), (Shape{None, 3}));
  EXPECT_THROW(cube(Tensor::zeros({2}, DType::int32), 2.0), ShapeError);
}

}  // namespace

}  // namespace nyala
