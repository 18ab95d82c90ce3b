#include <string>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/float32_precision.h>

namespace nyala {
namespace {

TEST(Float32Precision, IsHighestAtFirstAndHasPyTorchsNames) {
  EXPECT_EQ(float32_precision(), Float32Precision::highest);
  set_float32_precision("high");
  EXPECT_EQ(float32_precision(), Float32Precision::high);
  set_float32_precision("medium");
  EXPECT_EQ(float32_precision(), Float32Precision::medium);
  set_float32_precision(Float32Precision::highest);
  EXPECT_EQ(float32_precision(), Float32Precision::highest);
}

TEST(Float32Precision, AnotherNameIsAnErrorAndChangesNothing) {
  for (const char* name : {"", "High", "low", "tf32"}) {
    try {
      set_float32_precision(name);
      FAIL() << name;
    } catch (const InvalidArgumentError& error) {
      EXPECT_NE(std::string(error.what()).find("\"medium\""), std::string::npos) << error.what();
    }
    EXPECT_EQ(float32_precision(), Float32Precision::highest);
  }
}

}  // namespace
}  // namespace nyala
