#include <fstream>

#include <nyala/tests/tools/tool_test.h>

namespace nyala {
namespace {

TEST_F(ToolTest, PredictWritesWhatTheModelGives) {
  const Model model = classifier();
  model.save(file("m.keras"));
  const Tensor x = numbers({37, 4}, 1);
  run_well({"predict", file("m.keras"), "--input", saved("x.npy", x), "--output", file("y.npy"),
            "--batch-size", "10"});
  expect_near(load_npy(file("y.npy")), model.predict(x, {.batch_size = 10, .verbose = 0}), 0);
}

TEST_F(ToolTest, PredictTakesInputsByOrderAndByName) {
  const Model model = two_by_two();
  model.save(file("m.h5"));
  const Tensor left = numbers({9, 3}, 1), right = numbers({9, 2}, 2);
  const std::string l = saved("l=1.npy", left), r = saved("r.npy", right);
  const Tensors expected = model.predict_all({left, right}, {.verbose = 0});
  const std::vector<std::vector<std::string>> ways = {{l, r}, {"right=" + r, "left=" + l}, {"right=" + r, l}};
  for (const auto& way : ways) {
    run_well({"predict", file("m.h5"), "--input", way[0], "--input", way[1], "--output", file("y.npz")});
    const NamedArrays got = load_npz(file("y.npz"));
    ASSERT_EQ(got.size(), 2u);
    EXPECT_EQ(got[0].first, "sum");
    EXPECT_EQ(got[1].first, "both");
    for (size_t i = 0; i < 2; ++i) expect_near(got[i].second, expected[i], 0);
  }
}

/// Whole numbers, truth values and bytes of other machines, as Keras' predict takes them.
TEST_F(ToolTest, PredictTakesArraysOfAnyDtype) {
  const Tensor left = Input({3}, {.name = "left"}), right = Input({2}, {.dtype = "int32", .name = "right"});
  const Tensor rows = Flatten()(Embedding(5, 2)(right));
  const Model model({.inputs = {left, right}, .outputs = {Dense(2)(Concatenate()({Flatten()(left), rows}))}});
  model.save(file("m.keras"));
  const Tensor whole = Tensor::from(std::vector<int32_t>{0, 1, 1, 0, 0, 1}, {2, 3});
  const Tensor ids = Tensor::from(std::vector<int32_t>{4, 0, 2, 3}, {2, 2});
  const Tensor expected = model.predict_all({ops::cast(whole, DType::float32), ids}, {.verbose = 0})[0];
  const auto predicted = [&](const std::string& l, const std::string& r) {
    return run({"predict", file("m.keras"), "--input", l, "--input", r, "--output", file("y.npy")});
  };
  std::string big = "\x93NUMPY\x01";
  big += std::string("\0v\0", 3) + "{'descr': '>i8', 'fortran_order': False, 'shape': (2, 2), }";
  big.append(127 - big.size(), ' ').append("\n");
  for (const int id : {4, 0, 2, 3}) big += std::string(7, '\0') + static_cast<char>(id);
  std::ofstream(file("big.npy"), std::ios::binary) << big;
  for (const DType dtype : {DType::int32, DType::int64, DType::uint8, DType::bool_})
    for (const std::string& r : {saved("r.npy", ops::cast(ids, DType::int64)),
                                 saved("b.npy", ops::cast(ids, DType::uint8)), file("big.npy")}) {
      const ToolRun done = predicted(saved("l.npy", ops::cast(whole, dtype)), r);
      ASSERT_EQ(done.status, 0) << done.err;
      expect_near(load_npy(file("y.npy")), expected, 0);
    }
  const Tensor wide = Tensor::from(std::vector<int64_t>{4, 0, (int64_t{1} << 33) + 2, 3}, {2, 2});
  const ToolRun refused = predicted(saved("l.npy", whole), saved("wide.npy", wide));
  EXPECT_NE(refused.status, 0);
  EXPECT_NE(refused.err.find("received 8589934594 at [1, 0]"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("wide.npy"), std::string::npos) << refused.err;
}

TEST_F(ToolTest, EvaluateGivesTheLogs) {
  const Model model = classifier();
  model.save(file("m.keras"));
  const Tensor x = numbers({41, 4}, 1), weight = ops::abs(numbers({41}, 3));
  const std::vector<std::string> base = {"evaluate",     file("m.keras"),
                                         "--input",      saved("x.npy", x),
                                         "--target",     saved("y.npy", labels(41)),
                                         "--batch-size", "16"};
  auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), base.begin(), base.end());
    return more;
  };
  const Logs plain = model.evaluate(x, labels(41), {.batch_size = 16, .verbose = 0});
  const Logs weighted =
      model.evaluate(x, labels(41), {.batch_size = 16, .verbose = 0, .sample_weight = weight});
  const auto check = [](const ToolRun& run, const Logs& expected) {
    const Json json = parse_json(run.last_line(), "output");
    ASSERT_EQ(json.size(), 2u);
    for (const auto& [name, value] : expected) EXPECT_EQ(json.at(name).get<double>(), value) << name;
  };
  check(run_well(with({"--json"})), plain);
  check(run_well(with({"--json", "--sample-weight", saved("w.npy", weight)})), weighted);
  const ToolRun text = run_well(base);
  EXPECT_NE(text.out.find("loss: "), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("accuracy: "), std::string::npos) << text.out;
}

