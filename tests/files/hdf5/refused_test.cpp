#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/tests/files/hdf5/oracle.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::hdf5::testing {
namespace {

/// What libhdf5 can write and Nyala does not read: each is refused by name, and disturbs nothing else in the
/// file.
class Refused : public ::testing::TestWithParam<Style> {
 protected:
  template <class Fill>
  File make(const Fill& fill) {
    {
      const Scoped file(create_file(path(), GetParam()), H5Fclose);
      add_counting(file, {.name = "fine", .sizes = {2}});
      fill(file);
    }
    return File::open(path());
  }
  std::string path() const { return folder_.file("test.h5"); }

  /// `action` throws FileFormatError that names the file, the object and `reason`.
  template <class Action>
  void expect_refused(const Action& action, const std::string& object, const std::string& reason) {
    try {
      action();
      ADD_FAILURE() << "nothing was thrown; expected: " << reason;
    } catch (const FileFormatError& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find(path()), std::string::npos) << text;
      EXPECT_NE(text.find("'" + object), std::string::npos) << text;
      EXPECT_NE(text.find(reason), std::string::npos) << text;
    }
  }
  void expect_dataset_refused(const File& file, const std::string& name, const std::string& reason) {
    expect_refused([&] { file.root().dataset(name); }, "/" + name, reason);
    EXPECT_EQ(file.root().dataset("fine").values<float>(), (std::vector<float>{0, 1}));
  }

  ScratchFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(Styles, Refused, ::testing::Values(Style::old_style, Style::new_style),
                         [](const auto& parameter) {
                           return parameter.param == Style::old_style ? "Old" : "New";
                         });

/// For what only the new format has, or what is slow and the same in both.
class RefusedNew : public Refused {};

INSTANTIATE_TEST_SUITE_P(Styles, RefusedNew, ::testing::Values(Style::new_style));

TEST_P(Refused, SoftAndExternalLinks) {
  const File file = make([](hid_t id) {
    H5Lcreate_soft("/fine", id, "soft", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("/etc/passwd", "/x", id, "outside", H5P_DEFAULT, H5P_DEFAULT);
  });
  EXPECT_EQ(file.root().names(), (std::vector<std::string>{"fine", "outside", "soft"}));
  expect_dataset_refused(file, "soft", "soft link");
  expect_dataset_refused(file, "outside", "external link");
  expect_refused([&] { file.root().dataset_paths(); }, "/", "link");
}

TEST_P(Refused, ExternalStorage) {
  const std::string data = folder_.file("data.bin");
  const File file = make([&](hid_t id) {
    const Scoped creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_external(creation, data.c_str(), 0, 40);
    const hsize_t sizes[] = {10};
    const Scoped space(H5Screate_simple(1, sizes, nullptr), H5Sclose);
    const Scoped dataset(H5Dcreate2(id, "x", H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT),
                         H5Dclose);
  });
  expect_dataset_refused(file, "x", "external storage");
}

TEST_P(Refused, VirtualDatasets) {
  const File file = make([](hid_t id) {
    const hsize_t sizes[] = {2};
    const Scoped space(H5Screate_simple(1, sizes, nullptr), H5Sclose);
    const Scoped creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_virtual(creation, space, ".", "/fine", space);
    const Scoped dataset(H5Dcreate2(id, "x", H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT),
                         H5Dclose);
  });
  expect_dataset_refused(file, "x", "virtual");
}

TEST_P(Refused, UnsupportedTypes) {
  const File file = make([](hid_t id) {
    const Scoped compound(H5Tcreate(H5T_COMPOUND, 8), H5Tclose);
    H5Tinsert(compound, "a", 0, H5T_NATIVE_INT);
    H5Tinsert(compound, "b", 4, H5T_NATIVE_INT);
    const Scoped sequence(H5Tvlen_create(H5T_NATIVE_INT), H5Tclose);
    const Scoped colors(H5Tenum_create(H5T_NATIVE_INT8), H5Tclose);
    const int8_t red = 4;
    H5Tenum_insert(colors, "RED", &red);
    const Scoped narrow(H5Tcopy(H5T_STD_I16LE), H5Tclose);
    H5Tset_precision(narrow, 12);
    const Scoped opaque(H5Tcreate(H5T_OPAQUE, 3), H5Tclose);
    H5Tset_tag(opaque, "my tag");
    const hsize_t two[] = {2};
    const Scoped array(H5Tarray_create2(H5T_NATIVE_INT, 1, two), H5Tclose);
    for (const auto& [name, type] : std::vector<std::pair<std::string, hid_t>>{{"compound", compound},
                                                                               {"sequence", sequence},
                                                                               {"colors", colors},
                                                                               {"narrow", narrow},
                                                                               {"opaque", opaque},
                                                                               {"array", array},
                                                                               {"reference", H5T_STD_REF_OBJ},
                                                                               {"bits", H5T_STD_B8LE}})
      const Scoped dataset(create_dataset(id, {.name = name, .file_type = type, .sizes = {2}}), H5Dclose);
  });
  expect_dataset_refused(file, "compound", "compound");
  expect_dataset_refused(file, "sequence", "sequences of variable length");
  expect_dataset_refused(file, "colors", "enums other than");
  expect_dataset_refused(file, "narrow", "12 bits");
  expect_dataset_refused(file, "array", "array");
  expect_dataset_refused(file, "reference", "reference");
  expect_dataset_refused(file, "bits", "bit field");
  const Dataset opaque = file.root().dataset("opaque");
  expect_refused([&] { opaque.dtype(); }, "/opaque", "opaque of 3 bytes, tag 'my tag'");
  EXPECT_EQ(file.root().dataset_paths().size(), 9u);
}

TEST_P(Refused, AttributesOfUnsupportedTypesOnlyWhenRead) {
  const File file = make([](hid_t id) {
    const Scoped compound(H5Tcreate(H5T_COMPOUND, 4), H5Tclose);
    H5Tinsert(compound, "a", 0, H5T_NATIVE_INT);
    const Scoped space(H5Screate(H5S_SCALAR), H5Sclose);
    const Scoped attribute(H5Acreate2(id, "odd", compound, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    add_text(id, "good", "text");
  });
  EXPECT_EQ(file.root().attributes().string("good"), "text");
  expect_refused([&] { file.root().attributes().get("odd").numbers(); }, "/@odd", "compound");
  expect_refused([&] { file.root().attributes().get("good").numbers(); }, "/@good", "no numbers");
}

TEST_P(Refused, TooManyAxesAndUnknownFilters) {
  const File file = make([](hid_t id) {
    add_counting(id, {.name = "nine", .sizes = std::vector<hsize_t>(9, 1)});
    const Scoped creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    const hsize_t sizes[] = {100};
    H5Pset_chunk(creation, 1, sizes);
    H5Pset_scaleoffset(creation, H5Z_SO_INT, 0);
    const Scoped space(H5Screate_simple(1, sizes, nullptr), H5Sclose);
    const Scoped dataset(H5Dcreate2(id, "scaled", H5T_STD_I32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT),
                         H5Dclose);
  });
  expect_dataset_refused(file, "nine", "9 axes");
  expect_dataset_refused(file, "scaled", "scaleoffset");
}

TEST_P(Refused, CirclesAndGroupsWithTwoPaths) {
  const File file = make([](hid_t id) {
    const Scoped group(H5Gcreate2(id, "a", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
    H5Lcreate_hard(id, "/", group, "up", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_hard(id, "/a", id, "twin", H5P_DEFAULT, H5P_DEFAULT);
  });
  EXPECT_EQ(file.root().group("twin").path(), "/twin");
  expect_refused([&] { file.root().group("a/up"); }, "/a/up", "contains itself");
  expect_refused([&] { file.root().dataset("a/up/fine"); }, "/a/up", "contains itself");
  expect_refused([&] { file.root().dataset_paths(); }, "/", "");
}

TEST_P(Refused, GroupsTooDeep) {
  std::string name;
  for (int i = 0; i < 200; ++i) name += "g/";
  const File file = make([&](hid_t id) { add_counting(id, {.name = name + "x", .sizes = {2}}); });
  expect_refused([&] { file.root().dataset(name + "x"); }, "/g/g", "deeper");
}

TEST_P(Refused, DeclaredSizesThatNothingBacks) {
  const File file = make([](hid_t id) {
    const hsize_t kGiB = hsize_t{1} << 30;
    const Scoped huge(create_dataset(id, {.name = "huge", .file_type = H5T_STD_U8LE, .sizes = {8 * kGiB}}),
                      H5Dclose);
    const Scoped sparse(create_dataset(id, {.name = "sparse",
                                            .file_type = H5T_STD_U8LE,
                                            .sizes = {8, kGiB},
                                            .chunk = {1, 1024},
                                            .deflate = 1}),
                        H5Dclose);
    const Scoped endless(
        create_dataset(id, {.name = "endless", .sizes = {1}, .max_sizes = {H5S_UNLIMITED}, .chunk = {8}}),
        H5Dclose);
    const hsize_t sizes[] = {hsize_t{1} << 62};
    H5Dset_extent(endless, sizes);
  });
  expect_dataset_refused(file, "huge", "declares 8589934592 bytes but stores only 0");
  expect_dataset_refused(file, "sparse", "stores only 0");
  expect_dataset_refused(file, "endless", "64 bits");
}

TEST_P(RefusedNew, HonestCompressionIsNot) {
  constexpr hsize_t kBytes = hsize_t{300} << 20;
  const File file = make([](hid_t id) {
    const Scoped dataset(create_dataset(id, {.name = "zeros",
                                             .file_type = H5T_STD_U8LE,
                                             .sizes = {kBytes},
                                             .chunk = {hsize_t{1} << 22},
                                             .deflate = 9}),
                         H5Dclose);
    const std::vector<uint8_t> zeros(kBytes);
    H5Dwrite(dataset, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros.data());
  });
  EXPECT_EQ(file.root().dataset("zeros").values<uint8_t>().size(), kBytes);
}

TEST_P(Refused, TruncatedFilesAtEveryLength) {
  make([](hid_t id) { add_text(id, "name", "value"); });
  const std::vector<std::byte> whole = read_file(path());
  for (size_t size = 0; size < whole.size(); ++size) {
    std::vector<std::byte> part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    ASSERT_THROW(open_bytes(std::move(part)), FileFormatError) << size;
  }
}

TEST_P(RefusedNew, EveryChecksumIsVerified) {
  make([](hid_t id) {
    const Scoped group(H5Gcreate2(id, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
    for (int i = 0; i < 40; ++i) add_text(group, "a" + std::to_string(i), "v");
    for (int i = 0; i < 40; ++i) add_counting(group, {.name = "d" + std::to_string(i), .sizes = {1}});
    add_counting(id, {.name = "fixed", .sizes = {30}, .chunk = {2}});
    add_counting(id, {.name = "extensible", .sizes = {1500}, .max_sizes = {H5S_UNLIMITED}, .chunk = {2}});
    add_counting(
        id, {.name = "tree", .sizes = {9, 9}, .max_sizes = {H5S_UNLIMITED, H5S_UNLIMITED}, .chunk = {2, 2}});
  });
  const std::vector<std::byte> whole = read_file(path());
  for (const std::string signature :
       {"\x89HDF", "OHDR", "FRHP", "FHDB", "BTHD", "BTLF", "FAHD", "FADB", "EAHD", "EAIB", "EADB", "EASB"}) {
    const auto same = [](std::byte a, char b) { return std::to_integer<char>(a) == b; };
    const auto at = std::search(whole.begin(), whole.end(), signature.begin(), signature.end(), same);
    ASSERT_NE(at, whole.end()) << signature;
    // A bit in the structure, behind signature, version and kind: nothing but the checksum need notice it.
    constexpr std::ptrdiff_t kInside = 15;
    std::vector<std::byte> damaged = whole;
    damaged[static_cast<size_t>(at - whole.begin() + kInside)] ^= std::byte{0x20};
    EXPECT_THROW(read_everything(open_bytes(damaged)), FileFormatError) << signature;
  }
}

}  // namespace
}  // namespace nyala::hdf5::testing
