#include <csignal>

#include <nyala/tests/tools/tool_test.h>

namespace nyala {
namespace {

class ToolFit : public ToolTest {
 protected:
  void SetUp() override {
    ToolTest::SetUp();
    classifier().save(file("m.keras"));
    x_ = numbers({43, 4}, 1);
    y_ = labels(43);
    saved("x.npy", x_);
    saved("y.npy", y_);
  }
  /// `nyala fit` on the arrays with `more`, from `model` to "out.keras".
  ToolRun fit(const std::vector<std::string>& more, const std::string& model = "m.keras") const {
    std::vector<std::string> all = {
        "fit",      file(model),       "--input",      file("x.npy"), "--target",     file("y.npy"),
        "--output", file("out.keras"), "--batch-size", "8",           "--no-shuffle", "--verbose",
        "0"};
    all.insert(all.end(), more.begin(), more.end());
    return run_well(all);
  }
  static FitConfig config(int epochs) {
    return {.batch_size = 8, .epochs = epochs, .verbose = 0, .shuffle = false};
  }

  Tensor x_, y_;
};

TEST_F(ToolFit, TrainsAsTheLibraryDoesAndWritesHistory) {
  fit({"--epochs", "3", "--history", file("h.json"), "--validation-split", "0.25"});
  const Model expected = load_model(file("m.keras"));
  FitConfig same = config(3);
  same.validation_split = 0.25;
  const History history = expected.fit(x_, y_, same);
  expect_same_weights(load_model(file("out.keras")), expected);
  const Json json = json_in("h.json");
  EXPECT_EQ(json.size(), 4u) << json;
  for (const auto& [name, values] : history.history())
    EXPECT_EQ(json.at(name).get<std::vector<double>>(), values);
}

TEST_F(ToolFit, WritesWeightsAlone) {
  for (const std::string name : {"w.weights.h5", "w.safetensors"}) {
    run_well({"fit", file("m.keras"), "--input", file("x.npy"), "--target", file("y.npy"), "--output",
              file(name), "--batch-size", "8", "--no-shuffle", "--verbose", "0"});
    const Model expected = load_model(file("m.keras")), got = load_model(file("m.keras"));
    expected.fit(x_, y_, config(1));
    got.load_weights(file(name));
    expect_same_weights(got, expected);
  }
}

TEST_F(ToolFit, GoesOnWhereTheFileStopped) {
  fit({"--epochs", "2"});
  std::filesystem::copy(file("out.keras"), file("half.keras"));
  fit({"--epochs", "2"}, "half.keras");
  const Model expected = load_model(file("m.keras"));
  expected.fit(x_, y_, config(2));
  expected.fit(x_, y_, config(2));
  const Model got = load_model(file("out.keras"));
  expect_same_weights(got, expected);
  EXPECT_EQ(got.optimizer().iterations(), 24);
}

TEST_F(ToolFit, WeighsClassesAndRows) {
  fit({"--class-weight", R"({"0": 0.5, "1": 3})"});
  const Model by_class = load_model(file("m.keras"));
  FitConfig weighted = config(1);
  weighted.class_weight = {{0, 0.5}, {1, 3.0}};
  by_class.fit(x_, y_, weighted);
  expect_same_weights(load_model(file("out.keras")), by_class);

  const Tensor weight = ops::abs(numbers({43}, 9));
  fit({"--sample-weight", saved("w.npy", weight)});
  const Model by_row = load_model(file("m.keras"));
  weighted = config(1);
  weighted.sample_weight = weight;
  by_row.fit(x_, y_, weighted);
  expect_same_weights(load_model(file("out.keras")), by_row);
}

TEST_F(ToolFit, StrategiesGiveTheNumbersOfOneDevice) {
  const Model expected = load_model(file("m.keras"));
  expected.fit(x_, y_, config(2));
  const std::vector<std::vector<std::string>> ways = {
      {"--devices", "cpu:0,cpu:1"},
      {"--strategy", "mirrored", "--devices", "cpu:0,cpu:1"},
      {"--strategy", "central_storage", "--devices", "cpu:0,cpu:1"},
      {"--strategy", "one_device", "--devices", "cpu:0"}};
  for (std::vector<std::string> way : ways) {
    SCOPED_TRACE(way.back() + " " + way[1]);
    way.insert(way.end(), {"--epochs", "2"});
    fit(way);
    expect_same_weights(load_model(file("out.keras")), expected, 2e-5f);
  }
}

TEST_F(ToolFit, TakesOverridesAndTrainsWhatWasNotCompiled) {
  const Sequential plain({Input({4}), Dense(2, {.activation = "softmax"})});
  plain.save(file("plain.keras"));
  fit({"--loss", "sparse_categorical_crossentropy", "--optimizer",
       R"({"class_name": "SGD", "config": {"learning_rate": 0.25}})", "--metrics", "accuracy", "--history",
       file("h.json"), "--seed", "3"},
      "plain.keras");
  plain.compile({.optimizer = SGD({.learning_rate = 0.25}), .loss = "sparse_categorical_crossentropy"});
  plain.fit(x_, y_, config(1));
  const Model got = load_model(file("out.keras"));
  expect_same_weights(got, plain);
  EXPECT_DOUBLE_EQ(got.optimizer().learning_rate(), 0.25);
  EXPECT_TRUE(json_in("h.json").contains("accuracy"));
}

TEST_F(ToolFit, SeveralInputsTargetsAndWeights) {
  const Model model = two_by_two();
  model.save(file("two.keras"));
  const Tensor left = numbers({9, 3}, 1), right = numbers({9, 2}, 2), sum = numbers({9, 1}, 3),
               both = numbers({9, 2}, 4);
  const Tensor first = ops::abs(numbers({9}, 5)), second = ops::abs(numbers({9}, 6));
  run_well({"fit",
            file("two.keras"),
            "--input",
            "right=" + saved("r.npy", right),
            "--input",
            saved("l.npy", left),
            "--target",
            saved("s.npy", sum),
            "--target",
            saved("b.npy", both),
            "--sample-weight",
            saved("w1.npy", first),
            "--sample-weight",
            saved("w2.npy", second),
            "--output",
            file("out.h5"),
            "--no-shuffle",
            "--verbose",
            "0",
            "--batch-size",
            "4"});
  FitConfig same{.batch_size = 4, .epochs = 1, .verbose = 0, .shuffle = false};
  same.sample_weight = PerOutput<Tensor>(std::vector<Tensor>{first, second});
  model.fit(Tensors{left, right}, Tensors{sum, both}, same);
  expect_same_weights(load_model(file("out.h5")), model);
}

TEST_F(ToolFit, ASignalEndsAfterTheStepAndSaves) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    NyalaProcess process(
        folder_.path().string(),
        {"fit", file("m.keras"), "--input", file("x.npy"), "--target", file("y.npy"), "--output",
         file("out.keras"), "--history", file("h.json"), "--epochs", "10000000", "--verbose", "2"});
    ASSERT_TRUE(process.has_written(200, 60)) << "no epoch ended";
    process.send(signal);
    const ToolRun run = process.wait();
    EXPECT_EQ(run.status, 128 + signal) << run.err;
    EXPECT_NE(run.err.find("interrupted; saved " + file("out.keras")), std::string::npos) << run.err;
    EXPECT_GT(load_model(file("out.keras")).optimizer().iterations(), 0);
    EXPECT_TRUE(std::filesystem::exists(file("h.json")));
  }
}

