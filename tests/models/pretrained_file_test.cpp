// Where published files are looked for, and what happens when they are not there or not what was published.
#include <nyala/models/pretrained_file.h>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/datasets/io/file_digest.h>
#include <nyala/datasets/io/md5.h>
#include <nyala/models/decode_predictions.h>
#include <nyala/models/mobilenet_v2.h>
#include <nyala/models/resnet.h>
#include <nyala/tests/datasets/io/tiny_http_server.h>
#include <nyala/tests/models/shape_only_variables.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::applications {
namespace {

using datasets::Bytes;
using datasets::TinyHttpServer;

std::string md5_of(const std::string& text) {
  datasets::Md5 hash;
  hash.update({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  return hash.finish();
}

// RFC 1321, appendix A.5.
TEST(Md5, IsThatOfTheStandard) {
  EXPECT_EQ(md5_of(""), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(md5_of("abc"), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(md5_of("12345678901234567890123456789012345678901234567890123456789012345678901234567890"),
            "57edf4a22be3c955ac49da2e2107b67a");
  EXPECT_EQ(md5_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"),
            "d174ab98d277d9f5a5611c2c9f419d9f");
}

class PretrainedFiles : public testing::Test {
 protected:
  void SetUp() override { datasets::write_file(home_models_ / "there.h5", content_); }

  ScratchFolder folder_;
  std::filesystem::path models_ = folder_ / "nyala/models", home_models_ = folder_ / ".keras/models";
  datasets::ScopedEnvironment home_{"HOME", folder_.path().c_str()};
  datasets::ScopedEnvironment nyala_home_{"NYALA_HOME", (folder_ / "nyala").c_str()};
  datasets::ScopedEnvironment no_proxy_{"no_proxy", "127.0.0.1"};
  Bytes content_ = datasets::noise(5000);
  std::string md5_ = [&] {
    datasets::Md5 hash;
    hash.update(content_);
    return hash.finish();
  }();
};

TEST_F(PretrainedFiles, LieInNyalasFolderOrInThatOfKeras) {
  EXPECT_EQ(pretrained_folders(), (std::vector<std::filesystem::path>{models_, folder_ / ".keras/models"}));
  EXPECT_EQ(find_pretrained({.name = "there.h5", .url = "http://127.0.0.1:1/there.h5", .hash = md5_}),
            home_models_ / "there.h5");
  datasets::write_file(models_ / "there.h5", content_);
  EXPECT_EQ(find_pretrained({.name = "there.h5", .url = "http://127.0.0.1:1/there.h5"}),
            models_ / "there.h5");
  const datasets::ScopedEnvironment unset("NYALA_HOME", "");
  EXPECT_EQ(pretrained_folders()[0], folder_ / ".nyala/models");
}

TEST_F(PretrainedFiles, OfOtherBytesAreRefused) {
  const std::string other(32, '0');
  try {
    find_pretrained({.name = "there.h5", .url = "http://127.0.0.1:1/there.h5", .hash = other});
    FAIL() << "nothing was thrown";
  } catch (const FileFormatError& error) {
    for (const std::string& part : {other, md5_, (home_models_ / "there.h5").string()})
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST_F(PretrainedFiles, AreDownloadedAndChecked) {
  TinyHttpServer server({.content = content_});
  const PretrainedFile file = {.name = "far.h5", .url = server.url(), .hash = md5_};
  EXPECT_EQ(find_pretrained(file), models_ / "far.h5");
  EXPECT_EQ(datasets::read_file(models_ / "far.h5"), content_);
  find_pretrained(file);
  EXPECT_EQ(server.requests(), 1);
  EXPECT_EQ(find_pretrained({.name = "unchecked.h5", .url = server.url()}), models_ / "unchecked.h5");
  EXPECT_THROW(find_pretrained({.name = "bad.h5", .url = server.url(), .hash = std::string(32, '1')}),
               FileFormatError);
  EXPECT_FALSE(std::filesystem::exists(models_ / "bad.h5"));
}

TEST_F(PretrainedFiles, ThatAreNotToBeHadNameWhatToDo) {
  try {
    find_pretrained({.name = "far.h5", .url = "http://127.0.0.1:1/far.h5", .hash = md5_});
    FAIL() << "nothing was thrown";
  } catch (const IoError& error) {
    for (const std::string& part : {std::string("http://127.0.0.1:1/far.h5"), std::string("'far.h5'"),
                                    models_.string(), home_models_.string()})
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

/// The file that an architecture asks for: another one of its name lies there, which the error quotes.
std::string wanted(const std::filesystem::path& folder, const std::string& name,
                   const std::function<void()>& make) {
  datasets::write_file(folder / name, {1, 2, 3});
  try {
    make();
  } catch (const FileFormatError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST_F(PretrainedFiles, OfArchitecturesAreThoseOfKeras) {
  const ShapeOnlyVariables no_memory;
  const std::string with_top =
      wanted(models_, "resnet50_weights_tf_dim_ordering_tf_kernels.h5", [] { ResNet50(); });
  EXPECT_NE(with_top.find("2cb95161c43110f7111970584f804107"), std::string::npos) << with_top;
  const std::string without = wanted(models_, "resnet50v2_weights_tf_dim_ordering_tf_kernels_notop.h5",
                                     [] { ResNet50V2({.include_top = false}); });
  EXPECT_NE(without.find("fac2f116257151a9d068a22e544a4917"), std::string::npos) << without;
  // Without a published hash the file is read, which these bytes are not meant for.
  const std::string unchecked =
      wanted(models_, "mobilenet_v2_weights_tf_dim_ordering_tf_kernels_0.35_128_no_top.h5", [] {
        MobileNetV2({.input_shape = {128, 128, 3}, .alpha = 0.35, .include_top = false});
      });
  EXPECT_NE(unchecked.find("0.35_128_no_top.h5"), std::string::npos) << unchecked;
}

TEST_F(PretrainedFiles, OfClassNames) {
  datasets::write_file(models_ / "imagenet_class_index.json", {'{', '}'});
  EXPECT_THROW(decode_predictions(Tensor::zeros({1, 1000})), FileFormatError);
  EXPECT_THROW(decode_predictions(Tensor::zeros({1, 999})), ShapeError);
  EXPECT_THROW(decode_predictions(Tensor::zeros({1, 1000}), 0), InvalidArgumentError);
}

}  // namespace
}  // namespace nyala::applications
