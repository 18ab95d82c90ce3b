// Which ops hand on the bytes of their input: a write in place is seen through all that share them. Only
// those that name other axes do, and those that have nothing to do by their very argument; an op never does
// for some sizes only.
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/layers/base/mask.h>
#include <nyala/api/utils/gradient_tape.h>
#include <nyala/backend/ops/all.h>

namespace nyala {

namespace {

struct Row {
  const char* name;
  std::function<Tensor(const Tensor&)> f;
};

using T = const Tensor&;

/// Arguments that leave nothing to do.
const std::vector<Row>& own_bytes() {
  static const auto& rows = *new std::vector<Row>{
      {"tile by 1",
       [](T x) {
         return ops::tile(x, {1, 1});
       }},
      {"tile by nothing", [](T x) { return ops::tile(x, {}); }},
      {"tile by 1, one axis more",
       [](T x) {
         return ops::tile(x, {1, 1, 1});
       }},
      {"repeat by 1", [](T x) { return ops::repeat(x, 1, 0); }},
      {"broadcast_to", [](T x) { return ops::broadcast_to(x, x.shape()); }},
      {"einsum ij->ij", [](T x) { return ops::einsum("ij->ij", {x}); }},
      {"einsum ...->...", [](T x) { return ops::einsum("...->...", {x}); }},
      {"transpose",
       [](T x) {
         return ops::transpose(x, {0, 1});
       }},
      {"swapaxes", [](T x) { return ops::swapaxes(x, 0, 0); }},
      {"moveaxis", [](T x) { return ops::moveaxis(x, 0, 0); }},
      {"concatenate", [](T x) { return ops::concatenate({x}, 0); }},
      {"stack", [](T x) { return ops::stack({x}); }},
      {"pad",
       [](T x) {
         return ops::pad(x, {{0, 0}, {0, 0}});
       }},
      {"slice", [](T x) { return ops::strided_slice(x, {}); }},
      {"x(...)", [](T x) { return Tensor(x(slice(), slice())); }},
      {"flip",
       [](T x) {
         return ops::flip(ops::slice_axis(x, 0, {0, 1}), {0});
       }},
      {"take", [](T x) { return ops::take(x, Tensor::arange(2), 0); }},
      {"sum of an axis of size 1", [](T x) { return ops::sum(ops::expand_dims(x, 0), {0}); }},
      {"max of an axis of size 1", [](T x) { return ops::max(ops::expand_dims(x, 0), {0}); }},
      {"where", [](T x) { return ops::where(true, x, 0.0); }},
      {"maximum", [](T x) { return ops::maximum(x, -1e30); }},
      {"clip", [](T x) { return ops::clip(x, -1e30, 1e30); }},
      {"x + 0", [](T x) { return x + 0; }},
      {"x * 1", [](T x) { return x * 1; }},
      {"affine", [](T x) { return ops::affine(x, 1.0); }},
      {"relu", [](T x) { return ops::relu(x); }},
      {"absolute", [](T x) { return ops::absolute(x); }},
      {"softmax",
       [](T x) {
         return ops::softmax(x, {0, 1});
       }},
      {"resize_images",
       [](T x) {
         return ops::resize_images(x.reshape({1, 2, 3, 1}), 2, 3);
       }},
      {"clone", [](T x) { return x.clone(); }},
  };
  return rows;
}

const std::vector<Row>& shared_bytes() {
  static const auto& rows = *new std::vector<Row>{
      {"reshape",
       [](T x) {
         return ops::reshape(x, {3, 2});
       }},
      {"flatten", [](T x) { return ops::flatten(x, 0); }},
      {"ravel", [](T x) { return ops::ravel(x); }},
      {"expand_dims", [](T x) { return ops::expand_dims(x, 0); }},
      {"squeeze", [](T x) { return ops::squeeze(x); }},
      {"cast", [](T x) { return ops::cast(x, x.dtype()); }},
      {"astype", [](T x) { return x.astype(x.dtype()); }},
      {"to", [](T x) { return x.to(x.device()); }},
      {"linear", [](T x) { return ops::linear(x); }},
      {"detached", [](T x) { return x.detached(); }},
      {"rows", [](T x) { return x.rows(0, 1); }},
  };
  return rows;
}

bool share(const Tensor& x, const Tensor& y) { return x.storage().get() == y.storage().get(); }

TEST(OwnBytes, OfWhatAnOpGives) {
  for (const Row& row : own_bytes()) {
    SCOPED_TRACE(row.name);
    const Tensor x({{0, 1, 2}, {3, 4, 5}});
    const Tensor y = row.f(x);
    EXPECT_FALSE(share(x, y));
    if (y.rank() > 0) y[0] = 7.0;
    EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  }
  const Tensor whole = Tensor::arange(4);
  for (const auto f : {&ops::round, &ops::trunc}) EXPECT_FALSE(share(whole, f(whole)));
}

TEST(OwnBytes, ViewsShareThem) {
  for (const Row& row : shared_bytes()) {
    SCOPED_TRACE(row.name);
    const Tensor x({{0, 1, 2}, {3, 4, 5}});
    const Tensor y = row.f(x);
    EXPECT_TRUE(share(x, y));
    y[0] = 7.0;
    EXPECT_EQ(x.to_vector<float>()[0], 7);
  }
}

/// A copy is on the tape as what it is a copy of was.
TEST(OwnBytes, CopiesHaveGradients) {
  for (const char* name : {"tile by 1", "tile by nothing", "broadcast_to", "einsum ij->ij"})
    for (const Row& row : own_bytes())
      if (name == std::string(row.name)) {
        GradientTape tape;
        const Tensor x = tape.watch(Tensor({{1, 2}, {3, 4}}));
        EXPECT_EQ(tape.gradient(ops::sum(row.f(x) * 3.0), x).to_vector<float>(),
                  (std::vector<float>{3, 3, 3, 3}))
            << name;
      }
}

}  // namespace

}  // namespace nyala
