#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/files/hdf5/writer.h>
#include <nyala/tests/files/hdf5/oracle.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::hdf5::testing {
namespace {

using Bytes = std::vector<std::byte>;

/// A small file with the bytes in it that are metadata.
struct Victim {
  std::string name;
  Bytes bytes;
  std::vector<size_t> metadata;
};

/// Bytes that are not part of a long run of zeros (free space) count as metadata: the values are few.
Victim make_victim(std::string name, Bytes bytes) {
  Victim victim{std::move(name), std::move(bytes), {}};
  for (size_t i = 0; i < victim.bytes.size(); ++i) {
    const size_t first = i < 8 ? 0 : i - 8, last = std::min(victim.bytes.size(), i + 8);
    for (size_t j = first; j < last; ++j) {
      if (victim.bytes[j] == std::byte{0}) continue;
      victim.metadata.push_back(i);
      break;
    }
  }
  return victim;
}

Victim keras_like() {
  Writer writer;
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  for (const char* path : {"layers/dense/vars/0", "layers/dense/vars/1", "optimizer/vars/0"})
    writer.write_dataset(path, {2, 3}, std::span<const float>(values));
  const std::vector<bfloat16> halves(4);
  writer.write_dataset("layers/dense_1/vars/0", {4}, std::span<const bfloat16>(halves));
  writer.set_attribute("layers/dense/vars", "name", "dense");
  writer.set_attribute("/", "layer_names", {"dense", "dense_1"}, StringStorage::fixed);
  writer.set_attribute("/", "weight_names", {"kernel", "bias"}, StringStorage::variable);
  const FileImage image = writer.finish();
  return make_victim("keras-like", Bytes(image.bytes.begin(), image.bytes.end()));
}

void fill_rich(hid_t file) {
  constexpr hsize_t kUnlimited = H5S_UNLIMITED;
  const Scoped group(H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  for (int i = 0; i < 12; ++i) add_text(group, "attribute" + std::to_string(i), "value");
  for (int i = 0; i < 12; ++i)
    add_counting(group, {.name = "d" + std::to_string(i), .file_type = H5T_STD_I16BE, .sizes = {2}});
  add_counting(file, {.name = "packed",
                      .sizes = {9, 7},
                      .chunk = {4, 3},
                      .deflate = 6,
                      .shuffles = true,
                      .has_fletcher32 = true});
  add_counting(file, {.name = "fixed", .sizes = {9, 7}, .chunk = {2, 3}});
  add_counting(file, {.name = "extensible", .sizes = {90}, .max_sizes = {kUnlimited}, .chunk = {2}});
  add_counting(file,
               {.name = "tree", .sizes = {9, 7}, .max_sizes = {kUnlimited, kUnlimited}, .chunk = {2, 3}});
  add_counting(file, {.name = "compact", .sizes = {3}, .is_compact = true});
  const Scoped type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type, H5T_VARIABLE);
  const Scoped texts(create_dataset(file, {.name = "texts", .file_type = type, .sizes = {3}, .chunk = {2}}),
                     H5Dclose);
  const char* const values[] = {"one", "two", "three"};
  H5Dwrite(texts, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
}

Victim rich(Style style) {
  const ScratchFolder folder;
  {
    const Scoped file(create_file(folder.file("x.h5"), style), H5Fclose);
    fill_rich(file);
  }
  return make_victim(style == Style::old_style ? "old-style" : "new-style", read_file(folder.file("x.h5")));
}

/// Changes 1 to 4 bytes, cuts the file, or makes it longer.
Bytes damage(const Victim& victim, std::mt19937_64& random) {
  const auto below = [&](size_t limit) { return static_cast<size_t>(random() % limit); };
  Bytes bytes = victim.bytes;
  const size_t kind = below(20);
  if (kind == 0) bytes.resize(below(bytes.size()));
  if (kind == 1) bytes.resize(bytes.size() + 1 + below(5000), static_cast<std::byte>(below(256)));
  if (bytes.empty()) return bytes;
  const size_t changes = 1 + below(4);
  for (size_t i = 0; i < changes; ++i) {
    const bool hits_metadata = below(8) != 0;
    const size_t at =
        (hits_metadata ? victim.metadata[below(victim.metadata.size())] : below(bytes.size())) % bytes.size();
    // Counts and sizes break best at their borders.
    constexpr std::byte kBorders[] = {std::byte{0}, std::byte{1}, std::byte{0x7f}, std::byte{0x80},
                                      std::byte{0xff}};
    bytes[at] = below(3) == 0 ? kBorders[below(5)] : static_cast<std::byte>(below(256));
  }
  return bytes;
}

/// How many damaged copies to try; NYALA_DAMAGED_COPIES overrides it, for long runs by hand.
size_t number_of_copies() {
  const char* chosen = std::getenv("NYALA_DAMAGED_COPIES");
  return chosen != nullptr ? static_cast<size_t>(std::atoll(chosen)) : 10000;
}

/// Checksums stop nearly all changes of the new format at the first structure: the old format, which has
/// none, gets most copies.
TEST(DamagedFiles, EveryCopyIsReadOrRefused) {
  const std::vector<Victim> victims{keras_like(), rich(Style::old_style), rich(Style::new_style)};
  const size_t copies = number_of_copies();
  const char* seed = std::getenv("NYALA_DAMAGED_SEED");
  std::mt19937_64 random(seed != nullptr ? static_cast<uint64_t>(std::atoll(seed)) : 20240607u);
  size_t refused = 0, read = 0;
  double slowest = 0;
  for (size_t i = 0; i < copies; ++i) {
    const Victim& victim = victims[i % 5 < 2 ? 0 : i % 5 < 4 ? 1 : 2];
    const Bytes bytes = damage(victim, random);
    const auto start = std::chrono::steady_clock::now();
    try {
      read_everything(open_bytes(bytes));
      ++read;
    } catch (const FileFormatError& error) {
      ++refused;
      ASSERT_NE(std::string(error.what()).find("memory.h5"), std::string::npos) << error.what();
    } catch (const std::exception& error) {
      FAIL() << "copy " << i << " of " << victim.name << " threw something else: " << error.what();
    }
    slowest =
        std::max(slowest, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  RecordProperty("refused", static_cast<int>(refused));
  RecordProperty("read", static_cast<int>(read));
  RecordProperty("slowest_milliseconds", static_cast<int>(slowest * 1e3));
  EXPECT_GT(refused, copies / 4);
  EXPECT_GT(read, copies / 100);
  EXPECT_LT(slowest, 10.) << "seconds for one copy";
}

/// Every byte of the metadata once at each border value: no change is left to chance.
TEST(DamagedFiles, EveryByteAtItsBorders) {
  const Victim victim = keras_like();
  for (const size_t at : victim.metadata) {
    for (const unsigned value : {0u, 1u, 0x7fu, 0x80u, 0xffu}) {
      Bytes bytes = victim.bytes;
      bytes[at] = static_cast<std::byte>(value);
      try {
        read_everything(open_bytes(std::move(bytes)));
      } catch (const FileFormatError&) {
        continue;
      } catch (const std::exception& error) {
        FAIL() << "byte " << at << " = " << value << " threw something else: " << error.what();
      }
    }
  }
}

}  // namespace
}  // namespace nyala::hdf5::testing
