#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <hdf5.h>

#include <nyala/files/hdf5/file.h>

/// libhdf5 as the author of test files and as the judge of what Nyala reads from them.
namespace nyala::hdf5::testing {

/// An identifier of libhdf5 that closes itself; fails the test where it is negative.
class Scoped {
 public:
  Scoped(hid_t id, herr_t (*close)(hid_t));
  ~Scoped() { close_(id_); }
  Scoped(const Scoped&) = delete;
  Scoped& operator=(const Scoped&) = delete;
  operator hid_t() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

/// Which form of the format a test file has: old (superblock 0), or new (superblock 3, new-style groups).
enum class Style { old_style, new_style };

/// Creates a file. `user_block`: bytes in front of it.
hid_t create_file(const std::string& path, Style style, hsize_t user_block = 0);

/// What create_dataset makes.
struct DatasetPlan {
  std::string name = {};
  hid_t file_type = H5T_IEEE_F32LE;
  std::vector<hsize_t> sizes = {};
  std::vector<hsize_t> max_sizes = {};  ///< empty: as sizes
  std::vector<hsize_t> chunk = {};      ///< empty: not chunked
  bool is_compact = false;
  int deflate = 0;
  bool shuffles = false;
  bool has_fletcher32 = false;
  bool allocates_early = false;
};

hid_t create_dataset(hid_t file, const DatasetPlan& plan);

/// Writes 0, 1, 2, ... (modulo 120, so that they fit every type) over the whole dataset.
void write_counting(hid_t dataset);

/// Adds a dataset of counting numbers.
void add_counting(hid_t file, const DatasetPlan& plan);

/// Adds a scalar text attribute of variable length (UTF-8).
void add_text(hid_t object, const std::string& name, const std::string& value);

std::vector<std::byte> read_file(const std::string& path);
void write_file(const std::string& path, std::span<const std::byte> bytes);

/// Opens bytes that lie in memory.
File open_bytes(std::vector<std::byte> bytes, const std::string& name = "memory.h5");

/// Everything in a file, read by Nyala: what a damaged copy must survive. Datasets of more than `max_bytes`
/// are skipped. Returns a count of values and attributes.
size_t read_everything(const File& file, size_t max_bytes = size_t{64} << 20);

/// Compares groups, datasets and attributes of the file at `path` as read by libhdf5 and by Nyala. Returns
/// the number of datasets compared.
size_t expect_same_as_libhdf5(const std::string& path);

}  // namespace nyala::hdf5::testing
