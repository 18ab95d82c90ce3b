// libhdf5 builds the file's metadata in memory (MemoryFile): groups, headers and attributes are as any HDF5
// program expects them. The values do not pass through it: no space is reserved for them, and place_values
// puts them behind the metadata and enters their addresses, so tensors are written from where they lie and
// are not copied first.
#include <algorithm>
#include <cstring>
#include <map>

#include <hdf5.h>

#include <nyala/backend/core/error.h>
#include <nyala/files/base/atomic_file.h>
#include <nyala/files/hdf5/base/image.h>
#include <nyala/files/hdf5/base/limits.h>
#include <nyala/files/hdf5/dataset.h>
#include <nyala/files/hdf5/memory_file.h>
#include <nyala/files/hdf5/names_checksum.h>
#include <nyala/files/hdf5/place_values.h>
#include <nyala/files/hdf5/writer.h>

namespace nyala::hdf5 {
namespace {

void check_text(std::string_view text, const char* what) {
  if (text.find('\0') != std::string_view::npos)
    throw InvalidArgumentError(std::string("HDF5 writer: the ") + what + " " + detail::in_quotes(text) +
                               " contains a NUL character");
}

/// "/a/b" from "/a/b", "a/b" or "a//b/"; "/" from "" and "/".
std::string normalize(std::string_view path) {
  check_text(path, "path");
  std::string normal;
  while (!path.empty()) {
    const size_t length = std::min(path.find('/'), path.size());
    const std::string_view name = path.substr(0, length);
    if (name == ".") throw InvalidArgumentError("HDF5 writer: the path contains '.'");
    if (!name.empty()) normal += "/" + std::string(name);
    path.remove_prefix(std::min(length + 1, path.size()));
  }
  return normal.empty() ? "/" : normal;
}

/// Of a group. What cannot be read is not written.
void check_depth(const std::string& path) {
  if (static_cast<size_t>(std::count(path.begin(), path.end(), '/')) > kMaxDepth)
    throw InvalidArgumentError("HDF5 writer: the group '" + path + "' is deeper than " +
                               std::to_string(kMaxDepth) + " groups, and no deeper ones are read");
}

Handle copy_type(Id type) { return Handle(H5Tcopy(type), H5Tclose, "copy a type"); }

Handle bool_type() {
  Handle type(H5Tenum_create(H5T_STD_I8LE), H5Tclose, "make the bool type");
  const int8_t no = 0, yes = 1;
  check_call(H5Tenum_insert(type, "FALSE", &no), "make the bool type");
  check_call(H5Tenum_insert(type, "TRUE", &yes), "make the bool type");
  return type;
}

Handle float16_type() {
  Handle type = copy_type(H5T_IEEE_F32LE);
  check_call(H5Tset_fields(type, 15, 10, 5, 0, 10), "make the float16 type");
  check_call(H5Tset_size(type, 2), "make the float16 type");
  check_call(H5Tset_ebias(type, 15), "make the float16 type");
  return type;
}

Handle bfloat16_type() {
  Handle type(H5Tcreate(H5T_OPAQUE, 2), H5Tclose, "make the bfloat16 type");
  check_call(H5Tset_tag(type, ""), "make the bfloat16 type");
  return type;
}

Handle file_type(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return copy_type(H5T_IEEE_F32LE);
    case DType::float64:
      return copy_type(H5T_IEEE_F64LE);
    case DType::int32:
      return copy_type(H5T_STD_I32LE);
    case DType::int64:
      return copy_type(H5T_STD_I64LE);
    case DType::uint8:
      return copy_type(H5T_STD_U8LE);
    case DType::bool_:
      return bool_type();
    case DType::bfloat16:
      return bfloat16_type();
    case DType::float16:
      return float16_type();
  }
  throw InvalidArgumentError("HDF5 writer: unknown dtype");
}

Handle string_type(size_t size, bool is_utf8) {
  Handle type = copy_type(H5T_C_S1);
  check_call(H5Tset_size(type, size), "make a string type");
  check_call(H5Tset_cset(type, is_utf8 ? H5T_CSET_UTF8 : H5T_CSET_ASCII), "make a string type");
  check_call(H5Tset_strpad(type, size == H5T_VARIABLE ? H5T_STR_NULLTERM : H5T_STR_NULLPAD),
             "make a string type");
  return type;
}

Handle vector_space(size_t count) {
  const hsize_t sizes[1] = {count};
  return Handle(H5Screate_simple(1, sizes, nullptr), H5Sclose, "make a dataspace");
}

Handle shape_space(const Shape& shape) {
  if (shape.rank() == 0) return Handle(H5Screate(H5S_SCALAR), H5Sclose, "make a dataspace");
  const std::vector<hsize_t> sizes(shape.begin(), shape.end());
  return Handle(H5Screate_simple(shape.rank(), sizes.data(), nullptr), H5Sclose, "make a dataspace");
}

void check_values(const std::string& path, DType dtype, const Shape& shape, size_t bytes) {
  if (!shape.is_known())
    throw InvalidArgumentError("HDF5 writer: dataset '" + path + "' has the unknown shape " +
                               shape.to_string());
  const size_t expected = static_cast<size_t>(shape.num_elements()) * size_of(dtype);
  if (bytes != expected)
    throw InvalidArgumentError("HDF5 writer: dataset '" + path + "' of shape " + shape.to_string() +
                               " and dtype " + std::string(name_of(dtype)) + " takes " +
                               std::to_string(expected) + " bytes, got " + std::to_string(bytes));
}

void write_attribute(Id object, const std::string& name, const Handle& type, const Handle& space,
                     const void* data) {
  const Handle attribute(H5Acreate2(object, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                         "make the attribute " + detail::in_quotes(name));
  check_call(H5Awrite(attribute, type, data), "write the attribute " + detail::in_quotes(name));
}

void write_checksum(Id object, const char* name, uint32_t value) {
  const Handle one(H5Screate(H5S_SCALAR), H5Sclose, "make a dataspace");
  write_attribute(object, name, copy_type(H5T_STD_U32LE), one, &value);
}

void write_fixed_strings(Id object, const std::string& name, const std::vector<std::string>& values) {
  size_t longest = 1;
  for (const std::string& value : values) longest = std::max(longest, value.size());
  std::string cells;
  for (const std::string& value : values) cells.append(value).append(longest - value.size(), '\0');
  write_attribute(object, name, string_type(longest, false), vector_space(values.size()), cells.data());
}

void write_variable_strings(Id object, const std::string& name, const std::vector<std::string>& values) {
  std::vector<const char*> pointers;
  for (const std::string& value : values) pointers.push_back(value.c_str());
  write_attribute(object, name, string_type(H5T_VARIABLE, true), vector_space(values.size()),
                  pointers.data());
}

size_t stored_bytes(const std::vector<std::string>& values, StringStorage storage) {
  constexpr size_t kReference = 16;  // length, collection, index
  size_t cell = kReference;
  if (storage == StringStorage::fixed) {
    cell = 1;
    for (const std::string& value : values) cell = std::max(cell, value.size());
  }
  return cell * values.size();
}

}  // namespace

struct Writer::State {
  enum class Entry { group, dataset };

