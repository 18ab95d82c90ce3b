#include <algorithm>
#include <filesystem>
#include <fstream>

#include <nyala/tests/tools/tool_test.h>

namespace nyala {
namespace {

class ToolErrors : public ToolTest {
 protected:
  void SetUp() override {
    ToolTest::SetUp();
    classifier().save(m_);
    two_by_two().save(file("two.keras"));
    saved("x.npy", numbers({6, 4}, 1));
    saved("wrong.npy", numbers({6, 3}, 1));
    saved("y.npy", labels(6));
    saved("short.npy", labels(5));
    std::ofstream(file("text.keras")) << "no model";
    std::ofstream(file("text.npy")) << "no array";
    std::ifstream whole(m_, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(whole), {}};
    std::ofstream(file("cut.keras"), std::ios::binary) << bytes.substr(0, bytes.size() / 2);
    std::string flipped = bytes;
    flipped[bytes.find("config.json") + 100] ^= 0x20;
    std::ofstream(file("flipped.keras"), std::ios::binary) << flipped;
  }
  /// One line that begins with "error: " and holds `part`, an exit status of its own, and no output file.
  void expect_error(const std::vector<std::string>& arguments, const std::string& part) const {
    std::string command;
    for (const std::string& argument : arguments) command += argument + " ";
    const ToolRun result = run(arguments);
    EXPECT_GT(result.status, 0) << command << result.err;
    EXPECT_TRUE(result.err.starts_with("error: ")) << command << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << command << result.err;
    EXPECT_NE(result.err.find(part), std::string::npos) << command << result.err;
    EXPECT_FALSE(std::filesystem::exists(file("out.npy"))) << command;
    EXPECT_FALSE(std::filesystem::exists(file("out.keras"))) << command;
  }

