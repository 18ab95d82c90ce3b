#include <nyala/tests/tools/tool_test.h>

namespace nyala {
namespace {

class NewTest : public ToolTest {};

TEST_F(NewTest, MakesAModel) {
  run_well({"new", "MobileNetV2", "--output", file("m.keras"), "--input-shape", "96,96,3", "--classes", "10",
            "--alpha", "0.35", "--seed", "0"});
  const Model model = load_model(file("m.keras"));
  EXPECT_EQ(model.name(), "mobilenetv2_0.35_96");
  EXPECT_EQ(model.count_params(), 423018);  // Keras'
  run_well({"new", "mobilenetv2", "--output", file("same.keras"), "--input-shape", "96,96,3", "--classes",
            "10", "--alpha", "0.35", "--seed", "0"});
  EXPECT_EQ(load_model(file("same.keras")).weights()[0].value().to_vector<float>(),
            model.weights()[0].value().to_vector<float>());
}

TEST_F(NewTest, WithoutATopFromAFile) {
  run_well(
      {"new", "MobileNet", "--output", file("a.keras"), "--no-top", "--pooling", "avg", "--alpha", "0.25"});
  run_well({"new", "MobileNet", "--output", file("b.h5"), "--no-top", "--pooling", "avg", "--alpha", "0.25",
            "--weights", file("a.keras")});
  const Model a = load_model(file("a.keras")), b = load_model(file("b.h5"));
  EXPECT_EQ(a.layers().back().class_name(), "GlobalAveragePooling2D");
  EXPECT_EQ(a.weights()[0].value().to_vector<float>(), b.weights()[0].value().to_vector<float>());
}

TEST_F(NewTest, SaysWhatItCannotDo) {
  const ToolRun unknown = run({"new", "MobilNetV2", "--output", file("m.keras")});
  EXPECT_NE(unknown.status, 0);
  EXPECT_NE(unknown.err.find("did you mean 'MobileNetV2'"), std::string::npos) << unknown.err;
  const ToolRun option = run({"new", "ResNet50", "--alpha", "0.5", "--output", file("m.keras")});
  EXPECT_NE(option.err.find("'alpha'"), std::string::npos) << option.err;
  const ToolRun ending = run({"new", "ResNet50", "--output", file("m.txt")});
  EXPECT_NE(ending.err.find("'.keras'"), std::string::npos) << ending.err;
}

}  // namespace
}  // namespace nyala