TEST_F(ToolTest, EvaluateTakesTargetsByName) {
  const Model model = two_by_two();
  model.save(file("m.keras"));
  const Tensor left = numbers({9, 3}, 1), right = numbers({9, 2}, 2), sum = numbers({9, 1}, 3),
               both = numbers({9, 2}, 4);
  const ToolRun run = run_well({"evaluate", file("m.keras"), "--input", saved("l.npy", left), "--input",
                                saved("r.npy", right), "--target", "both=" + saved("b.npy", both), "--target",
                                saved("s.npy", sum), "--json"});
  const Logs expected =
      model.evaluate(Tensors{left, right}, Tensors{sum, both}, {.batch_size = 32, .verbose = 0});
  EXPECT_EQ(parse_json(run.last_line(), "output").at("loss").get<double>(), expected.at("loss"));
}

TEST_F(ToolTest, SummaryAndInfo) {
  classifier().save(file("m.keras"));
  const ToolRun table = run_well({"summary", file("m.keras")});
  EXPECT_NE(table.out.find("Total params"), std::string::npos) << table.out;
  const Json json = parse_json(run_well({"summary", file("m.keras"), "--json"}).last_line(), "output");
  EXPECT_EQ(json.at("params"), 4 * 6 + 6 + 4 * 6 + 6 * 2 + 2);
  EXPECT_EQ(json.at("non_trainable_params"), 12);
  EXPECT_EQ(json.at("trainable_params"), json.at("params").get<int>() - 12);
  ASSERT_EQ(json.at("layers").size(), 3u);
  EXPECT_EQ(json.at("layers")[0].at("class_name"), "Dense");
  EXPECT_EQ(json.at("layers")[0].at("output_shape"), Json::array({nullptr, 6}));
  EXPECT_EQ(json.at("layers")[0].at("params"), 30);
  ASSERT_EQ(json.at("weights").size(), 8u);
  EXPECT_EQ(json.at("weights")[0].at("shape"), Json::array({4, 6}));
  EXPECT_EQ(json.at("weights")[0].at("dtype"), "float32");
  EXPECT_EQ(json.at("weights")[0].at("path"), "sequential/dense/kernel");
  const Tensor x = Input({4});
  Model(x, Dense(2)(x)).save(file("f.keras"));
  const Json functional = parse_json(run_well({"summary", file("f.keras"), "--json"}).last_line(), "output");
  EXPECT_EQ(functional.at("layers")[0].at("class_name"), "InputLayer");
  EXPECT_EQ(functional.at("layers")[0].at("output_shape"), Json::array({nullptr, 4}));

  const ToolRun info = run_well({"info"});
  for (const char* part : {"nyala ", "oneDNN: ", "Gloo: ", "threads: ", "devices: ", "cpu:0"})
    EXPECT_NE(info.out.find(part), std::string::npos) << info.out;
}

TEST_F(ToolTest, EveryCommandHasHelpWithAnExample) {
  for (const char* command : {"predict", "evaluate", "fit", "summary", "convert", "info"}) {
    const ToolRun help = run_well({command, "--help"});
    EXPECT_NE(help.out.find("Example"), std::string::npos) << command << "\n" << help.out;
    EXPECT_NE(help.out.find(std::string("nyala ") + command), std::string::npos) << command << "\n"
                                                                                 << help.out;
  }
  EXPECT_NE(run_well({"--help"}).out.find("convert"), std::string::npos);
  EXPECT_NE(run_well({"--version"}).out.find("."), std::string::npos);
}

}  // namespace
}  // namespace nyala
