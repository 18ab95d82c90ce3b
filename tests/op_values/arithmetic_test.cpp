#include <gtest/gtest.h>

#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/shape/slice.h>
#include <nyala/tests/op_values/op_values.h>

namespace nyala::golden {
namespace {

const OpCase kCases[] = {
    {"add of a row", [](const Tensors& x) { return x[0] + x[1]; }},
    {"multiply by integers", [](const Tensors& x) { return x[0] * x[1]; }},
    {"divide integers", [](const Tensors& x) { return x[0] / x[1]; }},
    {"maximum", [](const Tensors& x) { return ops::maximum(x[0], x[1]); }},
    {"split", [](const Tensors& x) { return ops::split(x[0], 2, 1); }},
};

TEST(OpValues, Arithmetic) { expect_op_values("op_values_arithmetic.json", kCases); }

}  // namespace
}  // namespace nyala::golden
