// --dtype-policy of nyala fit, evaluate and predict.
#include <cmath>

#include <nyala/tests/tools/tool_test.h>

namespace nyala {
namespace {

TEST_F(ToolTest, PredictAndEvaluateInAnotherPolicy) {
  const Model model = classifier();
  model.save(file("m.keras"));
  const Tensor x = numbers({37, 4}, 1);
  const std::string array = saved("x.npy", x), target = saved("y.npy", labels(37));
  run_well({"predict", file("m.keras"), "--input", array, "--output", file("p.npy"), "--dtype-policy",
            "mixed_bfloat16"});
  const Tensor mixed = load_npy(file("p.npy")), whole = model.predict(x, {.verbose = 0});
  EXPECT_EQ(mixed.dtype(), DType::float32);  // NumPy has no bfloat16
  const Model same = load_model(file("m.keras"), {.dtype_policy = "mixed_bfloat16"});
  expect_near(mixed, ops::cast(same.predict(x, {.verbose = 0}), DType::float32), 0);
  expect_near(mixed, whole, 0.02f);
  EXPECT_NE(mixed.to_vector<float>(), whole.to_vector<float>());
  const ToolRun logs = run_well({"evaluate", file("m.keras"), "--input", array, "--target", target,
                                 "--dtype-policy", "mixed_bfloat16", "--json"});
  const double loss = parse_json(logs.last_line(), "output").at("loss").get<double>();
  const double expected = model.evaluate(x, labels(37), {.verbose = 0})["loss"];
  EXPECT_NEAR(loss, expected, 0.02 * expected);
  EXPECT_NE(loss, expected);
}

TEST_F(ToolTest, FitInAnotherPolicyIsKeptInTheFile) {
  classifier().save(file("m.keras"));
  const std::string array = saved("x.npy", numbers({37, 4}, 1)), target = saved("y.npy", labels(37));
  run_well({"fit", file("m.keras"), "--input", array, "--target", target, "--dtype-policy", "mixed_bfloat16",
            "--output", file("n.keras"), "--verbose", "0"});
  const Model trained = load_model(file("n.keras"));
  for (const Layer& layer : trained.layers()) {
    EXPECT_EQ(layer.dtype_policy().name(), "mixed_bfloat16") << layer.name();
    for (const Variable& weight : layer.weights()) EXPECT_EQ(weight.dtype(), DType::float32) << weight.path();
  }
  const ToolRun wrong = run({"predict", file("m.keras"), "--input", array, "--output", file("p.npy"),
                             "--dtype-policy", "mixed_bfloat61"});
  EXPECT_NE(wrong.status, 0);
  EXPECT_NE(wrong.err.find("did you mean 'mixed_bfloat16'"), std::string::npos) << wrong.err;
}

/// A scale of losses joins the optimizer, whose moments and count of steps are those of the file.
TEST_F(ToolTest, FitGoesOnInFloat16WithTheStateOfTheOptimizer) {
  const Tensor x = numbers({37, 4}, 1), y = labels(37);
  const std::string array = saved("x.npy", x), target = saved("y.npy", y);
  const Model model = classifier();
  model.fit(x, y, {.batch_size = 10, .epochs = 5, .verbose = 0});
  for (const std::string suffix : {".keras", ".h5"}) {
    model.save(file("m" + suffix));
    const auto trained = [&](const std::string& policy) {
      const ToolRun run =
          run_well({"fit", file("m" + suffix), "--input", array, "--target", target, "--dtype-policy", policy,
                    "--no-shuffle", "--epochs", "2", "--output", file("n.keras"), "--verbose", "0"});
      EXPECT_EQ(run.err.find("left out"), std::string::npos) << suffix << run.err;
      return load_model(file("n.keras"));
    };
    const Model whole = trained("float32"), mixed = trained("mixed_float16");
    EXPECT_EQ(mixed.optimizer().node().class_name(), "LossScaleOptimizer");
    EXPECT_EQ(mixed.optimizer().iterations(), 5 * 4 + 2 * 2) << suffix;
    EXPECT_EQ(mixed.optimizer().node().loss_scale(), 32768);
    // Adam without its moments would move each weight by the rate of 0.02 in each of the four steps.
    expect_same_weights(mixed, whole, 4e-3f);
    EXPECT_NE(mixed.get_weights()[0].to_vector<float>(), whole.get_weights()[0].to_vector<float>());
  }
}

}  // namespace
}  // namespace nyala
