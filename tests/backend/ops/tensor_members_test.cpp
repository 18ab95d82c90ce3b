// What makes tensors feel like NumPy's arrays; expected numbers by hand, as NumPy gives them.
#include <functional>
#include <sstream>
#include <utility>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/tape.h>
#include <nyala/backend/ops/all.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/device_registry.h>

namespace nyala {

namespace {

using Floats = std::vector<float>;

/// 0 .. 23 of shape (2, 3, 4).
Tensor cube() { return Tensor::arange(0, 24, 1, DType::float32).reshape({2, 3, 4}); }

TEST(TensorListsTest, ListsHaveTheShapeTheyAreWrittenIn) {
  EXPECT_EQ(Tensor({1, 2, 3}).shape(), (Shape{3}));
  EXPECT_EQ(Tensor({{1, 2}, {3, 4}}).shape(), (Shape{2, 2}));
  EXPECT_EQ(Tensor({{1, 2}, {3, 4}}).to_vector<float>(), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(Tensor({{1}, {2}}).shape(), (Shape{2, 1}));
  EXPECT_EQ(Tensor({{1, 2}}).shape(), (Shape{1, 2}));
  EXPECT_EQ(Tensor({{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}}).shape(), (Shape{2, 2, 2}));
  const Tensor x = {{0.5, 1}, {2, 3}};
  EXPECT_EQ(x.at<float>({0, 0}), 0.5f);
  EXPECT_THROW(Tensor({{1, 2}, {3}}), ShapeError);
  EXPECT_THROW(Tensor({{1, 2}, 3}), ShapeError);
}

TEST(TensorListsTest, Factories) {
  EXPECT_EQ(Tensor::ones({2}).to_vector<float>(), (Floats{1, 1}));
  EXPECT_EQ(Tensor::arange(3).to_vector<int32_t>(), (std::vector<int32_t>{0, 1, 2}));
  EXPECT_EQ(Tensor::arange(0, 1, 0.25).to_vector<float>(), (Floats{0, 0.25f, 0.5f, 0.75f}));
  EXPECT_EQ(ops::arange(0, 1, {.step = 0.5}).dtype(), DType::float32);
}

TEST(TensorIndexTest, ReadsAsNumPy) {
  const Tensor x = cube();
  EXPECT_EQ(x[1].shape(), (Shape{3, 4}));
  EXPECT_EQ(x[-1][0].to_vector<float>(), (Floats{12, 13, 14, 15}));
  EXPECT_EQ(x(0, slice(1, 3), -1).to_vector<float>(), (Floats{7, 11}));
  EXPECT_EQ(x(ellipsis, 0).shape(), (Shape{2, 3}));
  EXPECT_EQ(x(slice(), slice(), slice(None, None, -1))(0, 0).to_vector<float>(), (Floats{3, 2, 1, 0}));
  EXPECT_EQ(x(1, slice(1, None), slice(2)).to_vector<float>(), (Floats{16, 17, 20, 21}));
  EXPECT_EQ(x(slice(0, -1)).shape(), (Shape{1, 3, 4}));
  EXPECT_EQ(x(newaxis, ellipsis, None).shape(), (Shape{1, 2, 3, 4, 1}));
  EXPECT_EQ(x[slice(1, 2)].shape(), (Shape{1, 3, 4}));
  EXPECT_EQ(x.at<float>({1, -1, 3}), 23.0f);
}

TEST(TensorIndexTest, WrongIndicesAreErrors) {
  const Tensor x = cube();
  EXPECT_THROW(x[2], ShapeError);
  EXPECT_THROW(x[-3], ShapeError);
  EXPECT_THROW(x(0, 0, 0, 0), ShapeError);
  EXPECT_THROW(x(ellipsis, ellipsis), ShapeError);
  EXPECT_THROW(x(slice(0, 2, 0)), InvalidArgumentError);
  EXPECT_THROW(x.at<float>({0, 0}), ShapeError);
  EXPECT_THROW(x.at<float>({0, 0, 4}), ShapeError);
  EXPECT_THROW(x.at<int32_t>({0, 0, 0}), DTypeError);
  EXPECT_THROW(Tensor(1.0f)[0], ShapeError);
}

TEST(TensorIndexTest, IndicesAreDifferentiable) {
  Tape tape;
  const Tensor x = tape.watch(Tensor({{1, 2}, {3, 4}}), 0);
  const Tensor y = (x[1] * x(ellipsis, 0)).sum();
  ASSERT_EQ(y.tape(), &tape);
  EXPECT_EQ(y.item(), 3 * 1 + 4 * 3);
}

TEST(TensorAssignmentTest, WritesIntoTheBytesThatHandlesShare) {
  const Tensor x = Tensor::zeros({2, 3}), other = x;
  x[0] = 1.0;
  EXPECT_EQ(other.to_vector<float>(), (Floats{1, 1, 1, 0, 0, 0}));
  x(slice(), 1) = Tensor({5, 6});
  EXPECT_EQ(x.to_vector<float>(), (Floats{1, 5, 1, 0, 6, 0}));
  x[1][2] = 7.0;
  EXPECT_EQ(x.at<float>({1, 2}), 7.0f);
  x(1, slice(0, 2)) += 10.0;
  EXPECT_EQ(x.to_vector<float>(), (Floats{1, 5, 1, 10, 16, 7}));
  x[0] = x[1];
  EXPECT_EQ(x.to_vector<float>(), (Floats{10, 16, 7, 10, 16, 7}));
  x(0, slice(None, None, -1)) = x[0];
  EXPECT_EQ(x[0].to_vector<float>(), (Floats{7, 16, 10}));
  x(slice(), slice(0, 1)) = Tensor({{-1}, {-2}});
  EXPECT_EQ(x(slice(), 0).to_vector<float>(), (Floats{-1, -2}));
}

TEST(TensorAssignmentTest, TakesTheTensorsDTypeAndRaisesTheVersion) {
  const Tensor x = Tensor::zeros({3}, DType::int32);
  const uint64_t before = x.storage()->version();
  x[1] = 2.7;
  EXPECT_EQ(x.to_vector<int32_t>(), (std::vector<int32_t>{0, 2, 0}));
  EXPECT_NE(x.storage()->version(), before);
}

TEST(TensorAssignmentTest, IsExactAndRefusesWhatTheDTypeIsNoKindOf) {
  const Tensor l = Tensor::zeros({2}, DType::int64), b = Tensor::zeros({2}, DType::bool_),
               u = Tensor::zeros({2}, DType::uint8);
  l[0] = 9'007'199'254'740'993;
  l[1] += 16'777'217;
  l[0] += 2;
  EXPECT_EQ(l.to_vector<int64_t>(), (std::vector<int64_t>{9'007'199'254'740'995, 16'777'217}));
  EXPECT_THROW(l[0] += 0.5, DTypeError);
  EXPECT_THROW(l[0] -= Tensor({1.5}), DTypeError);
  EXPECT_THROW(l[0] *= 2.0, DTypeError);
  EXPECT_THROW(l[0] /= 2, DTypeError);
  EXPECT_THROW(b[0] += 1, DTypeError);
  EXPECT_THROW(u[0] = 300, DTypeError);
  u[0] += 200;
  b[1] = 1;
  EXPECT_EQ(u.to_vector<uint8_t>(), (std::vector<uint8_t>{200, 0}));
  EXPECT_EQ(b.to_vector<bool>(), (std::vector<bool>{false, true}));
  EXPECT_EQ(l.to_vector<int64_t>(), (std::vector<int64_t>{9'007'199'254'740'995, 16'777'217}));
}

TEST(TensorMaskTest, GivesTheEntriesThatAreTrue) {
  const Tensor x = cube();
  EXPECT_EQ(x[x > 20].to_vector<float>(), (Floats{21, 22, 23}));
  EXPECT_EQ(x[x > 99].shape(), (Shape{0}));
  const Tensor rows = Tensor::from(std::vector<int32_t>{0, 1, 0, 1, 0, 0}, {2, 3}) > 0;
  EXPECT_EQ(x[rows].shape(), (Shape{2, 4}));
  EXPECT_EQ(x[rows].to_vector<float>(), (Floats{4, 5, 6, 7, 12, 13, 14, 15}));
  EXPECT_EQ(x[1][Tensor({1, 0, 0}) > 0].to_vector<float>(), (Floats{12, 13, 14, 15}));
  EXPECT_EQ(x[Tensor::from(std::vector<int32_t>{-1})](0, 0, 0).item(), 12);
  EXPECT_THROW(x[Tensor({1, 0}) > 0][Tensor({1, 0, 1}) > 0], ShapeError);
  EXPECT_THROW(x[Tensor({1, 0, 1}) > 0], ShapeError);
  EXPECT_THROW(x[Tensor({1, 0})], DTypeError);
  EXPECT_THROW(x[Tensor::abstract({2}, DType::bool_)], StateError);
  static_assert(!std::is_assignable_v<decltype(x[rows]), const Tensor&>);
  Tape tape;
  const Tensor w = tape.watch(Tensor({{1, 2}, {3, 4}}), 0);
  EXPECT_EQ(w[w > 1].tape(), &tape);
}

TEST(TensorMaskTest, WorksOnEveryDevice) {
  enable_ghost_device();
  const Tensor x = Tensor({1, 2, 3}).to("ghost:0");
  EXPECT_EQ(x[x > 1].to_vector<float>(), (Floats{2, 3}));
  EXPECT_EQ(x[x > 1].device(), Device("ghost:0"));
}

TEST(TensorAssignmentTest, ANamedSliceIsNoPlaceToWriteTo) {
  static_assert(!std::is_assignable_v<Slice&, const Tensor&>);
  static_assert(!std::is_assignable_v<Slice&, const Slice&>);
  static_assert(std::is_assignable_v<Slice, const Tensor&>);
  const Tensor x = Tensor::zeros({2, 2});
  Tensor row = x[0];
  row = Tensor::ones({2});
  row += 1.0;
  EXPECT_EQ(x.to_vector<float>(), (Floats{0, 0, 0, 0}));
}

TEST(TensorAssignmentTest, RefusesWhatTapesAndGraphsWouldMiss) {
  const Tensor x = Tensor::zeros({2, 2});
  EXPECT_THROW(x[0] = Tensor({1, 2, 3}), ShapeError);
  EXPECT_THROW(x[0] = Tensor(), StateError);
  Tape tape;
  const Tensor w = tape.watch(Tensor::zeros({2, 2}), 0);
  EXPECT_THROW(w[0] = 1.0, StateError);
  EXPECT_THROW(x[0] = w[0], StateError);
  EXPECT_THROW(Tensor::abstract({2, 2}, DType::float32)[0] = 1.0, StateError);
  EXPECT_EQ(x.to_vector<float>(), (Floats{0, 0, 0, 0}));
}

TEST(TensorAssignmentTest, WorksWhereTheHostCannotReach) {
  enable_ghost_device();
  const Tensor x = Tensor::zeros({2, 2}, DType::float32, "ghost:0");
  x[1] = 3.0;
  x(0, -1) = Tensor(4.0f);
  EXPECT_EQ(x.to_vector<float>(), (Floats{0, 4, 3, 3}));
  EXPECT_EQ(x.at<float>({0, 1}), 4.0f);
  EXPECT_EQ(x[1].device(), Device("ghost:0"));
}

TEST(TensorRowsTest, IterationGoesOverAxis0) {
  Floats sums;
  for (const Tensor row : cube()) sums.push_back(static_cast<float>(row.sum().item()));
  EXPECT_EQ(sums, (Floats{66, 210}));
  EXPECT_THROW(Tensor(1.0f).begin(), ShapeError);
}

TEST(TensorMembersTest, AreTheOps) {
  const Tensor x({{1, 2}, {3, 6}});
  EXPECT_EQ(x.sum().item(), 12);
  EXPECT_EQ(x.mean(0).to_vector<float>(), (Floats{2, 4}));
  EXPECT_EQ(x.max(-1, true).shape(), (Shape{2, 1}));
  EXPECT_EQ(x.min({0, 1}).item(), 1);
  EXPECT_EQ(x.prod().item(), 36);
  EXPECT_EQ(x.var().item(), 3.5);
  EXPECT_EQ(x.std(0).to_vector<float>(), (Floats{1, 2}));
  EXPECT_TRUE(x.any());
  EXPECT_EQ(x.argmax(1).to_vector<int32_t>(), (std::vector<int32_t>{1, 1}));
  EXPECT_EQ(x.argmin().item(), 0);
  EXPECT_EQ(x.reshape({-1}).shape(), (Shape{4}));
  EXPECT_EQ(x.ravel().shape(), (Shape{4}));
  EXPECT_EQ(x.T().to_vector<float>(), (Floats{1, 3, 2, 6}));
  EXPECT_EQ(cube().transpose({2, 0, 1}).shape(), (Shape{4, 2, 3}));
  EXPECT_EQ(cube().swapaxes(0, 1).shape(), (Shape{3, 2, 4}));
  EXPECT_EQ(Tensor::ones({1, 2, 1}).squeeze(-1).shape(), (Shape{1, 2}));
  EXPECT_EQ(x.astype(DType::int32).dtype(), DType::int32);
  EXPECT_EQ(x.clip(2, 3).to_vector<float>(), (Floats{2, 2, 3, 3}));
}

TEST(TensorMembersTest, OneAxisOrSeveral) {
  const Tensor x = cube();
  EXPECT_EQ(ops::mean(x, -1).shape(), (Shape{2, 3}));
  EXPECT_EQ(ops::mean(x, {0, 1}).shape(), (Shape{4}));
  EXPECT_EQ(ops::expand_dims(x, {0, -1}).shape(), (Shape{1, 2, 3, 4, 1}));
  EXPECT_EQ(ops::flip(Tensor({1, 2}), 0).to_vector<float>(), (Floats{2, 1}));
  EXPECT_EQ(ops::moveaxis(x, {0, 1}, {-1, 0}).shape(), (Shape{3, 4, 2}));
  EXPECT_EQ(ops::moveaxis(x, 0, -1).shape(), (Shape{3, 4, 2}));
  EXPECT_NEAR(ops::softmax(x * 0.0, {1, 2}).at<float>({0, 0, 0}), 1.0f / 12, 1e-6f);
  EXPECT_THROW(ops::mean(x, {0, 0}), ShapeError);
}

TEST(TensorMembersTest, CompoundAssignmentMakesAnotherTensor) {
  Tensor x({1, 2});
  const Tensor before = x;
  x += Tensor({1, 1});
  x *= 2.0;
  x -= 1.0;
  x /= 2.0;
  EXPECT_EQ(x.to_vector<float>(), (Floats{1.5f, 2.5f}));
  EXPECT_EQ(before.to_vector<float>(), (Floats{1, 2}));
  Tensor count = Tensor::arange(2);
  count += 1;
  EXPECT_EQ(count.dtype(), DType::int32);
}

TEST(TensorMembersTest, ComparisonsAreElementwise) {
  using Truth = std::vector<bool>;
  const Tensor x({1, 2, 3});
  EXPECT_EQ((x > 1.5).to_vector<bool>(), (Truth{false, true, true}));
  EXPECT_EQ((2 >= x).to_vector<bool>(), (Truth{true, true, false}));
  EXPECT_EQ((x == 2).to_vector<bool>(), (Truth{false, true, false}));
  EXPECT_EQ((x != Tensor({1, 5, 3})).to_vector<bool>(), (Truth{false, true, false}));
  EXPECT_EQ((x < Tensor(2.0f)).to_vector<bool>(), (Truth{true, false, false}));
  EXPECT_EQ((Tensor::full({1}, 200, DType::uint8) < 300).to_vector<bool>(), (Truth{true}));
  const Tensor large = Tensor::from(std::vector<int32_t>{16777217});
  EXPECT_EQ((large == 16777216).to_vector<bool>(), (Truth{false}));
}

TEST(TensorMembersTest, TruthIsTheOneElements) {
  EXPECT_TRUE(Tensor(1.0f) < Tensor(2.0f));
  EXPECT_FALSE(static_cast<bool>(Tensor(0.0f)));
  EXPECT_THROW(static_cast<bool>(Tensor({1, 2})), ShapeError);
}

TEST(TensorMembersTest, PrintsAsItsText) {
  std::ostringstream out;
  out << Tensor({{1, 2}, {3, 4}}) << ' ' << Tensor() << ' ' << Shape({None, 3}) << Tensor({1}).shape();
  EXPECT_EQ(out.str(), "[[1. 2.]\n [3. 4.]] undefined (None, 3)(1,)");
}

/// Every member of a tensor without a value: those that need one say that it is empty.
TEST(EmptyTensorTest, EveryMemberThatNeedsAValueSaysThatItIsEmpty) {
  const std::vector<std::pair<const char*, std::function<void(Tensor&)>>> members = {
      {"data", [](Tensor& x) { (void)x.data<float>(); }},
      {"to_vector", [](Tensor& x) { (void)x.to_vector<int32_t>(); }},
      {"item", [](Tensor& x) { (void)x.item(); }},
      {"copy_to_host", [](Tensor& x) { x.copy_to_host(nullptr); }},
      {"copy_from", [](Tensor& x) { x.copy_from(Tensor(1.0f)); }},
      {"copy_from an empty one", [](Tensor& x) { Tensor(1.0f).copy_from(x); }},
      {"copy_from_host", [](Tensor& x) { x.copy_from_host(nullptr); }},
      {"to", [](Tensor& x) { (void)x.to("cpu:0"); }},
      {"clone", [](Tensor& x) { (void)x.clone(); }},
      {"with_shape", [](Tensor& x) { (void)x.with_shape({}); }},
      {"rows", [](Tensor& x) { (void)x.rows(0, 1); }},
      {"bool", [](Tensor& x) { (void)static_cast<bool>(x); }},
      {"[]", [](Tensor& x) { (void)x[0]; }},
      {"()", [](Tensor& x) { (void)x(ellipsis); }},
      {"[] =", [](Tensor& x) { x[0] = 1.0; }},
      {"at", [](Tensor& x) { (void)x.at<float>({}); }},
      {"sum", [](Tensor& x) { (void)x.sum(-1); }},
      {"mean", [](Tensor& x) { (void)x.mean(-1); }},
      {"max", [](Tensor& x) { (void)x.max(-1); }},
      {"min", [](Tensor& x) { (void)x.min(-1); }},
      {"prod", [](Tensor& x) { (void)x.prod(-1); }},
      {"var", [](Tensor& x) { (void)x.var(-1); }},
      {"std", [](Tensor& x) { (void)x.std(-1); }},
      {"any", [](Tensor& x) { (void)x.any(-1); }},
      {"all", [](Tensor& x) { (void)x.all(-1); }},
      {"argmax", [](Tensor& x) { (void)x.argmax(-1); }},
      {"argmin", [](Tensor& x) { (void)x.argmin(-1); }},
      {"reshape", [](Tensor& x) { (void)x.reshape({1}); }},
      {"ravel", [](Tensor& x) { (void)x.ravel(); }},
      {"squeeze", [](Tensor& x) { (void)x.squeeze(-1); }},
      {"transpose",
       [](Tensor& x) {
         (void)x.transpose({1, 0});
       }},
      {"T", [](Tensor& x) { (void)x.T(); }},
      {"swapaxes", [](Tensor& x) { (void)x.swapaxes(0, 1); }},
      {"astype", [](Tensor& x) { (void)x.astype(DType::int32); }},
      {"clip", [](Tensor& x) { (void)x.clip(0, 1); }},
      {"+= tensor", [](Tensor& x) { x += Tensor(1.0f); }},
      {"-= tensor", [](Tensor& x) { x -= Tensor(1.0f); }},
      {"*= tensor", [](Tensor& x) { x *= Tensor(1.0f); }},
      {"/= tensor", [](Tensor& x) { x /= Tensor(1.0f); }},
      {"+=", [](Tensor& x) { x += 1.0; }},
      {"-=", [](Tensor& x) { x -= 1.0; }},
      {"*=", [](Tensor& x) { x *= 1.0; }},
      {"/=", [](Tensor& x) { x /= 1.0; }},
      {"+", [](Tensor& x) { (void)(x + 1.0); }},
      {"-", [](Tensor& x) { (void)-x; }},
      {"/", [](Tensor& x) { (void)(1.0 / x); }},
      {">", [](Tensor& x) { (void)(x > 0.5); }},
      {"==", [](Tensor& x) { (void)(x == x); }},
      {"begin", [](Tensor& x) { (void)x.begin(); }},
      {"end", [](Tensor& x) { (void)x.end(); }},
  };
  for (const auto& [name, member] : members) {
    Tensor empty;
    try {
      member(empty);
      ADD_FAILURE() << name << " did not throw";
    } catch (const StateError& error) {
      EXPECT_NE(std::string(error.what()).find("empty"), std::string::npos) << name << ": " << error.what();
    } catch (const Error& error) {
      ADD_FAILURE() << name << ": " << error.what();
    }
  }
}

/// What asks nothing of a value answers.
TEST(EmptyTensorTest, TheOtherMembersAnswer) {
  Tensor x;
  EXPECT_FALSE(x.defined());
  EXPECT_FALSE(x.is_abstract());
  EXPECT_EQ(x.shape(), Shape());
  EXPECT_EQ(x.rank(), 0);
  EXPECT_EQ(x.dtype(), DType::float32);
  EXPECT_EQ(x.device(), Device());
  EXPECT_EQ(x.raw(), nullptr);
  EXPECT_EQ(x.raw_as<float>(), nullptr);
  EXPECT_EQ(x.storage().get(), nullptr);
  EXPECT_EQ(x.storage_offset(), 0u);
  EXPECT_EQ(x.to_string(), "undefined");
  EXPECT_EQ(x.tape(), nullptr);
  EXPECT_FALSE(x.detached().defined());
  EXPECT_FALSE(x.alias_on("cpu:0").defined());
  EXPECT_EQ(x.metadata(), nullptr);
  x.set_metadata(nullptr);
}

}  // namespace

}  // namespace nyala
