#include <fstream>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/datasets/image/decode_image.h>
#include <nyala/datasets/image/image_files.h>
#include <nyala/datasets/io/byte_reader.h>
#include <nyala/datasets/io/file_digest.h>
#include <nyala/datasets/load_csv.h>
#include <nyala/tests/datasets/test_files.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LoadCsvTest : public ::testing::Test {
 protected:
  std::string file(const std::string& text) const {
    const std::string path = (folder_ / "table.csv").string();
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  template <class Error>
  std::string error(const std::string& text, const LoadCsvConfig& config = {}) const {
    try {
      load_csv(file(text), config);
    } catch (const Error& received) {
      return received.what();
    }
    ADD_FAILURE() << "no error of this type";
    return "";
  }
  const ScratchFolder folder_;
};

// As NumPy's.
TEST_F(LoadCsvTest, NumbersBeyondADoubleAreInfinityOrZero) {
  const Tensor read = load_csv(file("1e400,-1e400,1e-400\n-1e-400,4.9e-324,1e39\n"), {.dtype = "float64"});
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_THAT(read.to_vector<double>(), ElementsAre(inf, -inf, 0.0, 0.0, 4.9e-324, 1e39));
}

TEST_F(LoadCsvTest, AByteOrderMarkIsPassedOver) {
  EXPECT_THAT(load_csv(file("\xEF\xBB\xBF"
                            "1,2\n"))
                  .to_vector<float>(),
              ElementsAre(1, 2));
  EXPECT_THAT(load_csv(file("\xEF\xBB\xBF"
                            "a,b\n1,2\n"),
                       {.skip_rows = 1})
                  .to_vector<float>(),
              ElementsAre(1, 2));
  EXPECT_THAT(error<FileFormatError>("1,2\n\xEF\xBB\xBF"
                                     "3,4\n"),
              HasSubstr("line 2"));
  EXPECT_THAT(error<InvalidArgumentError>("1\n", {.skip_rows = -1}), HasSubstr("at least 0, received -1"));
}

TEST_F(LoadCsvTest, RowsAreLinesAndColumnsAreFields) {
  const Tensor table = load_csv(file("a,b,c\n1, 2.5,-3\r\n\n+4,5e-1,6"), {.skip_rows = 1});
  EXPECT_EQ(table.shape(), (Shape{2, 3}));
  EXPECT_THAT(table.to_vector<float>(), ElementsAre(1, 2.5f, -3, 4, 0.5f, 6));
}

TEST_F(LoadCsvTest, ChosenColumnsComeInTheirOrderAndOthersMayBeText) {
  const Tensor table =
      load_csv(file("M;0.1;2\nF;0.3;4\n"), {.delimiter = ';', .columns = {2, 1}, .dtype = "float64"});
  EXPECT_THAT(table.to_vector<double>(), ElementsAre(2, 0.1, 4, 0.3));
}

TEST_F(LoadCsvTest, AnEmptyFileHasNoRows) { EXPECT_EQ(load_csv(file("")).shape(), (Shape{0, 0})); }

TEST_F(LoadCsvTest, APathIsNotCutAtANulByte) {
  const std::string cut = file("1,2\n") + std::string("\0.csv", 5);
  expect_error<InvalidArgumentError>([&] { load_csv(cut); }, {"NUL byte"});
  expect_error<InvalidArgumentError>([&] { datasets::ByteReader reader(cut); }, {"NUL byte"});
  expect_error<InvalidArgumentError>([&] { datasets::md5_of_file(cut); }, {"NUL byte"});
  expect_error<InvalidArgumentError>([&] { decode_image_file(cut, {}); }, {"NUL byte"});
  expect_error<InvalidArgumentError>([&] { class_folders(folder_.path().string() + std::string("\0", 1)); },
                                     {"NUL byte"});
}

TEST_F(LoadCsvTest, ErrorsNameLineAndColumn) {
  EXPECT_THAT(error<FileFormatError>("1,2\n3,four\n"),
              AllOf(HasSubstr("table.csv, line 2"), HasSubstr("column 1"), HasSubstr("'four'")));
  EXPECT_THAT(error<FileFormatError>("1,2\n3\n"), AllOf(HasSubstr("line 2"), HasSubstr("2 fields")));
  EXPECT_THAT(error<FileFormatError>("1,\n"), HasSubstr("column 1"));
  EXPECT_THAT(error<InvalidArgumentError>("1,2\n", {.columns = {2}}), HasSubstr("received 2"));
  EXPECT_THAT(error<InvalidArgumentError>("1,2\n", {.dtype = "float23"}), HasSubstr("float32"));
  EXPECT_THROW(load_csv((folder_ / "none.csv").string()), IoError);
  EXPECT_THROW(load_csv("/dev/zero"), IoError);
}

}  // namespace
}  // namespace nyala
