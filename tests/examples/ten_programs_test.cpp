// The ten programs of docs/from_keras.md, shortened: each runs, learns, comes back from its file (its exit
// status says so), and prints on two devices, and all but the service in two processes, what it prints on
// one.
#include <cstdlib>
#include <regex>

#include <nyala/strategies/control/control_transport.h>
#include <nyala/tests/examples/run_example.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala {
namespace {

/// Runs of a program on one device, on two, and in two processes.
struct Runs {
  ExampleRun one, two, processes;
};

class TenPrograms : public ::testing::Test {
 protected:
  static bool has_processes() {
    return detail::grpc_is_built() && std::filesystem::exists(NYALA_BINARY_DIR "/tools/nyala");
  }
  /// In the processes of `nyala launch`.
  static ExampleRun run_over_processes(const std::string& name, const std::string& arguments) {
    return run_command("'" NYALA_BINARY_DIR "/tools/nyala' launch -n 2 -- '" + example_path(name).string() +
                       "' " + arguments);
  }
  /// In synchronous training by parameter servers, and on one device.
  void expect_the_same_by_servers(const std::string& name, const std::string& arguments,
                                  const std::string& pattern, double tolerance) const {
    const std::string all = arguments + " --devices 1 --output '" + folder_.file(name + ".keras") + "'";
    const ExampleRun one = run_example(name, all);
    const ExampleRun servers = run_command(
        "'" NYALA_BINARY_DIR "/tools/nyala' launch --ps 2 --workers 2 --chief -- '" +
        example_path(name).string() + "' " + all + " --strategy synchronous_parameter_server 2>&1");
    EXPECT_EQ(servers.status, 0) << servers.output;
    EXPECT_EQ(servers.output.find("nyala launch: "), std::string::npos) << servers.output;  // nobody was lost
    EXPECT_NEAR(number(servers.output, pattern), number(one.output, pattern), tolerance) << servers.output;
  }
  /// Runs the program on one device and on two, and in two processes.
  Runs run(const std::string& name, const std::string& arguments) const {
    Runs runs;
    runs.one = run_example(name, arguments + " --output '" + folder_.file("one.keras") + "' --devices 1");
    runs.two = run_example(name, arguments + " --output '" + folder_.file("two.keras") + "' --devices 2");
    if (has_processes())
      runs.processes = run_over_processes(
          name, arguments + " --output '" + folder_.file("processes.keras") + "' --strategy multi_worker");
    else
      runs.processes = runs.two;
    EXPECT_EQ(runs.processes.status, 0) << runs.processes.output;
    EXPECT_EQ(runs.one.status, 0) << runs.one.output;
    EXPECT_EQ(runs.two.status, 0) << runs.two.output;
    return runs;
  }
  void needs_fashion_mnist() const {
    if (!has_fashion_mnist()) GTEST_SKIP() << "Fashion-MNIST is not here (package dataset-fashion-mnist)";
  }
  /// The number, which all runs print alike.
  static double common(const Runs& runs, const std::string& pattern, double tolerance) {
    const double one = number(runs.one.output, pattern);
    EXPECT_NEAR(number(runs.two.output, pattern), one, tolerance) << runs.one.output << runs.two.output;
    EXPECT_NEAR(number(runs.processes.output, pattern), one, tolerance) << runs.processes.output;
    return one;
  }
  const std::string houses_ = "'" + std::string(NYALA_SOURCE_DIR) + "/examples/data/houses.csv'";
  const ScratchFolder folder_{"ten_programs"};
};

/// Guessing the mean of the training rows costs 74.
TEST_F(TenPrograms, CsvRegression) {
  const Runs runs = run("csv_regression", houses_ + " --epochs 30");
  EXPECT_LT(common(runs, "test mae ([0-9.]+)", 0.5), 25);
}

TEST_F(TenPrograms, KFold) {
  const Runs runs = run("k_fold", houses_ + " --epochs 15");
  const double narrow = common(runs, " 2 units: mae ([0-9.]+)", 0.5);
  const double wide = common(runs, "32 units: mae ([0-9.]+)", 0.5);
  EXPECT_LT(wide, narrow);
  EXPECT_LT(number(runs.one.output, "loaded again: mae ([0-9.]+)"), 40);
}

TEST_F(TenPrograms, Vae) {
  needs_fashion_mnist();
  if (IsSkipped()) return;
  const Runs runs = run("vae", "--rows 512 --epochs 2");
  EXPECT_LT(common(runs, "Epoch 2/2[^]*reconstruction: ([0-9.]+)", 0.1), 540);
}

TEST_F(TenPrograms, Gan) {
  needs_fashion_mnist();
  if (IsSkipped()) return;
  const Runs runs = run("gan", "--rows 384 --epochs 2");
  EXPECT_LT(common(runs, "Epoch 2/2[^]*discriminator_loss: ([0-9.]+)", 1e-3), 1.35);
}

TEST_F(TenPrograms, UNet) {
  const Runs runs = run("unet_shapes", "--pictures 128 --epochs 4");
  EXPECT_GT(number(runs.one.output, "Epoch 4/4[^]* accuracy: ([0-9.]+)"), 0.65) << runs.one.output;
  common(runs, "Epoch 2/4[^]* loss: ([0-9.]+)", 0.02);
}

TEST_F(TenPrograms, TransferLearningWithGradCam) {
  needs_data({{"weights", "derived_mobilenet_v2_0.35_128_imagenet_notop.h5"},
              {"cifar10", "lossless_train_4053.bin.gz"},
              {"imagenet/photos", "cat_720p.jpg"}});
  if (IsSkipped()) return;
  const Runs runs = run("transfer_grad_cam", "--rows 512 --epochs 4");
  EXPECT_GT(common(runs, "Epoch 4/4[^]*val_accuracy: ([0-9.]+)", 0.03), 0.5);
  EXPECT_NE(runs.one.output.find("cat, because of"), std::string::npos) << runs.one.output;
}

TEST_F(TenPrograms, TextClassification) {
  needs_data({{"text", "tinyshakespeare.txt"}, {"text", "republic_clean.txt"}});
  if (IsSkipped()) return;
  const std::string folder = std::getenv("NYALA_DATA_DIR");
  const Runs runs = run("text_classification", "'" + folder + "/text/tinyshakespeare.txt' '" + folder +
                                                   "/text/republic_clean.txt' --lines 2000 --epochs 2");
  EXPECT_GT(common(runs, "test accuracy ([0-9.]+)", 0.02), 0.75);
}

TEST_F(TenPrograms, OwnLayersAndLosses) {
  const Runs runs = run("own_layers_and_losses", "--epochs 10");
  EXPECT_LT(common(runs, " to ([0-9.]+), below", 0.02), 12);
  EXPECT_LT(common(runs, "goes on: loss ([0-9.]+)", 0.02), 12);
}

TEST_F(TenPrograms, OwnTrainingLoop) {
  needs_fashion_mnist();
  if (IsSkipped()) return;
  const Runs runs = run("own_training_loop", "--rows 1280 --epochs 2");
  EXPECT_GT(common(runs, "epoch 2: .* test accuracy ([0-9.]+)", 0.01), 0.5);
}

/// The others are like these.
TEST_F(TenPrograms, TrainByParameterServers) {
  if (!has_processes()) GTEST_SKIP() << "this build has no gRPC or no nyala command";
  expect_the_same_by_servers("own_layers_and_losses", "--epochs 10", "goes on: loss ([0-9.]+)", 0.02);
  expect_the_same_by_servers("unet_shapes", "--pictures 64 --epochs 2", "Epoch 2/2[^]* loss: ([0-9.]+)",
                             0.02);
  if (!has_fashion_mnist()) return;
  expect_the_same_by_servers("vae", "--rows 256 --epochs 1", "reconstruction: ([0-9.]+)", 0.1);
  expect_the_same_by_servers("own_training_loop", "--rows 1280 --epochs 2",
                             "epoch 2: .* test accuracy ([0-9.]+)", 0.01);
  expect_the_same_by_servers("gan", "--rows 384 --epochs 2", "Epoch 2/2[^]*discriminator_loss: ([0-9.]+)",
                             1e-3);
}

/// Not in two processes: its threads would ask in another order in each.
TEST_F(TenPrograms, InferenceService) {
  for (const char* devices : {"1", "2"}) {
    const ExampleRun run =
        run_example("inference_service", std::string("--requests 20 --devices ") + devices);
    EXPECT_EQ(run.status, 0) << run.output;
    EXPECT_EQ(number(run.output, "([0-9]+) requests"), 80);
    EXPECT_EQ(number(run.output, "([0-9]+) wrong"), 0);
  }
}

}  // namespace
}  // namespace nyala
