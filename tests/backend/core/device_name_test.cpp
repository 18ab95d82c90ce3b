#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/core/device.h>
#include <nyala/backend/core/error.h>

namespace nyala {

namespace {

using ::testing::HasSubstr;

std::string refusal(std::string_view name) {
  try {
    (void)Device(name);
  } catch (const InvalidArgumentError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(DeviceNameTest, AllSpellingsOfOneDevice) {
  for (const char* name : {"cpu:0", "cpu", "CPU:0", "/cpu:0", "/device:CPU:0", "device:cpu:0", "Cpu",
                           "/job:localhost/replica:0/task:0/device:CPU:0"})
    EXPECT_EQ(Device(name), Device(DeviceKind::cpu, 0)) << name;
  for (const char* name : {"gpu:1", "/gpu:1", "GPU:1", "/device:GPU:1", "cuda:1"})
    EXPECT_EQ(Device(name), Device(DeviceKind::gpu, 1)) << name;
  EXPECT_EQ(Device("gpu"), Device(DeviceKind::gpu, 0));
  EXPECT_EQ(Device("gpu:255").to_string(), "gpu:255");
}

TEST(DeviceNameTest, ErrorsSayWhatIsWrong) {
  EXPECT_THAT(refusal("tpu:0"), HasSubstr("no kind of device 'tpu'"));
  EXPECT_THAT(refusal(""), HasSubstr("kind of device is missing"));
  EXPECT_THAT(refusal(":1"), HasSubstr("kind of device is missing"));
  EXPECT_THAT(refusal("gpu:"), HasSubstr("expected an index from 0"));
  EXPECT_THAT(refusal("gpu:one"), HasSubstr("received 'one'"));
  EXPECT_THAT(refusal("gpu:-1"), HasSubstr("received '-1'"));
  EXPECT_THAT(refusal("gpu:1x"), HasSubstr("received '1x'"));
  EXPECT_THAT(refusal("gpu:99999"), HasSubstr("too large"));
  EXPECT_THAT(refusal(" gpu:0"), HasSubstr("no kind of device"));
  EXPECT_THAT(refusal("/job:worker/replica:0/task:1/device:GPU:0"), HasSubstr("is this process"));
  EXPECT_THAT(refusal("/job:localhost"), HasSubstr("names a task but no device"));
  EXPECT_THAT(refusal("gpu:x"), HasSubstr("write it as"));
}

}  // namespace

}  // namespace nyala
