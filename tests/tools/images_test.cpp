// Pictures on the command line: `nyala predict --image`, `nyala fit --data`.
#include <nyala/datasets/image/image_dataset.h>
#include <nyala/datasets/image/load_img.h>
#include <nyala/datasets/image/save_img.h>
#include <nyala/tests/tools/tool_test.h>

namespace nyala {
namespace {

class ToolImages : public ToolTest {
 protected:
  /// A picture of one colour with some noise.
  void picture(const std::string& path, const std::vector<double>& colour, ImageSize size,
               uint64_t seed) const {
    DrawStream random(seed);
    std::vector<uint8_t> values;
    for (int64_t i = 0; i < size.height * size.width; ++i)
      for (const double channel : colour)
        values.push_back(static_cast<uint8_t>(channel + random.uniform(0, 40)));
    std::filesystem::create_directories(std::filesystem::path(file(path)).parent_path());
    save_img(file(path), Tensor::from(values, {size.height, size.width, 3}), {.scale = false});
  }
  /// Class folders "blue" and "red" of pictures of different sizes.
  void colours(int per_class) const {
    for (int i = 0; i < per_class; ++i) {
      const auto number = static_cast<uint64_t>(i);
      picture("photos/red/" + std::to_string(i) + ".png", {200, 30, 30}, {9, 8 + i % 3}, number);
      picture("photos/blue/" + std::to_string(i) + ".png", {30, 30, 200}, {8 + i % 2, 10}, 100 + number);
    }
  }
  static Model classifier_of_pictures(int64_t classes) {
    return Sequential(
        {Input({8, 8, 3}), Flatten(), Dense(classes, {.activation = classes == 1 ? "sigmoid" : "softmax"})});
  }
  static size_t place(const std::string& text, const std::string& part) {
    const size_t found = text.find(part);
    EXPECT_NE(found, std::string::npos) << part << " in\n" << text;
    return found;
  }
};

TEST_F(ToolImages, PredictsAsTheLibraryDoes) {
  picture("a.png", {200, 30, 30}, {13, 11}, 1);
  picture("b.bmp", {30, 30, 200}, {8, 8}, 2);
  const Model model = classifier_of_pictures(3);
  model.save(file("m.keras"));
  std::ofstream(file("labels.txt")) << "apple\nbread\ncheese\n";
  const ToolRun run = run_well({"predict", file("m.keras"), "--image", file("a.png"), "--image",
                                file("b.bmp"), "--preprocess", "mobilenet_v2", "--labels", file("labels.txt"),
                                "--top", "2", "--output", file("y.npy")});
  Tensors images;
  for (const char* name : {"a.png", "b.bmp"})
    images.push_back(load_img(file(name), {.target_size = {8, 8}}) / 127.5 - 1.0);
  const Tensor expected = model.predict(ops::stack(images, 0), {.verbose = 0});
  expect_near(load_npy(file("y.npy")), expected, 1e-6f);

  const std::vector<std::string> labels = {"apple", "bread", "cheese"};
  const std::vector<float> scores = expected.to_vector<float>();
  size_t at = 0;
  for (size_t row = 0; row < 2; ++row) {
    std::vector<size_t> order = {0, 1, 2};
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return scores[3 * row + a] > scores[3 * row + b]; });
    for (const std::string& part : {file(row ? "b.bmp" : "a.png"), labels[order[0]], labels[order[1]]}) {
      const size_t next = run.out.find(part, at);
      ASSERT_NE(next, std::string::npos) << part << " in\n" << run.out;
      at = next + part.size();
    }
  }
  EXPECT_EQ(std::count(run.out.begin(), run.out.end(), '\n'), 2 * 3);
  EXPECT_EQ(run.err, "");
}

TEST_F(ToolImages, HintsAtPreprocessingWhereTheModelDoesNone) {
  picture("a.png", {200, 30, 30}, {8, 8}, 1);
  classifier_of_pictures(3).save(file("plain.keras"));
  const ToolRun plain = run_well({"predict", file("plain.keras"), "--image", file("a.png")});
  EXPECT_NE(plain.err.find("--preprocess"), std::string::npos) << plain.err;
  EXPECT_NE(plain.out.find("  2\n"), std::string::npos) << plain.out;  // no names: numbers of classes
  EXPECT_EQ(run_well({"predict", file("plain.keras"), "--image", file("a.png"), "--preprocess", "none"}).err,
            "");
  Sequential({Input({8, 8, 3}), Rescaling(1 / 255.0), Flatten(), Dense(3)}).save(file("scales.keras"));
  EXPECT_EQ(run_well({"predict", file("scales.keras"), "--image", file("a.png")}).err, "");
}

