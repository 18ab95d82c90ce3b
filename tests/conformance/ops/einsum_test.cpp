#include <gmock/gmock.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/nn/einsum.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// The plain loop over all letters.
Tensor plain(const std::string& equation, const Tensors& x) {
  ops::EinsumDescriptor descriptor;
  std::copy(equation.begin(), equation.end(), descriptor.equation.begin());
  std::vector<const Tensor*> pointers;
  for (const Tensor& tensor : x) pointers.push_back(&tensor);
  Tensor y;
  dispatch(ops::kEinsum, descriptor, pointers, std::span(&y, 1));
  return y;
}

struct Case {
  std::string equation;
  std::vector<Shape> shapes;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"ij,jk->ik", {{2, 3}, {3, 4}}},
      {"ij,kj->ik", {{2, 3}, {4, 3}}},
      {"ij,jk->ki", {{2, 3}, {3, 4}}},
      {"ji,jk", {{3, 2}, {3, 4}}},
      {"bqm,mnh->bqnh", {{2, 3, 4}, {4, 5, 2}}},
      {"bqnh,nhm->bqm", {{2, 3, 2, 5}, {2, 5, 4}}},
      {"aecd,abcd->acbe", {{2, 3, 4, 5}, {2, 6, 4, 5}}},
      {"acbe,aecd->abcd", {{2, 4, 6, 3}, {2, 3, 4, 5}}},
      {"BTNH,BSNH->BNTS", {{2, 3, 2, 4}, {2, 5, 2, 4}}},
      {"abcd,bde->aeb", {{2, 3, 4, 5}, {3, 5, 2}}},
      {"ab,ab->ab", {{2, 3}, {2, 3}}},
      {"ab,b->ab", {{2, 3}, {3}}},
      {"a,b->ba", {{2}, {3}}},
      {"ab,ab->", {{2, 3}, {2, 3}}},
      {"abc,bd->ad", {{2, 3, 4}, {3, 5}}},
      {"...ij,...jk->...ik", {{2, 1, 3, 4}, {5, 4, 2}}},
      {"...x,xy->...y", {{2, 3, 4}, {4, 5}}},
      {"ab...,bc->ac...", {{2, 3, 4, 5}, {3, 2}}},
      {"...,...->...", {{2, 3}, {3}}},
      {"i...,i...->...", {{3, 2}, {3, 4, 2}}},
      {"ab,bc->ac", {{2, 1}, {3, 4}}},
      {"abc->ca", {{2, 3, 4}}},
      {"...ij->...ji", {{2, 3, 4}}},
      {"ba", {{2, 3}}},
      {"ii->i", {{4, 4}}},
      {"ii", {{3, 3}}},
      {"aba,bc->ac", {{3, 2, 3}, {2, 4}}},
      {"abab->ba", {{2, 3, 2, 3}}},
      {"ab->", {{2, 3}}},
      {"a b , b c -> a c", {{2, 3}, {3, 2}}},
      {"ab,bc,cd->ad", {{2, 3}, {3, 4}, {4, 5}}},
      {"ab,ab,ab", {{2, 3}, {2, 3}, {2, 3}}},
      {"a,b,c->cab", {{2}, {3}, {4}}},
      {"ab,cd,be->ec", {{2, 3}, {4, 5}, {3, 2}}},
      {"abc,ad,bd,cd->d", {{2, 3, 4}, {2, 5}, {3, 5}, {4, 5}}},
      {"...ij,jk,...k->...i", {{2, 3, 4}, {4, 5}, {6, 2, 5}}},
      {"ab,ab,cb->ac", {{2, 1}, {1, 3}, {4, 3}}},
      {"aa,ab,b,bc->c", {{3, 3}, {3, 2}, {2}, {2, 4}}},
  };
  return all;
}

Tensors inputs_of(const Case& c) {
  Tensors x;
  for (size_t i = 0; i < c.shapes.size(); ++i) x.push_back(random_tensor(c.shapes[i], i + 1));
  return x;
}

OpFunction function_of(const Case& c) {
  return [equation = c.equation](const Tensors& x) { return ops::einsum(equation, x); };
}

TEST(Einsum, EqualsTheSumOverAllLetters) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.equation);
    const Tensors x = inputs_of(c);
    expect_close(ops::einsum(c.equation, x), plain(c.equation, x), {1e-5, 1e-5});
  }
}

