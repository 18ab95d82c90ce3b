#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <thread>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/files/hdf5/base/limits.h>
#include <nyala/files/hdf5/writer.h>
#include <nyala/tests/files/hdf5/oracle.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::hdf5::testing {
namespace {

template <class T>
void add(Writer& writer, const std::string& path, const Shape& shape, const std::vector<T>& values) {
  writer.write_dataset(path, shape, std::span<const T>(values));
}

/// One dataset of every dtype, groups and attributes.
void fill_everything(Writer& writer) {
  add<float>(writer, "/layers/dense/vars/0", {2, 3},
             {1.5f, -2, 3, 4, 5, std::numeric_limits<float>::infinity()});
  add<double>(writer, "f64", {2}, {1e300, -0.0});
  add<int32_t>(writer, "i32", {}, {-7});
  add<int64_t>(writer, "i64", {1, 1, 1, 1, 1, 1, 1, 2}, {INT64_MIN, INT64_MAX});
  add<uint8_t>(writer, "u8", {3}, {0, 128, 255});
  add<float16>(writer, "f16", {2}, {float16(0.5f), float16(-65504.f)});
  add<bfloat16>(writer, "bf16", {2}, {bfloat16(1.f), bfloat16(-3e38f)});
  const std::array<bool, 3> bits{true, false, true};
  writer.write_dataset("bits", {3}, std::span<const bool>(bits));
  add<float>(writer, "none", {0, 4}, {});
  writer.create_group("/layers/dropout/vars");
  writer.create_group("layers/dropout");
  writer.set_attribute("layers/dense/vars", "name", "dense \xc3\xa4\xe2\x82\xac");
  writer.set_attribute("/", "model_config", std::string(300000, '{'));
  writer.set_attribute("/", "empty", "");
  writer.set_attribute("/", "layer_names", {"dense", "", "a longer name"}, StringStorage::fixed);
  writer.set_attribute("/", "weight_names", {"dense/kernel:0", "", "\xc3\xa4"}, StringStorage::variable);
  writer.set_attribute("/", "no_names", {}, StringStorage::fixed);
  writer.set_attribute("f64", "note", "old");
  writer.set_attribute("f64", "note", "new");
}

TEST(Writer, EveryDtypeComesBackAndLibhdf5Agrees) {
  const ScratchFolder folder;
  Writer writer;
  fill_everything(writer);
  writer.save(folder.file("x.h5"));
  EXPECT_EQ(expect_same_as_libhdf5(folder.file("x.h5")), 9u);

  const Group root = File::open(folder.file("x.h5")).root();
  EXPECT_EQ(root.dataset("layers/dense/vars/0").values<float>()[5], std::numeric_limits<float>::infinity());
  EXPECT_EQ(root.dataset("layers/dense/vars/0").shape(), Shape({2, 3}));
  EXPECT_EQ(root.dataset("i64").values<int64_t>(), (std::vector<int64_t>{INT64_MIN, INT64_MAX}));
  EXPECT_EQ(root.dataset("i32").shape(), Shape({}));
  EXPECT_EQ(static_cast<float>(root.dataset("f16").values<float16>()[1]), -65504.f);
  EXPECT_EQ(root.dataset("bf16").dtype(), DType::bfloat16);
  EXPECT_EQ(root.dataset("bf16").values<bfloat16>()[1].bits, bfloat16(-3e38f).bits);
  EXPECT_EQ(root.dataset("bits").dtype(), DType::bool_);
  std::array<std::byte, 3> bits;
  root.dataset("bits").read(bits);
  EXPECT_EQ(bits, (std::array{std::byte{1}, std::byte{0}, std::byte{1}}));
  EXPECT_TRUE(root.dataset("none").values<float>().empty());
  EXPECT_TRUE(root.group("layers/dropout/vars").names().empty());
  EXPECT_EQ(root.attributes().string("model_config").size(), 300000u);
  EXPECT_EQ(root.attributes().string("empty"), "");
  EXPECT_EQ(root.attributes().strings("layer_names"),
            (std::vector<std::string>{"dense", "", "a longer name"}));
  EXPECT_EQ(root.attributes().strings("weight_names"),
            (std::vector<std::string>{"dense/kernel:0", "", "\xc3\xa4"}));
  EXPECT_TRUE(root.attributes().strings("no_names").empty());
  EXPECT_EQ(root.attributes().get("no_names").shape(), Shape({0}));
  EXPECT_EQ(root.dataset("f64").attributes().string("note"), "new");
  EXPECT_EQ(root.group("layers/dense/vars").attributes().string("name"), "dense \xc3\xa4\xe2\x82\xac");
}

TEST(Writer, FilesLookLikeThoseOfKeras) {
  Writer writer;
  fill_everything(writer);
  const FileImage image = writer.finish();
  EXPECT_EQ(std::to_integer<int>(image.bytes[8]), 0) << "superblock version";
  const File file = File::from_bytes(image.bytes, image.owner, "image");
  const auto view = file.root().dataset("layers/dense/vars/0").view();
  ASSERT_TRUE(view.has_value()) << "contiguous, not filtered, native";
  EXPECT_GE(view->data(), image.bytes.data());
}

TEST(Writer, EqualContentGivesEqualBytes) {
  Writer one, two;
  fill_everything(one);
  fill_everything(two);
  const FileImage first = one.finish(), second = two.finish();
  EXPECT_TRUE(std::equal(first.bytes.begin(), first.bytes.end(), second.bytes.begin(), second.bytes.end()));
}

TEST(Writer, ManyDatasetsAndAnEmptyFile) {
  const ScratchFolder folder;
  Writer empty;
  empty.save(folder.file("empty.h5"));
  EXPECT_EQ(expect_same_as_libhdf5(folder.file("empty.h5")), 0u);

  Writer writer;
  for (int i = 0; i < 3000; ++i)
    add<float>(writer, "optimizer/vars/" + std::to_string(i), {2}, {static_cast<float>(i), 1.f});
  writer.save(folder.file("many.h5"));
  const File file = File::open(folder.file("many.h5"));
  EXPECT_EQ(file.root().group("optimizer/vars").names().size(), 3000u);
  for (int i = 0; i < 3000; ++i)
    ASSERT_EQ(file.root().dataset("/optimizer/vars/" + std::to_string(i)).values<float>()[0],
              static_cast<float>(i));
}

TEST(Writer, LargeDatasets) {
  const ScratchFolder folder;
  std::vector<float> values(9'000'000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 65521);
  Writer writer;
  add(writer, "a", {9000, 1000}, values);
  add(writer, "b", {9'000'000}, values);
  writer.save(folder.file("large.h5"));
  const File file = File::open(folder.file("large.h5"));
  EXPECT_EQ(file.root().dataset("a").values<float>(), values);
  EXPECT_EQ(file.root().dataset("b").values<float>(), values);
  EXPECT_GE(H5Fis_hdf5(folder.file("large.h5").c_str()), 1);
}

TEST(Writer, MisuseIsRefused) {
  Writer writer;
  add<float>(writer, "x", {2}, {1, 2});
  const std::vector<float> three(3);
  const auto write = [&](const std::string& path, const Shape& shape) {
    writer.write_dataset(path, shape, std::span<const float>(three));
  };
  EXPECT_THROW(write("x", {3}), InvalidArgumentError) << "exists";
  EXPECT_THROW(write("y", {4}), InvalidArgumentError) << "size";
  EXPECT_THROW(write("y", {None}), InvalidArgumentError) << "unknown size";
  EXPECT_THROW(write("x/y", {3}), InvalidArgumentError) << "below a dataset";
  EXPECT_THROW(write("/", {3}), InvalidArgumentError) << "the root";
  EXPECT_THROW(write("a/./b", {3}), InvalidArgumentError);
  EXPECT_THROW(write(std::string("a\0b", 3), {3}), InvalidArgumentError);
  EXPECT_THROW(writer.create_group("x"), InvalidArgumentError);
  EXPECT_THROW(writer.set_attribute("missing", "a", "b"), InvalidArgumentError);
  EXPECT_THROW(writer.set_attribute("x", "", "b"), InvalidArgumentError);
  EXPECT_THROW(writer.set_attribute("x", "a", std::string_view("b\0c", 3)), InvalidArgumentError);
  const std::vector<std::string> long_names(1000, std::string(100, 'n'));
  EXPECT_THROW(writer.set_attribute("x", "a", long_names, StringStorage::fixed), InvalidArgumentError);
  writer.set_attribute("x", "a", long_names, StringStorage::variable);

  const FileImage image = writer.finish();
  EXPECT_EQ(File::from_bytes(image.bytes, image.owner, "x").root().names(), (std::vector<std::string>{"x"}));
  EXPECT_THROW(writer.finish(), StateError);
  EXPECT_THROW(writer.create_group("g"), StateError);
}

TEST(Writer, FailedSavesNameThePathAndLeaveNothing) {
  const ScratchFolder folder;
  Writer writer;
  fill_everything(writer);
  const std::string path = folder.file("missing/x.h5");
  try {
    writer.save(path);
    FAIL();
  } catch (const IoError& error) {
    EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

/// What is written can be read: no group lies deeper than readers follow.
TEST(Writer, GroupsAreAsDeepAsTheyAreRead) {
  std::string path;
  for (size_t i = 0; i < kMaxDepth; ++i) path += "/g";
  Writer writer;
  add<float>(writer, path + "/x", {1}, {3});
  EXPECT_THROW(writer.create_group(path + "/g"), InvalidArgumentError);
  EXPECT_THROW(add<float>(writer, path + "/g/x", {1}, {3}), InvalidArgumentError);
  const FileImage image = writer.finish();
  const File file = File::from_bytes(image.bytes, image.owner, "deep");
  EXPECT_EQ(file.root().dataset(path + "/x").values<float>(), std::vector<float>{3});
  EXPECT_EQ(file.root().dataset_paths(), std::vector<std::string>{path + "/x"});
}

TEST(Writer, ThreadsMayWriteAtOnce) {
  const ScratchFolder folder;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 5; ++round) {
        Writer writer;
        fill_everything(writer);
        writer.save(folder.file(std::to_string(t) + ".h5"));
        read_everything(File::open(folder.file(std::to_string(t) + ".h5")));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < 4; ++t) EXPECT_EQ(expect_same_as_libhdf5(folder.file(std::to_string(t) + ".h5")), 9u);
}

}  // namespace
}  // namespace nyala::hdf5::testing