TEST_F(ToolImages, OfAnySizeAndGrey) {
  picture("a.png", {200, 30, 30}, {9, 12}, 1);
  const Model model = Sequential({Input({None, None, 1}), Conv2D(2, 3), GlobalAveragePooling2D(), Dense(2)});
  model.save(file("m.keras"));
  run_well({"predict", file("m.keras"), "--image", file("a.png"), "--size", "6,7", "--interpolation",
            "bilinear", "--output", file("y.npy")});
  const Tensor image = load_img(
      file("a.png"), {.color_mode = "grayscale", .target_size = {6, 7}, .interpolation = "bilinear"});
  expect_near(load_npy(file("y.npy")), model.predict(ops::expand_dims(image, 0), {.verbose = 0}), 1e-4f);
  run_well({"predict", file("m.keras"), "--image", file("a.png"), "--size", "6,6", "--keep-aspect-ratio",
            "--output", file("y.npy")});
  const Tensor middle =
      load_img(file("a.png"), {.color_mode = "grayscale", .target_size = {6, 6}, .keep_aspect_ratio = true});
  expect_near(load_npy(file("y.npy")), model.predict(ops::expand_dims(middle, 0), {.verbose = 0}), 1e-4f);
  const ToolRun open = run({"predict", file("m.keras"), "--image", file("a.png")});
  EXPECT_NE(open.err.find("--size height,width"), std::string::npos) << open.err;
}

TEST_F(ToolImages, NamesOfImagenet) {
  const char* chosen = std::getenv("NYALA_TEST_DATA");
  const std::filesystem::path index =
      std::filesystem::path(chosen ? chosen : NYALA_TEST_DATA) / "imagenet/imagenet_class_index.json";
  if (!std::filesystem::exists(index)) GTEST_SKIP() << "no " << index;
  std::filesystem::create_directories(file("models"));
  std::filesystem::copy_file(index, file("models/imagenet_class_index.json"));
  ::setenv("NYALA_HOME", folder_.path().c_str(), 1);
  picture("a.png", {200, 30, 30}, {8, 8}, 1);
  const Sequential model({Input({8, 8, 3}), Flatten(), Dense(1000, {.kernel_initializer = "zeros"})});
  std::vector<float> bias(1000);
  bias[281] = 2;
  bias[282] = 1;
  model.set_weights({Tensor::zeros({192, 1000}), Tensor::from(bias)});
  model.save(file("m.keras"));
  const ToolRun run =
      run_well({"predict", file("m.keras"), "--image", file("a.png"), "--top", "2", "--preprocess", "none"});
  ::unsetenv("NYALA_HOME");
  EXPECT_LT(place(run.out, "2.0000  tabby (n02123045)"), place(run.out, "1.0000  tiger_cat")) << run.out;
}

TEST_F(ToolImages, PredictRefuses) {
  picture("a.png", {200, 30, 30}, {8, 8}, 1);
  classifier_of_pictures(3).save(file("m.keras"));
  classifier().save(file("numbers.keras"));
  std::ofstream(file("labels.txt")) << "one\ntwo\n";
  std::ofstream(file("broken.jpg")) << "no picture";
  const auto refused = [&](std::vector<std::string> more, const std::string& part) {
    more.insert(more.begin(), "predict");
    const ToolRun run = this->run(more);
    EXPECT_EQ(run.status, 1) << part;
    EXPECT_NE(run.err.find(part), std::string::npos) << run.err;
  };
  const std::string m = file("m.keras"), a = file("a.png");
  refused({m, "--image", a, "--preprocess", "mobilnet_v2"}, "did you mean 'mobilenet_v2'");
  refused({m, "--image", a, "--labels", file("labels.txt")}, "2 labels");
  refused({m, "--image", a, "--input", file("x.npy")}, "either --input");
  refused({m}, "either --input");
  refused({m, "--image", file("absent.jpg")}, "absent.jpg");
  refused({m, "--image", file("broken.jpg")}, "broken.jpg");
  refused({m, "--image", a, "--size", "9,9"}, "--size says otherwise");
  refused({file("numbers.keras"), "--image", a}, "does not take pictures");
}

