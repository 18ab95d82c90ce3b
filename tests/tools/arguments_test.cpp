#include <sys/stat.h>
#include <unistd.h>

#include <nyala/tests/tools/tool_test.h>

namespace nyala {
namespace {

/// What the command line says is checked before long work.
class ToolArguments : public ToolTest {
 protected:
  void SetUp() override {
    ToolTest::SetUp();
    classifier().save(m_);
    saved("x.npy", numbers({6, 4}, 1));
    saved("y.npy", labels(6));
    std::filesystem::create_directory(file("folder.keras"));
    std::filesystem::create_directory(file("folder.json"));
  }
  void expect_error(const std::vector<std::string>& arguments, const std::vector<std::string>& parts) const {
    const ToolRun result = run(arguments);
    EXPECT_GT(result.status, 0) << result.err;
    EXPECT_EQ(result.out, "");
    for (const std::string& part : parts)
      EXPECT_NE(result.err.find(part), std::string::npos) << part << " in " << result.err;
    EXPECT_FALSE(std::filesystem::exists(file("out.keras"))) << result.err;
  }
  std::vector<std::string> fit(const std::vector<std::string>& more) const {
    std::vector<std::string> all = {"fit", m_, "--input", x_, "--target", y_};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  std::vector<std::string> predict(const std::vector<std::string>& more) const {
    std::vector<std::string> all = {"predict", m_, "--input", x_, "--output", file("out.npy")};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  std::string m_ = file("m.keras"), x_ = file("x.npy"), y_ = file("y.npy"), out_ = file("out.keras");
};

TEST_F(ToolArguments, WhatCannotBeWrittenIsKnownBeforeTraining) {
  ASSERT_EQ(::mkfifo(file("fifo.json").c_str(), 0600), 0);
  expect_error(fit({"--output", file("folder.keras")}), {"folder.keras", "no regular file"});
  expect_error(fit({"--output", out_, "--history", file("folder.json")}), {"folder.json", "no regular file"});
  expect_error(fit({"--output", out_, "--history", file("fifo.json")}), {"fifo.json", "no regular file"});
  expect_error(fit({"--output", out_, "--history", out_}), {"--history", "a path of its own"});
  expect_error(fit({"--history", file("other.keras")}), {"other.keras", ".json"});
  expect_error(fit({"--history", folder_.path().string() + "/./m.keras"}),
               {"--history", "a path of its own"});
  expect_error(fit({"--output", file(std::string(250, 'n') + ".keras")}), {"File name too long"});
  if (::geteuid() != 0) {
    std::filesystem::create_directory(file("closed"));
    ::chmod(file("closed").c_str(), 0500);
    expect_error(fit({"--output", file("closed/out.keras")}), {"closed/out.keras", "Permission denied"});
  }
}

TEST_F(ToolArguments, OptionsThatWouldDoNothing) {
  const std::vector<std::vector<std::string>> of_pictures = {
      {"--preprocess", "caffe"},  {"--top", "3"},         {"--labels", file("names.txt")}, {"--size", "4,4"},
      {"--interpolation", "box"}, {"--keep-aspect-ratio"}};
  for (const auto& option : of_pictures) expect_error(predict(option), {option[0], "--image"});
  for (const std::vector<std::string>& option :
       {std::vector<std::string>{"--preprocess", "caffe"}, {"--size", "4"}, {"--skip-broken"}})
    expect_error(fit(option), {option[0], "--data"});
  expect_error({"fit", m_, "--data", folder_.path().string(), "--sample-weight", y_},
               {"--sample-weight", "--input"});
  expect_error({"convert", m_, out_, "--alpha", "0.5"}, {"--alpha", "--model"});
  expect_error({"new", "MobileNet", "--output", out_, "--pooling", "avg"}, {"--pooling", "--no-top"});
  expect_error({"new", "MobileNet", "--output", out_, "--no-top", "--classes", "3"},
               {"--no-top", "--classes"});
}

TEST_F(ToolArguments, Numbers) {
  expect_error(fit({"--batch-size", "0"}),
               {"--batch-size: expected a whole number of at least 1, received '0'"});
  expect_error(fit({"--batch-size", "9223372036854775808"}),
               {"--batch-size", "received '9223372036854775808'"});
  expect_error(fit({"--seed", "99999999999999999999"}),
               {"--seed: expected a whole number from 0 to 9223372036854775807, received "
                "'99999999999999999999', which is out of range"});
  expect_error(fit({"--batch-size", "-99999999999999999999"}),
               {"--batch-size: expected a whole number from 1 to 9223372036854775807", "out of range"});
  expect_error(fit({"--epochs", "2147483648"}), {"--epochs: expected a whole number from 1 to 2147483647"});
  expect_error(fit({"--verbose", "3"}), {"--verbose: expected a whole number from 0 to 2"});
  expect_error({"new", "MobileNet", "--output", out_, "--alpha", "0"},
               {"--alpha: expected a number above 0"});
  const ToolRun decimal = run(fit({"--epochs", "010", "--verbose", "2"}));
  EXPECT_NE(decimal.out.find("Epoch 10/10"), std::string::npos) << decimal.out;
}

/// As of a variable of the shell that is not set.
TEST_F(ToolArguments, AnEmptyValueIsNone) {
  for (const char* option : {"--output", "--history", "--optimizer", "--preemption-checkpoint", "--devices"})
    expect_error(fit({option, ""}), {option, "expected a value, received ''"});
  expect_error({"summary", ""}, {"model", "expected a value, received ''"});
}

TEST_F(ToolArguments, AnOptionTakesOneValue) {
  run_well({"predict", "--input", x_, m_, "--output", file("out.npy")});
  run_well({"fit", "--input", x_, "--target", y_, m_, "--verbose", "0"});
  run_well({"evaluate", "--input", x_, "--target", y_, m_});
}

TEST_F(ToolArguments, NamesThatAreNone) {
  expect_error({"predict", m_, "--input", "foo=x.npy", "--output", file("out.npy")},
               {"'foo=x.npy'", "the model has no 'foo'"});
  expect_error({"--nope"}, {"unknown option '--nope'"});
}

TEST_F(ToolArguments, LabelsAreARegularFileOfASaneSize) {
  const Sequential model({Input({2, 2, 3}), Flatten(), Dense(2)});
  model.save(file("pictures.keras"));
  save_img(file("p.png"), ops::zeros({2, 2, 3}));
  std::ofstream(file("large.txt")) << "a\nb\n";
  std::filesystem::resize_file(file("large.txt"), uintmax_t{1} << 40);
  const std::vector<std::string> command = {"predict", file("pictures.keras"), "--image", file("p.png"),
                                            "--labels"};
  const auto with = [&](const std::string& path) {
    std::vector<std::string> all = command;
    all.push_back(path);
    return run(all);
  };
  EXPECT_NE(with("/dev/zero").err.find("not a regular file"), std::string::npos);
  EXPECT_NE(with(file("large.txt")).err.find("1099511627776 bytes: expected labels"), std::string::npos);
}

TEST_F(ToolArguments, HelpThatNobodyGetsIsAnError) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--help"}, {"fit", "--help"}, {"--version"}}) {
    const ToolRun full = run(arguments, "/dev/full");
    EXPECT_EQ(full.status, 1);
    EXPECT_EQ(full.err, "error: cannot write to the standard output\n");
  }
}

TEST_F(ToolArguments, FitSaysAtOnceThatNothingIsKept) {
  EXPECT_NE(run_well(fit({"--verbose", "0"})).err.find("not kept: there is no --output"), std::string::npos);
  EXPECT_EQ(run_well(fit({"--verbose", "0", "--output", out_})).err, "");
}

TEST_F(ToolArguments, TheLongestNamesAreWritten) {
  const std::string longest = file(std::string(249, 'n') + ".keras");
  run_well(fit({"--verbose", "0", "--output", longest}));
  EXPECT_NO_THROW(load_model(longest));
}

}  // namespace
}  // namespace nyala
