// .npy of either byte order, in rows and in columns.
#include <cstring>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include <nyala/api/saving/arrays/numpy.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala {
namespace {

/// Version 1 of the format, (2, 3), the values 0 to 5 (1 for booleans but the first) of type T.
template <class T>
std::string npy(const std::string& type, bool big_endian, bool columns) {
  std::string header =
      "{'descr': '" + type + "', 'fortran_order': " + (columns ? "True" : "False") + ", 'shape': (2, 3), }";
  header.resize(118, ' ');
  std::string file = std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header;
  for (int i = 0; i < 6; ++i) {
    const int place = columns ? (i % 2) * 3 + i / 2 : i;
    const T value = static_cast<T>(std::is_same_v<T, bool> ? place > 0 : place);
    std::string bytes(reinterpret_cast<const char*>(&value), sizeof value);
    if (big_endian) bytes.assign(bytes.rbegin(), bytes.rend());
    file += bytes;
  }
  return file;
}

class NumpyOrders : public testing::Test {
 protected:
  template <class T>
  void expect_read(const std::string& type) {
    for (const char order : {'<', '>'})
      for (const bool columns : {false, true}) {
        const std::string path = folder_.file("a.npy");
        std::ofstream(path, std::ios::binary) << npy<T>(order + type, order == '>', columns);
        const Tensor read = load_npy(path);
        EXPECT_EQ(read.shape(), (Shape{2, 3}));
        const std::vector<double> expected = std::is_same_v<T, bool> ? std::vector<double>{0, 1, 1, 1, 1, 1}
                                                                     : std::vector<double>{0, 1, 2, 3, 4, 5};
        EXPECT_EQ(ops::cast(read, DType::float64).to_vector<double>(), expected) << order << type << columns;
      }
  }
  ScratchFolder folder_{"numpy_orders"};
};

TEST_F(NumpyOrders, EveryDtype) {
  expect_read<float>("f4");
  expect_read<double>("f8");
  expect_read<int8_t>("i1");
  expect_read<int16_t>("i2");
  expect_read<int32_t>("i4");
  expect_read<int64_t>("i8");
  expect_read<uint8_t>("u1");
  expect_read<uint16_t>("u2");
  expect_read<uint32_t>("u4");
  expect_read<uint64_t>("u8");
  expect_read<bool>("b1");
}

TEST_F(NumpyOrders, OtherTypesAreNamed) {
  const std::string path = folder_.file("a.npy");
  std::ofstream(path, std::ios::binary) << npy<double>(">c8", true, false);
  try {
    load_npy(path);
    FAIL() << "nothing was thrown";
  } catch (const FileFormatError& error) {
    EXPECT_NE(std::string(error.what()).find("elements of type '>c8' are not read"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace nyala
