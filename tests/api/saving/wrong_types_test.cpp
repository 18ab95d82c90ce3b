// Values of a type that their option does not take, in the configuration of a file: where, expected, found.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/api/layers/base/layer.h>
#include <nyala/api/saving/load_model.h>
#include <nyala/backend/core/error.h>

namespace nyala::testing {
namespace {

using ::testing::HasSubstr;

template <class Make>
std::string refused(Make make) {
  try {
    make();
  } catch (const FileFormatError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

std::string layer(const std::string& class_name, const std::string& config) {
  return refused([&] { Layer::from_config(class_name, config); });
}

TEST(WrongTypes, AreNamedWithWhatWasExpected) {
  const struct {
    const char *class_name, *config, *text;
  } known[] = {
      {"Dense", R"({"units": "ten"})", "'units': expected an integer, found string 'ten'"},
      {"Dense", R"({"units": 3, "use_bias": "no"})", "'use_bias': expected true or false, found string 'no'"},
      {"Dense", R"({"units": 3, "trainable": "yes"})",
       "'trainable': expected true or false, found string 'yes'"},
      {"Dense", R"({"units": 3, "name": 7})", "'name': expected text, found number 7"},
      {"Dense", R"({"units": 3, "activation": 5})",
       "'activation': expected a name or an object with 'class_name', found number 5"},
      {"Dense", R"({"units": 3, "kernel_regularizer": [1]})",
       "'kernel_regularizer': expected a name or an object with 'class_name', found array [1]"},
      {"Dense", R"({"units": 3, "kernel_initializer": {"class_name": "Constant", "config": 5}})",
       "'kernel_initializer' (Constant): expected an object of options, found number 5"},
      {"Conv2D", R"({"filters": 3, "kernel_size": "3"})",
       "'kernel_size': expected an integer, found string '3'"},
  };
  for (const auto& wrong : known)
    EXPECT_THAT(layer(wrong.class_name, wrong.config), HasSubstr(wrong.text)) << wrong.config;
}

TEST(WrongTypes, OfAnOptimizer) {
  EXPECT_THAT(
      refused([] { parse_optimizer(R"({"class_name": "Adam", "config": {"learning_rate": "fast"}})"); }),
      HasSubstr("'learning_rate': expected a number or a learning rate schedule, found string 'fast'"));
}

TEST(WrongTypes, LongTextIsShownByItsBeginning) {
  EXPECT_THAT(layer("Dense", R"({"units": ")" + std::string(200, 'x') + "\"}"),
              HasSubstr("found string '" + std::string(60, 'x') + "...'"));
}

}  // namespace
}  // namespace nyala::testing
