#include <numeric>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/tests/files/hdf5/oracle.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::hdf5::testing {
namespace {

constexpr hsize_t kUnlimited = H5S_UNLIMITED;

class Reader : public ::testing::TestWithParam<Style> {
 protected:
  /// Lets `fill` write a file and compares it with libhdf5. Returns the number of datasets.
  template <class Fill>
  size_t compare(const Fill& fill, hsize_t user_block = 0) {
    {
      const Scoped file(create_file(path(), GetParam(), user_block), H5Fclose);
      fill(file);
    }
    return expect_same_as_libhdf5(path());
  }
  std::string path() const { return folder_.file("test.h5"); }

  ScratchFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(Styles, Reader, ::testing::Values(Style::old_style, Style::new_style),
                         [](const auto& parameter) {
                           return parameter.param == Style::old_style ? "Old" : "New";
                         });

TEST_P(Reader, EmptyFile) {
  EXPECT_EQ(compare([](hid_t) {}), 0u);
  EXPECT_TRUE(File::open(path()).root().names().empty());
}

TEST_P(Reader, EveryNumberTypeInBothByteOrders) {
  const std::vector<std::pair<std::string, hid_t>> types{
      {"i8", H5T_STD_I8LE},    {"i16", H5T_STD_I16LE},  {"i32", H5T_STD_I32LE}, {"i64", H5T_STD_I64LE},
      {"u8", H5T_STD_U8LE},    {"u16", H5T_STD_U16LE},  {"u32", H5T_STD_U32LE}, {"u64", H5T_STD_U64LE},
      {"f32", H5T_IEEE_F32LE}, {"f64", H5T_IEEE_F64LE}, {"I16", H5T_STD_I16BE}, {"I32", H5T_STD_I32BE},
      {"I64", H5T_STD_I64BE},  {"U16", H5T_STD_U16BE},  {"U32", H5T_STD_U32BE}, {"U64", H5T_STD_U64BE},
      {"F32", H5T_IEEE_F32BE}, {"F64", H5T_IEEE_F64BE}, {"I8", H5T_STD_I8BE},   {"U8", H5T_STD_U8BE}};
  const size_t count = compare([&](hid_t file) {
    for (const auto& [name, type] : types) {
      add_counting(file, {.name = name, .file_type = type, .sizes = {7, 3}});
      add_counting(file, {.name = name + "_packed",
                          .file_type = type,
                          .sizes = {7, 3},
                          .chunk = {2, 2},
                          .deflate = 4,
                          .shuffles = true});
    }
  });
  EXPECT_EQ(count, 2 * types.size());
  const File file = File::open(path());
  EXPECT_EQ(file.root().dataset("i8").dtype(), DType::int32);
  EXPECT_EQ(file.root().dataset("U16").dtype(), DType::int32);
  EXPECT_EQ(file.root().dataset("u32").dtype(), DType::int64);
  EXPECT_EQ(file.root().dataset("u8").dtype(), DType::uint8);
  EXPECT_EQ(file.root().dataset("F64").values<double>()[20], 20.0);
  EXPECT_TRUE(file.root().dataset("f32").view().has_value());
  EXPECT_FALSE(file.root().dataset("F32").view().has_value());
  EXPECT_FALSE(file.root().dataset("f32_packed").view().has_value());
}

TEST_P(Reader, NegativeNumbersKeepTheirSign) {
  {
    const Scoped file(create_file(path(), GetParam()), H5Fclose);
    const Scoped dataset(create_dataset(file, {.name = "x", .file_type = H5T_STD_I16BE, .sizes = {3}}),
                         H5Dclose);
    const std::vector<int> values{-32768, -1, 5};
    H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  }
  EXPECT_EQ(File::open(path()).root().dataset("x").values<int32_t>(), (std::vector<int32_t>{-32768, -1, 5}));
}

TEST_P(Reader, ScalarsEmptyArraysAndNullDatasets) {
  compare([](hid_t file) {
    add_counting(file, {.name = "scalar"});
    add_counting(file, {.name = "none", .sizes = {0}});
    add_counting(file, {.name = "none2", .sizes = {4, 0, 2}});
    add_counting(file, {.name = "eight", .sizes = {1, 2, 1, 2, 1, 2, 1, 2}});
    add_counting(file,
                 {.name = "chunked_none", .sizes = {0, 4}, .max_sizes = {kUnlimited, 4}, .chunk = {2, 2}});
  });
  {
    const Scoped file(H5Fopen(path().c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
    const Scoped space(H5Screate(H5S_NULL), H5Sclose);
    const Scoped dataset(
        H5Dcreate2(file, "null", H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose);
  }
  const File file = File::open(path());
  EXPECT_EQ(file.root().dataset("scalar").shape(), Shape({}));
  EXPECT_EQ(file.root().dataset("null").shape(), Shape({0}));
  EXPECT_TRUE(file.root().dataset("null").values<float>().empty());
}

TEST_P(Reader, CompactAndUnallocatedData) {
  compare([](hid_t file) {
    add_counting(file, {.name = "compact", .sizes = {5, 5}, .is_compact = true});
    const Scoped unwritten(create_dataset(file, {.name = "unwritten", .sizes = {4, 4}}), H5Dclose);
    const Scoped chunks(
        create_dataset(file, {.name = "chunks", .sizes = {4, 4}, .chunk = {2, 3}, .deflate = 1}), H5Dclose);
    const Scoped creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    const double fill = 2.5;
    H5Pset_fill_value(creation, H5T_NATIVE_DOUBLE, &fill);
    const hsize_t sizes[] = {3};
    const Scoped space(H5Screate_simple(1, sizes, nullptr), H5Sclose);
    const Scoped filled(H5Dcreate2(file, "filled", H5T_IEEE_F64BE, space, H5P_DEFAULT, creation, H5P_DEFAULT),
                        H5Dclose);
  });
  EXPECT_EQ(File::open(path()).root().dataset("filled").values<double>(),
            (std::vector<double>{2.5, 2.5, 2.5}));
  EXPECT_EQ(File::open(path()).root().dataset("unwritten").values<float>(), std::vector<float>(16, 0.f));
}

TEST_P(Reader, EveryFilterCombination) {
  const size_t count = compare([](hid_t file) {
    for (int mask = 0; mask < 8; ++mask) {
      DatasetPlan plan{.name = "f" + std::to_string(mask),
                       .file_type = H5T_IEEE_F64LE,
                       .sizes = {37, 11},
                       .chunk = {8, 5}};
      plan.deflate = (mask & 1) != 0 ? 6 : 0;
      plan.shuffles = (mask & 2) != 0;
      plan.has_fletcher32 = (mask & 4) != 0;
      add_counting(file, plan);
      plan.name += "_bytes";
      plan.file_type = H5T_STD_U8LE;
      plan.chunk = {7, 11};  // an odd number of bytes for fletcher32
      add_counting(file, plan);
    }
  });
  EXPECT_EQ(count, 16u);
}

TEST_P(Reader, EveryChunkIndex) {
  compare([](hid_t file) {
    const auto add = [&](const DatasetPlan& plan) {
      add_counting(file, plan);
      DatasetPlan packed = plan;
      packed.name += "_packed";
      packed.deflate = 3;
      add_counting(file, packed);
    };
    add({.name = "single", .sizes = {6, 7}, .chunk = {6, 7}});
    add({.name = "implicit", .sizes = {9, 7}, .chunk = {2, 3}, .allocates_early = true});
    add({.name = "implicit_room",
         .sizes = {5, 7},
         .max_sizes = {9, 12},
         .chunk = {2, 3},
         .allocates_early = true});
    add({.name = "fixed", .sizes = {9, 7, 5}, .chunk = {2, 3, 2}});
    add({.name = "fixed_room", .sizes = {5, 7}, .max_sizes = {20, 30}, .chunk = {2, 3}});
    add({.name = "fixed_pages", .file_type = H5T_STD_U8LE, .sizes = {3000}, .chunk = {1}});
    add({.name = "extensible", .sizes = {200, 7}, .max_sizes = {kUnlimited, 9}, .chunk = {2, 3}});
    add({.name = "extensible_second",
         .sizes = {5, 100, 3},
         .max_sizes = {8, kUnlimited, 4},
         .chunk = {2, 3, 2}});
    add({.name = "extensible_long",
         .file_type = H5T_STD_U8LE,
         .sizes = {5000},
         .max_sizes = {kUnlimited},
         .chunk = {1}});
    add({.name = "tree", .sizes = {40, 50}, .max_sizes = {kUnlimited, kUnlimited}, .chunk = {3, 2}});
    add({.name = "larger_than_data", .sizes = {2, 3}, .max_sizes = {kUnlimited, 3}, .chunk = {16, 3}});
  });
}

TEST_P(Reader, SparseChunksAreFilled) {
  compare([](hid_t file) {
    const Scoped dataset(
        create_dataset(file, {.name = "x", .sizes = {100000}, .max_sizes = {kUnlimited}, .chunk = {1}}),
        H5Dclose);
    const hsize_t start[] = {77777}, count[] = {3};
    const Scoped memory(H5Screate_simple(1, count, nullptr), H5Sclose);
    const Scoped space(H5Dget_space(dataset), H5Sclose);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, nullptr, count, nullptr);
    const float values[] = {1, 2, 3};
    H5Dwrite(dataset, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, values);
  });
}

TEST_P(Reader, UnfilteredEdgeChunks) {
  compare([](hid_t file) {
    const Scoped creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    const hsize_t sizes[] = {7, 5}, chunk[] = {4, 2};
    H5Pset_chunk(creation, 2, chunk);
    H5Pset_deflate(creation, 5);
    H5Pset_chunk_opts(creation, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS);
    const Scoped space(H5Screate_simple(2, sizes, nullptr), H5Sclose);
    const Scoped dataset(H5Dcreate2(file, "x", H5T_STD_I32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT),
                         H5Dclose);
    write_counting(dataset);
  });
}

TEST_P(Reader, ManyLinksInAGroup) {
  const size_t count = compare([](hid_t file) {
    for (int i = 0; i < 1500; ++i)
      add_counting(file, {.name = "group/dataset_number_" + std::to_string(i), .sizes = {2}});
    for (int i = 0; i < 6; ++i) add_counting(file, {.name = "small/" + std::to_string(i), .sizes = {2}});
  });
  EXPECT_EQ(count, 1506u);
}

TEST_P(Reader, ManyAndLongAttributes) {
  compare([](hid_t file) {
    const Scoped group(H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
    for (int i = 0; i < 500; ++i)
      add_text(group, "attribute " + std::to_string(i), "value \xc3\xa4 " + std::to_string(i * i));
    add_text(group, "long", std::string(200000, 'x'));
    add_text(group, "empty", "");
    const hsize_t sizes[] = {4000};
    const Scoped space(H5Screate_simple(1, sizes, nullptr), H5Sclose);
    std::vector<double> numbers(4000);
    std::iota(numbers.begin(), numbers.end(), -3.5);
    const Scoped attribute(H5Acreate2(group, "numbers", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT),
                           H5Aclose);
    H5Awrite(attribute, H5T_NATIVE_DOUBLE, numbers.data());
  });
}

TEST(ReaderNewStyle, HugeAttributesInDenseStorage) {
  const ScratchFolder folder;
  {
    const Scoped file(create_file(folder.file("x.h5"), Style::new_style), H5Fclose);
    const Scoped group(H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
    for (int i = 0; i < 3; ++i) {
      const hsize_t sizes[] = {20000 + static_cast<hsize_t>(i)};
      const Scoped space(H5Screate_simple(1, sizes, nullptr), H5Sclose);
      std::vector<double> numbers(sizes[0], i + 0.25);
      const std::string name = "huge" + std::to_string(i);
      const Scoped attribute(H5Acreate2(group, name.c_str(), H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT),
                             H5Aclose);
      H5Awrite(attribute, H5T_NATIVE_DOUBLE, numbers.data());
    }
  }
  expect_same_as_libhdf5(folder.file("x.h5"));
  EXPECT_EQ(File::open(folder.file("x.h5")).root().group("g").attributes().get("huge2").numbers().size(),
            20002u);
}

TEST_P(Reader, StringsOfEveryPaddingAndLength) {
  compare([](hid_t file) {
    const char* cells = "ab\0\0 c  dddd\0\0\0\0";
    for (const H5T_str_t padding : {H5T_STR_NULLTERM, H5T_STR_NULLPAD, H5T_STR_SPACEPAD}) {
      const Scoped type(H5Tcopy(H5T_C_S1), H5Tclose);
      H5Tset_size(type, 4);
      H5Tset_strpad(type, padding);
      const std::string name = "fixed" + std::to_string(padding);
      const Scoped dataset(create_dataset(file, {.name = name, .file_type = type, .sizes = {4}}), H5Dclose);
      H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, cells);
    }
    const Scoped type(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(type, H5T_VARIABLE);
    const std::string big(70000, 'q');
    const std::vector<const char*> texts{"one", "", "three \xe2\x82\xac", big.c_str(), "five", "six"};
    for (const std::vector<hsize_t>& chunk : {std::vector<hsize_t>{}, std::vector<hsize_t>{2, 2}}) {
      const std::string name = chunk.empty() ? "variable" : "variable_chunked";
      const Scoped dataset(
          create_dataset(file, {.name = name, .file_type = type, .sizes = {2, 3}, .chunk = chunk}), H5Dclose);
      H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts.data());
    }
    const Scoped unset(create_dataset(file, {.name = "unset", .file_type = type, .sizes = {3}}), H5Dclose);
  });
  EXPECT_EQ(File::open(path()).root().dataset("unset").strings(), std::vector<std::string>(3));
}

TEST_P(Reader, CommittedDatatype) {
  compare([](hid_t file) {
    const Scoped type(H5Tcopy(H5T_STD_I32BE), H5Tclose);
    H5Tcommit2(file, "named_type", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    add_counting(file, {.name = "x", .file_type = type, .sizes = {5}});
  });
  const File file = File::open(path());
  EXPECT_TRUE(file.root().has("named_type"));
  EXPECT_FALSE(file.root().has_group("named_type"));
  EXPECT_FALSE(file.root().has_dataset("named_type"));
}

TEST_P(Reader, UserBlockInFront) {
  EXPECT_EQ(compare([](hid_t file) { add_counting(file, {.name = "g/x", .sizes = {5}}); }, 1024), 1u);
}

TEST_P(Reader, DeepGroups) {
  std::string name;
  for (int i = 0; i < 100; ++i) name += "g/";
  EXPECT_EQ(compare([&](hid_t file) { add_counting(file, {.name = name + "x", .sizes = {2}}); }), 1u);
}

TEST_P(Reader, CreationOrderIsTracked) {
  compare([](hid_t file) {
    const Scoped creation(H5Pcreate(H5P_GROUP_CREATE), H5Pclose);
    H5Pset_link_creation_order(creation, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    H5Pset_attr_creation_order(creation, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    for (const int count : {3, 60}) {
      const std::string name = "g" + std::to_string(count);
      const Scoped group(H5Gcreate2(file, name.c_str(), H5P_DEFAULT, creation, H5P_DEFAULT), H5Gclose);
      for (int i = 0; i < count; ++i) {
        add_counting(group, {.name = "d" + std::to_string(i), .sizes = {1}});
        add_text(group, "a" + std::to_string(i), "v");
      }
    }
  });
}

TEST_P(Reader, PathsAndMissingNames) {
  compare([](hid_t file) { add_counting(file, {.name = "layers/dense/vars/0", .sizes = {2}}); });
  const File file = File::open(path());
  const Group layers = file.root().group("layers");
  EXPECT_EQ(layers.path(), "/layers");
  EXPECT_EQ(layers.group("dense//vars/").path(), "/layers/dense/vars");
  EXPECT_EQ(layers.group("/layers/dense").path(), "/layers/dense");
  EXPECT_EQ(layers.group("").path(), "/layers");
  EXPECT_EQ(layers.group("/").path(), "/");
  EXPECT_EQ(layers.dataset("/layers/dense/vars/0").path(), "/layers/dense/vars/0");
  EXPECT_TRUE(layers.has("dense/vars/0"));
  EXPECT_TRUE(layers.has("/layers"));
  EXPECT_TRUE(layers.has("/"));
  EXPECT_FALSE(layers.has("dense/vars/1"));
  EXPECT_FALSE(layers.has("dense/vars/0/x"));
  EXPECT_FALSE(layers.has("nothing/vars"));
  EXPECT_TRUE(layers.has_group("dense"));
  EXPECT_FALSE(layers.has_dataset("dense"));
  EXPECT_THROW(layers.group("dense/vars/0"), NotFoundError);
  EXPECT_THROW(layers.dataset("dense"), NotFoundError);
  EXPECT_THROW(layers.dataset("dense/vars/0/x"), NotFoundError);
  try {
    layers.group("dens");
    FAIL();
  } catch (const NotFoundError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'dense'"), std::string::npos) << error.what();
  }
}

TEST_P(Reader, WrongReadsAreRefused) {
  compare([](hid_t file) { add_counting(file, {.name = "x", .sizes = {2}}); });
  const Dataset dataset = File::open(path()).root().dataset("x");
  std::vector<std::byte> room(7);
  EXPECT_THROW(dataset.read(room), InvalidArgumentError);
  EXPECT_THROW(dataset.values<double>(), DTypeError);
  EXPECT_THROW(dataset.strings(), FileFormatError);
  EXPECT_THROW(dataset.attributes().get("dtype"), NotFoundError);
}

TEST_P(Reader, ReadsInsideALargerRange) {
  compare([](hid_t file) { add_counting(file, {.name = "x", .sizes = {100}}); });
  std::vector<std::byte> archive(13, std::byte{0x55});
  const std::vector<std::byte> content = read_file(path());
  archive.insert(archive.end(), content.begin(), content.end());
  archive.insert(archive.end(), 100, std::byte{0x55});
  auto owner = std::make_shared<const std::vector<std::byte>>(std::move(archive));
  const auto range = std::span(*owner).subspan(13, content.size());
  const File file = File::from_bytes(range, owner, "model.keras: model.weights.h5");
  const auto view = file.root().dataset("x").view();
  ASSERT_TRUE(view.has_value());
  EXPECT_GE(view->data(), owner->data());
  EXPECT_LE(view->data() + view->size(), owner->data() + owner->size());
  EXPECT_EQ(file.root().dataset("x").values<float>()[99], 99.f);
}

TEST(FileOpen, SystemErrorsAndForeignFiles) {
  const ScratchFolder folder;
  EXPECT_THROW(File::open(folder.file("missing.h5")), IoError);
  EXPECT_THROW(File::open(folder.path().string()), IoError);
  write_file(folder.file("empty.h5"), {});
  EXPECT_THROW(File::open(folder.file("empty.h5")), FileFormatError);
  const std::vector<std::byte> zeros(5000);
  write_file(folder.file("zeros.h5"), zeros);
  try {
    File::open(folder.file("zeros.h5"));
    FAIL();
  } catch (const FileFormatError& error) {
    EXPECT_NE(std::string(error.what()).find("zeros.h5"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("not an HDF5 file"), std::string::npos);
  }
}

TEST(FileOpen, LargeFilesStayOnTheDisk) {
  const ScratchFolder folder;
  const std::string path = folder.file("large.h5");
  {
    const Scoped file(create_file(path, Style::old_style), H5Fclose);
    add_counting(file, {.name = "x", .sizes = {FileBytes::kMaxCopied / 4 + 1000}});
  }
  const Dataset dataset = File::open(path).root().dataset("x");
  EXPECT_EQ(dataset.values<float>()[119], 119.f);
  std::filesystem::resize_file(path, 4096);
  EXPECT_FALSE(dataset.view());
  EXPECT_THROW(dataset.values<float>(), IoError);
}

}  // namespace
}  // namespace nyala::hdf5::testing