TEST_F(ToolFit, WithoutAnOutputASignalSaysThatNothingIsKept) {
  NyalaProcess process(folder_.path().string(), {"fit", file("m.keras"), "--input", file("x.npy"), "--target",
                                                 file("y.npy"), "--epochs", "10000000", "--verbose", "2"});
  ASSERT_TRUE(process.has_written(200, 60)) << "no epoch ended";
  process.send(SIGINT);
  const ToolRun run = process.wait();
  EXPECT_EQ(run.status, 130) << run.err;
  EXPECT_NE(run.err.find("interrupted; nothing was saved (no --output)"), std::string::npos) << run.err;
}

/// Two signals of different kinds do not become one.
TEST_F(ToolFit, ASecondSignalEndsAtOnceAndTheOldFileIsWhole) {
  std::filesystem::copy_file(file("m.keras"), file("out.keras"));
  NyalaProcess process(folder_.path().string(),
                       {"fit", file("m.keras"), "--input", file("x.npy"), "--target", file("y.npy"),
                        "--output", file("out.keras"), "--epochs", "10000000", "--verbose", "2"});
  ASSERT_TRUE(process.has_written(200, 60)) << "no epoch ended";
  process.send(SIGINT);
  process.send(SIGTERM);
  EXPECT_EQ(process.wait().status, -1);
  EXPECT_NO_THROW(load_model(file("out.keras")));
}

/// Killed kindly again and again, the command ends with the file of an undisturbed run.
TEST_F(ToolFit, APreemptionExitsWith42AndTheSameCommandGoesOn) {
  const Sequential model({Input({4}), Dense(6, {.activation = "tanh"}), Dropout(0.3), Dense(2)});
  model.compile({.optimizer = Adam(0.001), .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  model.save(file("m.keras"));
  for (const std::string devices : {"cpu:0", "cpu:0,cpu:1"}) {
    const auto command = [&](const std::string& output) {
      return std::vector<std::string>{
          "fit",       file("m.keras"), "--input",  file("x.npy"), "--target",  file("y.npy"),
          "--epochs",  "1500",          "--seed",   "4",           "--verbose", "2",
          "--devices", devices,         "--output", file(output)};
    };
    run_well(command("whole.keras"));
    std::vector<std::string> again = command("parts.keras");
    again.insert(again.end(), {"--preemption-checkpoint", file("preempted")});
    int preemptions = 0;
    for (ToolRun run; run.status != 0;) {
      NyalaProcess process(folder_.path().string(), again);
      if (preemptions < 2) {
        ASSERT_TRUE(process.has_written(200, 60)) << "no epoch ended";
        process.send(SIGTERM);
      }
      run = process.wait();
      ASSERT_EQ(run.status, preemptions < 2 ? 42 : 0) << run.err;
      if (run.status == 0) break;
      ++preemptions;
      EXPECT_NE(run.err.find("preempted; the same command goes on from " + file("preempted")),
                std::string::npos)
          << run.err;
    }
    EXPECT_EQ(preemptions, 2);
    expect_same_weights(load_model(file("parts.keras")), load_model(file("whole.keras")));
    EXPECT_FALSE(std::filesystem::exists(file("preempted")));
    std::filesystem::remove(file("parts.keras"));
  }
}

TEST_F(ToolFit, PicturesInADrawnOrderCannotGoOn) {
  const ToolRun said = run({"fit", file("m.keras"), "--data", folder_.path().string(),
                            "--preemption-checkpoint", file("preempted")});
  EXPECT_EQ(said.status, 1);
  EXPECT_NE(said.err.find("expected --seed or --no-shuffle"), std::string::npos) << said.err;
}

}  // namespace
}  // namespace nyala