  std::string m_ = file("m.keras"), x_ = file("x.npy"), y_ = file("y.npy"), out_ = file("out.npy");
};

TEST_F(ToolErrors, IdsOutsideTheVocabulary) {
  Sequential({Input({2}, {.dtype = "int64"}), Embedding(10, 4), Flatten()}).save(file("words.keras"));
  for (const int64_t id : {int64_t{12}, (int64_t{1} << 32) + 3}) {
    saved("ids.npy", Tensor::from(std::vector<int64_t>{0, id}, {1, 2}));
    expect_error({"predict", file("words.keras"), "--input", file("ids.npy"), "--output", out_},
                 "index " + std::to_string(id) + " at (0, 1) is outside [0, 10)");
  }
}

TEST_F(ToolErrors, DataThatDoesNotFitIsNamed) {
  expect_error({"predict", m_, "--input", file("wrong.npy"), "--output", out_}, file("wrong.npy"));
  expect_error({"predict", m_, "--input", file("wrong.npy"), "--output", out_}, m_);
  expect_error({"evaluate", m_, "--input", x_, "--target", file("short.npy")}, file("short.npy"));
  expect_error({"fit", m_, "--input", x_, "--target", file("short.npy")}, file("short.npy"));
}

TEST_F(ToolErrors, ArchitecturesThatAreNone) {
  const std::string bad = file("bad.json"), out = file("out.keras");
  const std::string texts[] = {
      "{",
      "{}",
      R"({"class_name": 7})",
      R"({"class_name": "Sequential", "config": "x"})",
      R"({"class_name": "Functional", "config": {"layers": [{"class_name": "Dense",)"
      R"( "config": {"name": "d", "units": 2}, "inbound_nodes": [{"args": "x", "kwargs": 3}]}],)"
      R"( "input_layers": 3, "output_layers": []}})",
      R"({"class_name": "Sequential", "config": {"layers": [{"class_name": "Dense\u001b[31m",)"
      R"( "config": {}}]}})"};
  for (const std::string& text : texts) {
    std::ofstream(bad) << text;
    expect_error({"convert", m_, out, "--model", bad}, bad);
  }
}

TEST_F(ToolErrors, NumbersOutOfRange) {
  for (const char* split : {"nan", "NaN", "inf", "-inf", "1", "1.5", "-1", "x", "1e400"})
    expect_error({"fit", m_, "--input", x_, "--target", y_, "--validation-split", split},
                 "--validation-split");
  for (const char* count : {"nan", "0", "-1", "1.5", "inf"}) {
    expect_error({"fit", m_, "--input", x_, "--target", y_, "--epochs", count}, "--epochs");
    expect_error({"fit", m_, "--input", x_, "--target", y_, "--batch-size", count}, "--batch-size");
    expect_error({"predict", m_, "--input", x_, "--output", out_, "--batch-size", count}, "--batch-size");
  }
  expect_error({"fit", m_, "--input", x_, "--target", y_, "--seed", "-5"}, "--seed");
  expect_error({"fit", m_, "--input", x_, "--target", y_, "--class-weight", "'{\"1x\": 2}'"},
               "--class-weight");
  for (const char* alpha : {"nan", "inf", "0", "-1"})
    expect_error({"new", "MobileNet", "--output", file("out.keras"), "--alpha", alpha}, "--alpha");
  expect_error({"new", "MobileNet", "--output", file("out.keras"), "--input-shape", "0,-5,3"},
               "--input-shape");
}

TEST_F(ToolErrors, WeightsOfClasses) {
  const auto expect_refused = [&](const std::string& weights, const std::string& expected,
                                  const std::vector<std::string>& more = {}) {
    std::vector<std::string> all = {"fit", m_, "--input", x_, "--target", y_, "--class-weight", weights};
    all.insert(all.end(), more.begin(), more.end());
    expect_error(all, expected);
  };
  expect_refused(R"({"0": 1, "2": 5})", "class 2 does not exist");
  expect_refused(R"({"0": 1, "2": 5})", "is for classes 0 to 1");
  expect_refused(R"({"-1": 2})", "class -1 does not exist");
  expect_refused(R"({"1": 2, "1": 3})", "'1' twice");
  expect_refused(R"({"1": 2, "01": 3})", "class 1 is there twice");
  for (const char* weights :
       {R"({"1x": 2})", R"({"": 2})", R"({"1": "2"})", R"({"1": NaN})", R"({"1": true})", "[1]", "[1, 2"})
    expect_refused(weights, "--class-weight");

  const Sequential one({Input({4}), Dense(1)});
  one.save(m_);
  expect_refused(R"({"2": 1})", "is for classes 0 to 1", {"--loss", "binary_crossentropy"});
  run_well({"fit", m_, "--input", x_, "--target", y_, "--loss", "mse", "--class-weight", R"({"2": 3})"});
}

TEST_F(ToolErrors, Files) {
  expect_error({"predict", file("no.keras"), "--input", x_, "--output", out_}, file("no.keras"));
  expect_error({"predict", folder_.path().string(), "--input", x_, "--output", out_}, "config.json");
  expect_error({"predict", m_, "--input", file("no.npy"), "--output", out_}, file("no.npy"));
  expect_error({"predict", file("text.keras"), "--input", x_, "--output", out_}, file("text.keras"));
  expect_error({"predict", file("cut.keras"), "--input", x_, "--output", out_}, file("cut.keras"));
  expect_error({"predict", file("flipped.keras"), "--input", x_, "--output", out_}, file("flipped.keras"));
  expect_error({"predict", m_, "--input", file("text.npy"), "--output", out_}, file("text.npy"));
  expect_error({"predict", m_, "--input", x_, "--output", file("no/out.npy")}, "does not exist");
  expect_error({"predict", m_, "--input", x_, "--output", file("out.txt")}, "out.txt");
  for (const char* command : {"summary", "evaluate", "fit"}) {
    std::vector<std::string> arguments = {command, file("cut.keras")};
    if (std::string(command) != "summary") arguments.insert(arguments.end(), {"--input", x_, "--target", y_});
    expect_error(arguments, file("cut.keras"));
  }
  expect_error({"convert", m_, file("out.onnx")}, "out.onnx");
  expect_error({"convert", file("cut.keras"), file("out.keras")}, file("cut.keras"));
}

TEST_F(ToolErrors, Arrays) {
  expect_error({"predict", m_, "--input", file("wrong.npy"), "--output", out_}, "4");
  expect_error({"predict", m_, "--input", x_, "--input", x_, "--output", out_}, "received 2");
  expect_error({"predict", file("two.keras"), "--input", "left=" + x_, "--input", "left=" + x_, "--output",
                file("out.npz")},
               "given twice");
  expect_error({"evaluate", m_, "--input", x_, "--target", file("short.npy")}, "5");
  expect_error({"fit", m_, "--input", x_, "--target", file("short.npy"), "--output", file("out.keras")}, "5");
  expect_error({"fit", m_, "--input", x_, "--target", y_, "--sample-weight", file("short.npy")}, "5");
}

TEST_F(ToolErrors, Options) {
  const std::vector<std::string> fit = {"fit", m_, "--input", x_, "--target", y_};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), fit.begin(), fit.end());
    return more;
  };
  expect_error({}, "subcommand");
  expect_error({"train", m_}, "train");
  expect_error({"predict", m_, "--input", x_}, "--output");
  expect_error({"predict", m_, "--input", x_, "--output", out_, "--turbo"}, "--turbo");
  expect_error({"predict", m_, "--input", x_, "--output", out_, "--batch-size", "0"}, "batch-size");
  expect_error(with({"--epochs", "many"}), "epochs");
  expect_error(with({"--optimizer", "Adamm"}), "Adam");
  expect_error(with({"--optimizer", "{\"class_name\": 3}"}), "optimizer");
  expect_error(with({"--loss", "no_such_loss"}), "no_such_loss");
  expect_error(with({"--metrics", "no_such_metric"}), "no_such_metric");
  for (const char* metrics : {",", "accuracy,", ",accuracy", "accuracy, ,mse"})
    expect_error(with({"--metrics", metrics}), "--metrics: expected names with commas between");
  expect_error(with({"--devices", "cpu:0,,cpu:1"}), "'cpu:0,,cpu:1', in which name 2 is empty");
  expect_error(with({"--class-weight", "[1, 2"}), "--class-weight");
  expect_error(with({"--strategy", "parameter_servers"}), "'parameter_servers'");
  expect_error(with({"--strategy", "parameter_server"}), "nyala launch --ps 1 --workers 2 --chief");
  expect_error(with({"--devices", "tpu:0,tpu:1"}), "tpu");
  expect_error(with({"--strategy", "one_device", "--devices", "cpu:0,cpu:1"}), "one_device");
  expect_error(with({"--validation-split", "1.5"}), "--validation-split");
  expect_error(with({"--output", file("out.txt")}), "out.txt");
  expect_error(with({"--output", file("no/out.keras")}), "does not exist");
}

TEST_F(ToolErrors, TheReaderOfTheOutputIsGone) {
  const ToolRun full = run({"summary", m_}, "/dev/full");
  EXPECT_EQ(full.status, 1);
  EXPECT_EQ(full.err, "error: cannot write to the standard output\n");
}

TEST_F(ToolErrors, AnOutputThatIsReadIsRefusedBeforeItIs) {
  const std::string link = file("link.npy");
  std::filesystem::create_symlink(x_, link);
  const auto bytes = [](const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string before = bytes(x_);
  for (const std::string& output : {x_, link, folder_.path().string() + "/./x.npy"})
    for (const std::string& input : {x_, "input=" + x_})
      expect_error({"predict", m_, "--input", input, "--output", output}, "which is read");
  std::filesystem::copy_file(m_, file("m.npy"));
  expect_error({"predict", file("m.npy"), "--input", x_, "--output", file("m.npy")}, "which is read");
  std::filesystem::copy_file(x_, file("x.npz"));
  for (const char* option : {"--output", "--history"})
    expect_error({"fit", m_, "--input", file("x.npz"), "--target", x_, option, file("x.npz")},
                 "which is read");
  EXPECT_EQ(bytes(x_), before);
}

}  // namespace
}  // namespace nyala