TEST_F(ToolImages, FitLearnsAFolder) {
  colours(12);
  const Model model = classifier_of_pictures(2);
  model.compile({.optimizer = Adam({.learning_rate = 0.01}),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"}});
  model.save(file("m.keras"));
  const ToolRun run = run_well({"fit",
                                file("m.keras"),
                                "--data",
                                file("photos"),
                                "--preprocess",
                                "tf",
                                "--validation-split",
                                "0.25",
                                "--seed",
                                "3",
                                "--epochs",
                                "6",
                                "--batch-size",
                                "5",
                                "--verbose",
                                "0",
                                "--history",
                                file("h.json"),
                                "--output",
                                file("out.keras")});
  EXPECT_NE(run.err.find("'blue', 'red'"), std::string::npos) << run.err;
  const Json history = json_in("h.json");
  EXPECT_EQ(history.at("val_accuracy").back().get<double>(), 1.0) << history;

  set_random_seed(3);
  const Model expected = load_model(file("m.keras"));
  const TrainValidation data = image_datasets_from_directory(
      file("photos"), {.batch_size = 5, .image_size = {8, 8}, .seed = 3, .validation_split = 0.25});
  const auto scaled = [](const Dataset& batches) {
    return batches.map([](const Tensor& x, const Tensor& y) { return std::pair(x / 127.5 - 1.0, y); });
  };
  expected.fit(scaled(data.train), {.epochs = 6, .verbose = 0, .validation_data = scaled(data.validation)});
  expect_same_weights(load_model(file("out.keras")), expected, 1e-5f);
}

TEST_F(ToolImages, FitGivesLabelsAsTheLossWantsThem) {
  colours(4);
  const std::vector<std::pair<int64_t, std::string>> ways = {{2, "categorical_crossentropy"},
                                                             {2, "sparse_categorical_crossentropy"},
                                                             {2, "mse"},
                                                             {1, "binary_crossentropy"}};
  for (const auto& [units, loss] : ways) {
    SCOPED_TRACE(loss);
    classifier_of_pictures(units).save(file("m.keras"));
    run_well({"fit",       file("m.keras"), "--data",       file("photos"), "--preprocess",
              "tf",        "--loss",        loss,           "--optimizer",  "adam",
              "--metrics", "accuracy",      "--epochs",     "30",           "--verbose",
              "0",         "--history",     file("h.json"), "--output",     file("out.keras")});
    EXPECT_EQ(json_in("h.json").at("accuracy").back().get<double>(), 1.0);
  }
}

TEST_F(ToolImages, FitKeepsFrozenFeatures) {
  colours(6);
  const Sequential model({Input({8, 8, 3}), Rescaling(1 / 127.5, {.offset = -1.0}),
                          Conv2D(4, 3, {.trainable = false}), Flatten(),
                          Dense(2, {.activation = "softmax"})});
  model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy"});
  model.save(file("m.keras"));
  const std::vector<std::string> fit = {"fit",     file("m.keras"), "--data", file("photos"), "--seed",
                                        "2",       "--epochs",      "3",      "--verbose",    "0",
                                        "--output"};
  std::vector<std::string> plain = fit, cached = fit;
  plain.push_back(file("plain.keras"));
  cached.insert(cached.end(), {file("cached.keras"), "--cache-frozen-features"});
  run_well(plain);
  run_well(cached);
  expect_same_weights(load_model(file("cached.keras")), load_model(file("plain.keras")), 1e-5f);
}

TEST_F(ToolImages, FitRefuses) {
  colours(3);
  const Model model = classifier_of_pictures(3);
  model.compile({.optimizer = "sgd", .loss = "sparse_categorical_crossentropy"});
  model.save(file("m.keras"));
  const auto refused = [&](std::vector<std::string> more, const std::string& part) {
    more.insert(more.begin(), {"fit", file("m.keras"), "--output", file("out.keras")});
    const ToolRun run = this->run(more);
    EXPECT_EQ(run.status, 1) << part;
    EXPECT_NE(run.err.find(part), std::string::npos) << run.err;
    EXPECT_FALSE(std::filesystem::exists(file("out.keras")));
  };
  refused({"--data", file("photos")},
          "2 folders of classes ('blue', 'red'), the output of model 'sequential' is for 3");
  refused({"--data", file("nowhere")}, "nowhere");
  refused({"--data", file("photos"), "--input", file("x.npy")}, "either --data");
  refused({}, "--data");
  refused({"--data", file("photos"), "--preprocess", "ResNet5O"}, "did you mean");
}

}  // namespace
}  // namespace nyala