TEST(Einsum, Gradients) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.equation);
    expect_gradients(function_of(c), inputs_of(c));
  }
}

TEST(Einsum, KernelsAgree) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.equation);
    expect_kernels_agree(function_of(c), inputs_of(c),
                         {.relative = 1e-4, .absolute = 1e-4, .half_values = 4, .half_gradients = 8});
  }
}

TEST(Einsum, ShapesOfAbstractTensors) {
  const auto shape = [](const std::string& equation, const Shape& a, const Shape& b) {
    return ops::einsum(equation, {Tensor::abstract(a, DType::float32), Tensor::abstract(b, DType::float32)})
        .shape();
  };
  EXPECT_EQ(shape("bqm,mnh->bqnh", {None, None, 4}, {4, 2, 3}), (Shape{None, None, 2, 3}));
  EXPECT_EQ(shape("...ij,...jk->...ik", {None, 1, 3, 4}, {5, 4, 2}), (Shape{None, 5, 3, 2}));
  for (const Case& c : cases()) {
    Tensors abstract;
    for (const Shape& s : c.shapes) abstract.push_back(Tensor::abstract(s, DType::float32));
    EXPECT_EQ(ops::einsum(c.equation, abstract).shape(), ops::einsum(c.equation, inputs_of(c)).shape())
        << c.equation;
  }
}

TEST(Einsum, IntegersAndMixedDtypes) {
  const Tensor a = tensor_of({1, 2, 3, 4}, {2, 2}, DType::int32), b = tensor_of({5, 6}, {2}, DType::int32);
  expect_close(ops::einsum("ij,j->i", {a, b}), tensor_of({17, 39}, {2}, DType::int32));
  expect_close(ops::einsum("ij,j->i", {a, tensor_of({0.5, 1}, {2})}), tensor_of({2.5, 5.5}, {2}));
}

TEST(Einsum, EmptyAxes) {
  expect_close(ops::einsum("ij,jk->ik", {random_tensor({2, 0}, 1), random_tensor({0, 2}, 2)}),
               tensor_of({0, 0, 0, 0}, {2, 2}));
  EXPECT_EQ(ops::einsum("bij,bjk->bik", {random_tensor({0, 2, 3}, 1), random_tensor({0, 3, 4}, 2)}).shape(),
            (Shape{0, 2, 4}));
}

TEST(Einsum, ProjectionsCopyNothing) {
  for (const char* equation : {"bqm,mnh->bqnh", "ij,jk->ik", "ij,kj->ik", "bij,bjk->bik", "bij,bkj->bik"}) {
    const Case* found = nullptr;
    static const std::vector<Case> more = {{"bij,bjk->bik", {{2, 3, 4}, {2, 4, 5}}},
                                           {"bij,bkj->bik", {{2, 3, 4}, {2, 5, 4}}}};
    for (const auto* list : {&cases(), &more})
      for (const Case& c : *list)
        if (c.equation == equation) found = &c;
    for (const std::string& kernel : kernels_that_run(function_of(*found), inputs_of(*found)))
      EXPECT_THAT(kernel, Not(HasSubstr("transpose"))) << equation;
  }
}

TEST(Einsum, RefusesWhatDoesNotFit) {
  const Tensor m = random_tensor({2, 3}, 1);
  const auto message = [&](const std::string& equation, const Tensors& x, const std::string& part) {
    EXPECT_THAT([&] { ops::einsum(equation, x); }, ThrowsMessage<InvalidArgumentError>(HasSubstr(part)))
        << equation;
  };
  message("ij,jk->ik", {m, m}, "'j'");
  message("ij,jk->ik", {m}, "2 tensor(s)");
  message("ijk->i", {m}, "3 axes");
  message("ij->iz", {m}, "'z'");
  message("ij->ii", {m}, "twice");
  message("i1->i", {m}, "letters");
  message("ij....->i", {m}, "letters");
  message("ij,jk,kl->il", {m, m}, "3 tensor(s)");
  message("", {}, "at least one");
  message(std::string(200, 'i'), {m}, "150");
  EXPECT_THROW(ops::einsum("ij,jk->ik", {m, m}), ShapeError);
}

}  // namespace
}  // namespace nyala::testing
