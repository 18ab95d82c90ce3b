#include <nyala/tests/tools/tool_test.h>

namespace nyala {
namespace {

class ToolConvert : public ToolTest {
 protected:
  void SetUp() override {
    ToolTest::SetUp();
    model_ = classifier();
    x_ = numbers({20, 4}, 1);
    model_.fit(x_, labels(20), {.batch_size = 6, .epochs = 2, .verbose = 0});
    model_.save(file("m.keras"));
    model_.save(file("m.h5"));
    for (const char* name : {"w.weights.h5", "w.safetensors", "w.npz"}) model_.save_weights(file(name));
    std::ofstream(file("m.json")) << model_.to_json();
  }
  void expect_same_model(const std::string& path, bool trained_on) const {
    const Model got = load_model(path);
    expect_same_weights(got, model_);
    EXPECT_EQ(got.compiled(), trained_on) << path;
    if (trained_on) {
      EXPECT_EQ(got.optimizer().iterations(), model_.optimizer().iterations()) << path;
    }
  }

  Model model_;
  Tensor x_;
};

TEST_F(ToolConvert, WholeModelsToEveryFormat) {
  for (const char* in : {"m.keras", "m.h5"}) {
    for (const char* out : {"out.keras", "out.h5", "out.hdf5"}) {
      run_well({"convert", file(in), file(out)});
      expect_same_model(file(out), true);
    }
    for (const char* out : {"out.weights.h5", "out.safetensors", "out.npz"}) {
      run_well({"convert", file(in), file(out)});
      const Model fresh = load_model(file("m.keras"));
      for (const Variable& weight : fresh.weights()) weight.assign(0.5);
      EXPECT_TRUE(fresh.load_weights(file(out)).complete()) << out;
      expect_same_weights(fresh, model_);
    }
  }
}

TEST_F(ToolConvert, WeightsWithTheModelTheyAreOf) {
  for (const char* in : {"w.weights.h5", "w.safetensors", "w.npz"}) {
    for (const char* architecture : {"m.keras", "m.h5", "m.json"}) {
      SCOPED_TRACE(std::string(in) + " " + architecture);
      run_well({"convert", file(in), file("out.keras"), "--model", file(architecture)});
      expect_same_model(file("out.keras"), false);
      run_well({"convert", file(in), file("out.npz"), "--model", file(architecture)});
      EXPECT_EQ(load_npz(file("out.npz")).size(), model_.weights().size());
    }
  }
}

TEST_F(ToolConvert, WeightsAloneAskForAModel) {
  const ToolRun without = run({"convert", file("w.safetensors"), file("out.keras")});
  EXPECT_EQ(without.status, 1);
  EXPECT_NE(without.err.find("--model"), std::string::npos) << without.err;
  const ToolRun named = run({"convert", file("w.npz"), file("out.keras"), "--model", "ResNet5O"});
  EXPECT_EQ(named.status, 1);
  EXPECT_NE(named.err.find("did you mean 'ResNet50'"), std::string::npos) << named.err;
}

TEST_F(ToolConvert, WeightsOfAnArchitecture) {
  const Model base = applications::MobileNet(
      {.input_shape = {64, 64, 3}, .alpha = 0.25, .include_top = false, .weights = "none", .pooling = "avg"});
  base.save_weights(file("base.weights.h5"));
  run_well({"convert", file("base.weights.h5"), file("base.keras"), "--model", "mobilenet", "--alpha", "0.25",
            "--no-top", "--pooling", "avg", "--input-shape", "64,64,3"});
  const Model got = load_model(file("base.keras"));
  EXPECT_EQ(got.name(), base.name());
  expect_same_weights(got, base);
  const ToolRun other = run({"convert", file("base.weights.h5"), file("out.keras"), "--model", "MobileNet",
                             "--alpha", "0.5", "--no-top"});
  EXPECT_EQ(other.status, 1);
  EXPECT_FALSE(std::filesystem::exists(file("out.keras")));
}

}  // namespace
}  // namespace nyala
