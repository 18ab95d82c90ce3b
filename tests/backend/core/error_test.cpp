#include <gtest/gtest.h>

#include <nyala/backend/core/device.h>
#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

namespace {

TEST(DidYouMeanTest, FindsTheNearest) {
  const std::vector<std::string> names = {"adam", "adamax", "rmsprop", "sgd"};
  EXPECT_EQ(did_you_mean("adm", names), " (did you mean 'adam'?)");
  EXPECT_EQ(did_you_mean("Adam", names), " (did you mean 'adam'?)");
  EXPECT_EQ(did_you_mean("RMSProps", names), " (did you mean 'rmsprop'?)");
  EXPECT_EQ(did_you_mean("convolution", names), "");
  EXPECT_EQ(did_you_mean("", {}), "");
  EXPECT_EQ(did_you_mean("val_acc", {"val_loss", "val_accuracy"}), " (did you mean 'val_accuracy'?)");
  const std::vector<std::string> activations = {"elu", "celu", "gelu", "silu", "relu", "selu"};
  EXPECT_EQ(did_you_mean("rleu", activations),
            " (did you mean 'relu'?)");  // two letters swapped are one mistake
  EXPECT_EQ(did_you_mean("slieu", {"selu", "silu"}), " (did you mean 'silu'?)");
}

TEST(DidYouMeanTest, PrefersNamesThatHoldAllWords) {
  const std::vector<std::string> losses = {"binary_crossentropy", "categorical_crossentropy",
                                           "sparse_categorical_crossentropy", "mean_squared_error"};
  EXPECT_EQ(did_you_mean("sparse_crossentropy", losses),
            " (did you mean 'sparse_categorical_crossentropy'?)");
  EXPECT_EQ(did_you_mean("squared_error", losses), " (did you mean 'mean_squared_error'?)");
  EXPECT_EQ(did_you_mean("binary_crosentropy", losses), " (did you mean 'binary_crossentropy'?)");
  EXPECT_EQ(did_you_mean("error", {"errors", "mean_error"}), " (did you mean 'errors'?)");  // a slip
}

TEST(DidYouMeanTest, ListsNames) {
  EXPECT_EQ(quoted_list({"a", "b"}), "'a', 'b'");
  EXPECT_EQ(quoted_list({}), "");
}

TEST(ErrorTest, FamilyIsCaughtByItsBases) {
  EXPECT_THROW(throw ShapeError("x"), InvalidArgumentError);
  EXPECT_THROW(throw DeviceNotFoundError("x"), NotFoundError);
  EXPECT_THROW(throw FileFormatError("x"), IoError);
  EXPECT_THROW(throw PeerLostError("x"), CommunicationError);
  EXPECT_THROW(throw NumericError("x"), Error);
  EXPECT_NO_THROW(check_internal(true, "fine"));
  try {
    check_internal(false, "broken");
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("error_test.cpp"), std::string::npos);
  }
}

TEST(DeviceTest, NamesAreParsed) {
  EXPECT_EQ(Device("cpu"), Device(DeviceKind::cpu, 0));
  EXPECT_EQ(Device("CPU:1"), Device(DeviceKind::cpu, 1));
  EXPECT_EQ(Device("/gpu:1"), Device(DeviceKind::gpu, 1));
  EXPECT_EQ(Device("/device:GPU:3"), Device(DeviceKind::gpu, 3));
  EXPECT_EQ(Device("ghost:2").to_string(), "ghost:2");
  for (const char* wrong :
       {"", "tpu:0", "cpu:", "cpu:x", "cpu:-1", "cpu:1x", "cpu:99999999999", "cpu 1", ":0"})
    EXPECT_THROW(Device{wrong}, InvalidArgumentError) << wrong;
}

TEST(DeviceTest, AnIndexBeyondTheRangeIsNotCutOff) {
  EXPECT_THROW(Device("cpu:65536"), InvalidArgumentError);
}

}  // namespace

}  // namespace nyala