  MemoryFile file;
  std::map<std::string, Entry> entries{{"/", Entry::group}};
  NamedValues values;  // of all datasets that have any
  Checksums checksums = Checksums::none;

  /// Makes the groups above `path`.
  void create_parents(const std::string& path) {
    for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
      create_group(path.substr(0, slash));
  }

  void create_group(const std::string& path) {
    const auto found = entries.find(path);
    if (found != entries.end() && found->second == Entry::group) return;
    if (found != entries.end())
      throw InvalidArgumentError("HDF5 writer: '" + path + "' is a dataset, no group");
    check_depth(path);
    const Handle group(H5Gcreate2(file.id(), path.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose,
                       "make the group '" + path + "'");
    entries.emplace(path, Entry::group);
  }

  void write_names_checksum() const {
    uint32_t crc = 0;
    for (const auto& [path, kind] : entries) crc = with_name(crc, path, kind == Entry::group);
    write_checksum(open("/"), kNamesChecksum, crc);
  }

  Handle open(std::string_view path) const {
    const std::string normal = normalize(path);
    if (!entries.contains(normal))
      throw InvalidArgumentError("HDF5 writer: an attribute for '" + normal + "', which does not exist");
    return Handle(H5Oopen(file.id(), normal.c_str(), H5P_DEFAULT), H5Oclose, "open '" + normal + "'");
  }
};

Writer::Writer(Checksums checksums) {
  const LibraryLock lock;
  state_ = std::make_unique<State>();
  state_->checksums = checksums;
}

Writer::~Writer() {
  const LibraryLock lock(LibraryLock::Room::is_not_needed);
  state_.reset();
}

Writer::Writer(Writer&&) noexcept = default;

Writer& Writer::operator=(Writer&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

Writer::State& Writer::state() {
  if (!state_) throw StateError("HDF5 writer: the file is finished already");
  return *state_;
}

void Writer::create_group(std::string_view path) {
  const LibraryLock lock;
  const std::string normal = normalize(path);
  state().create_parents(normal);
  state().create_group(normal);
}

void Writer::write_dataset(std::string_view path, DType dtype, const Shape& shape,
                           std::span<const std::byte> values) {
  check_values(normalize(path), dtype, shape, values.size());
  const Tensor copy = Tensor::empty(shape, dtype, Device(DeviceKind::cpu, 0));
  if (!values.empty()) std::memcpy(copy.raw(), values.data(), values.size());
  write_dataset(path, copy);
}

// libhdf5 makes the dataset, but reserves no space for its values since none are written: place_values does.
void Writer::write_dataset(std::string_view path, const Tensor& values) {
  const LibraryLock lock;
  State& s = state();
  const std::string normal = normalize(path);
  const DType dtype = values.dtype();
  if (s.entries.contains(normal)) throw InvalidArgumentError("HDF5 writer: '" + normal + "' exists already");
  s.create_parents(normal);

  const Handle type = file_type(dtype);
  const Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "prepare a dataset");
  check_call(H5Pset_obj_track_times(properties, false), "prepare a dataset");
  const Handle space = shape_space(values.shape());
  const Handle dataset(
      H5Dcreate2(s.file.id(), normal.c_str(), type, space, H5P_DEFAULT, properties, H5P_DEFAULT), H5Dclose,
      "make the dataset '" + normal + "'");
  s.entries.emplace(normal, State::Entry::dataset);
  if (values.bytes() > 0) s.values.emplace(normal, values);
  if (values.bytes() > 0 && s.checksums == Checksums::crc32c) {
    write_checksum(dataset, Dataset::kChecksum, 0);  // place_values finds where it stands
  }
  if (dtype == DType::bfloat16) set_attribute(normal, "dtype", "bfloat16");
}

void Writer::replace_attribute(std::string_view path, const std::string& name) {
  check_text(name, "attribute name");
  if (name.empty()) throw InvalidArgumentError("HDF5 writer: an attribute without a name");
  const Handle object = state().open(path);
  if (H5Aexists(object, name.c_str()) > 0)
    check_call(H5Adelete(object, name.c_str()), "replace the attribute " + detail::in_quotes(name));
}

void Writer::set_attribute(std::string_view path, const std::string& name, std::string_view value) {
  const LibraryLock lock;
  check_text(value, "text");
  replace_attribute(path, name);
  const std::string text(value);
  const char* pointer = text.c_str();
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose, "make a dataspace");
  write_attribute(state().open(path), name, string_type(H5T_VARIABLE, true), space, &pointer);
}

void Writer::set_attribute(std::string_view path, const std::string& name,
                           const std::vector<std::string>& values, StringStorage storage) {
  const LibraryLock lock;
  for (const std::string& value : values) check_text(value, "text");
  const size_t bytes = stored_bytes(values, storage);
  if (bytes > kMaxAttributeBytes)
    throw InvalidArgumentError("HDF5 writer: the attribute " + detail::in_quotes(name) + " of '" +
                               normalize(path) + "' takes " + std::to_string(bytes) + " bytes; at most " +
                               std::to_string(kMaxAttributeBytes) + " fit (split it into several)");
  replace_attribute(path, name);
  const Handle object = state().open(path);
  if (values.empty()) {
    write_attribute(object, name, copy_type(H5T_IEEE_F64LE), vector_space(0), "");
  } else if (storage == StringStorage::fixed) {
    write_fixed_strings(object, name, values);
  } else {
    write_variable_strings(object, name, values);
  }
}

FileParts Writer::finish_parts() {
  const LibraryLock lock;
  if (state().checksums == Checksums::crc32c) state().write_names_checksum();
  size_t size = 0;
  std::shared_ptr<void> head = state().file.close(size);
  const NamedValues values = std::move(state().values);
  state_.reset();
  return place_values({static_cast<std::byte*>(head.get()), size}, head, values);
}

FileImage Writer::finish() { return finish_parts().join(); }

void Writer::save(const std::string& path) {
  const FileParts parts = finish_parts();
  AtomicFile file(path);
  parts.send(file);
  file.commit();
}

}  // namespace nyala::hdf5
