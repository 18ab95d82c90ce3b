#include <algorithm>
#include <cstring>
#include <fstream>

#include <gtest/gtest.h>

#include <nyala/tests/files/hdf5/oracle.h>

namespace nyala::hdf5::testing {
namespace {

std::vector<hsize_t> extent_of(hid_t space) {
  std::vector<hsize_t> sizes(static_cast<size_t>(H5Sget_simple_extent_ndims(space)));
  H5Sget_simple_extent_dims(space, sizes.data(), nullptr);
  return sizes;
}

/// The type in memory that holds what Nyala's dtype() says.
hid_t memory_type(DType dtype, hid_t file_type) {
  switch (dtype) {
    case DType::float32:
      return H5Tcopy(H5T_NATIVE_FLOAT);
    case DType::float64:
      return H5Tcopy(H5T_NATIVE_DOUBLE);
    case DType::int32:
      return H5Tcopy(H5T_NATIVE_INT32);
    case DType::int64:
      return H5Tcopy(H5T_NATIVE_INT64);
    case DType::uint8:
      return H5Tcopy(H5T_NATIVE_UINT8);
    default:
      break;
  }
  const hid_t type = H5Tcopy(file_type);
  if (H5Tget_class(type) == H5T_FLOAT) H5Tset_order(type, H5T_ORDER_LE);
  return type;
}

/// Reads strings with libhdf5. `read` fills a buffer with elements of the type it gets.
template <class Read>
std::vector<std::string> library_strings(hid_t type, hid_t space, const Read& read) {
  const auto count = static_cast<size_t>(H5Sget_simple_extent_npoints(space));
  std::vector<std::string> strings;
  if (count == 0) return strings;
  if (H5Tis_variable_str(type) > 0) {
    std::vector<char*> pointers(count);
    EXPECT_GE(read(type, pointers.data()), 0);
    for (const char* pointer : pointers) strings.emplace_back(pointer == nullptr ? "" : pointer);
    H5Dvlen_reclaim(type, space, H5P_DEFAULT, pointers.data());
    return strings;
  }
  const size_t size = H5Tget_size(type);
  std::vector<char> cells(count * size);
  EXPECT_GE(read(type, cells.data()), 0);
  const H5T_str_t padding = H5Tget_strpad(type);
  for (size_t i = 0; i < count; ++i) {
    std::string text(cells.data() + i * size, size);
    if (padding == H5T_STR_NULLTERM) text = text.c_str();
    const char filler = padding == H5T_STR_SPACEPAD ? ' ' : '\0';
    text.resize(text.find_last_not_of(filler) + 1);
    strings.push_back(text);
  }
  return strings;
}

void expect_same_attribute(hid_t attribute, const Attribute& mine, const std::string& where) {
  const Scoped type(H5Aget_type(attribute), H5Tclose);
  const Scoped space(H5Aget_space(attribute), H5Sclose);
  const auto count = static_cast<size_t>(H5Sget_simple_extent_npoints(space));
  EXPECT_EQ(mine.is_string(), H5Tget_class(type) == H5T_STRING) << where;
  if (H5Tget_class(type) == H5T_STRING) {
    const auto read = [&](hid_t memory, void* out) { return H5Aread(attribute, memory, out); };
    EXPECT_EQ(mine.strings(), library_strings(type, space, read)) << where;
  } else if (H5Tget_class(type) == H5T_INTEGER || H5Tget_class(type) == H5T_FLOAT) {
    std::vector<double> numbers(count);
    EXPECT_TRUE(count == 0 || H5Aread(attribute, H5T_NATIVE_DOUBLE, numbers.data()) >= 0) << where;
    EXPECT_EQ(mine.numbers(), numbers) << where;
  }
}

void expect_same_attributes(hid_t object, const Attributes& mine, const std::string& where) {
  std::vector<std::string> names;
  const auto collect = [](hid_t, const char* name, const H5A_info_t*, void* out) -> herr_t {
    static_cast<std::vector<std::string>*>(out)->push_back(name);
    return 0;
  };
  ASSERT_GE(H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, nullptr, collect, &names), 0) << where;
  std::sort(names.begin(), names.end());
  EXPECT_EQ(mine.names(), names) << where;
  for (const std::string& name : names) {
    const Scoped attribute(H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose);
    expect_same_attribute(attribute, mine.get(name), where + "@" + name);
  }
}

void expect_same_dataset(hid_t dataset, const Dataset& mine, const std::string& where) {
  const Scoped type(H5Dget_type(dataset), H5Tclose);
  const Scoped space(H5Dget_space(dataset), H5Sclose);
  const std::vector<hsize_t> sizes = extent_of(space);
  EXPECT_EQ(mine.shape(), Shape(std::vector<int64_t>(sizes.begin(), sizes.end()))) << where;
  if (mine.is_string()) {
    const auto read = [&](hid_t memory, void* out) {
      return H5Dread(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, out);
    };
    EXPECT_EQ(mine.strings(), library_strings(type, space, read)) << where;
    return;
  }
  std::vector<std::byte> ours(mine.byte_size()), theirs(mine.byte_size());
  mine.read(ours);
  const Scoped memory(memory_type(mine.dtype(), type), H5Tclose);
  ASSERT_GE(H5Dread(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, theirs.data()), 0) << where;
  EXPECT_TRUE(ours == theirs) << where << ": values differ";
  const auto view = mine.view();
  EXPECT_TRUE(!view || std::equal(view->begin(), view->end(), theirs.begin(), theirs.end()))
      << where << ": view differs";
}

struct Visit {
  const File* file;
  std::vector<std::string> datasets;
};

herr_t compare_object(hid_t root, const char* name, const H5O_info_t* info, void* user) {
  auto& visit = *static_cast<Visit*>(user);
  const std::string path = std::string(name) == "." ? "/" : "/" + std::string(name);
  const Scoped object(H5Oopen(root, name, H5P_DEFAULT), H5Oclose);
  if (info->type == H5O_TYPE_GROUP) {
    EXPECT_TRUE(visit.file->root().has_group(path)) << path;
    expect_same_attributes(object, visit.file->root().group(path).attributes(), path);
  } else if (info->type == H5O_TYPE_DATASET) {
    visit.datasets.push_back(path);
    const Dataset mine = visit.file->root().dataset(path);
    expect_same_dataset(object, mine, path);
    expect_same_attributes(object, mine.attributes(), path);
  }
  return 0;
}

}  // namespace

Scoped::Scoped(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {
  EXPECT_GE(id, 0) << "libhdf5 refused";
}

hid_t create_file(const std::string& path, Style style, hsize_t user_block) {
  const Scoped access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  const Scoped creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
  if (style == Style::new_style) H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  if (user_block > 0) H5Pset_userblock(creation, user_block);
  return H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation, access);
}

hid_t create_dataset(hid_t file, const DatasetPlan& plan) {
  const Scoped creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  const Scoped links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(links, 1);
  const auto* max_sizes = plan.max_sizes.empty() ? nullptr : plan.max_sizes.data();
  const int rank = static_cast<int>(plan.sizes.size());
  const Scoped space(rank == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(rank, plan.sizes.data(), max_sizes),
                     H5Sclose);
  if (!plan.chunk.empty()) H5Pset_chunk(creation, rank, plan.chunk.data());
  if (plan.is_compact) H5Pset_layout(creation, H5D_COMPACT);
  if (plan.shuffles) H5Pset_shuffle(creation);
  if (plan.deflate > 0) H5Pset_deflate(creation, static_cast<unsigned>(plan.deflate));
  if (plan.has_fletcher32) H5Pset_fletcher32(creation);
  if (plan.allocates_early) H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);
  return H5Dcreate2(file, plan.name.c_str(), plan.file_type, space, links, creation, H5P_DEFAULT);
}

void write_counting(hid_t dataset) {
  const Scoped space(H5Dget_space(dataset), H5Sclose);
  std::vector<int32_t> values(static_cast<size_t>(H5Sget_simple_extent_npoints(space)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int32_t>(i % 120);
  ASSERT_GE(H5Dwrite(dataset, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
}

void add_counting(hid_t file, const DatasetPlan& plan) {
  const Scoped dataset(create_dataset(file, plan), H5Dclose);
  write_counting(dataset);
}

void add_text(hid_t object, const std::string& name, const std::string& value) {
  const Scoped type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type, H5T_VARIABLE);
  H5Tset_cset(type, H5T_CSET_UTF8);
  const Scoped space(H5Screate(H5S_SCALAR), H5Sclose);
  const Scoped attribute(H5Acreate2(object, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  const char* pointer = value.c_str();
  ASSERT_GE(H5Awrite(attribute, type, &pointer), 0);
}

std::vector<std::byte> read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  EXPECT_TRUE(stream.good()) << path;
  const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

void write_file(const std::string& path, std::span<const std::byte> bytes) {
  std::ofstream stream(path, std::ios::binary);
  stream.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  ASSERT_TRUE(stream.good()) << path;
}

File open_bytes(std::vector<std::byte> bytes, const std::string& name) {
  auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return File::from_bytes(*owner, owner, name);
}

namespace {

size_t read_attributes(const Attributes& attributes) {
  size_t count = 0;
  for (const std::string& name : attributes.names()) {
    const Attribute attribute = attributes.get(name);
    count += attribute.is_string() ? attribute.strings().size() : attribute.numbers().size();
  }
  return count;
}

size_t read_dataset(const Dataset& dataset, size_t max_bytes) {
  size_t count = read_attributes(dataset.attributes());
  if (dataset.shape().num_elements() > static_cast<int64_t>(max_bytes / 32)) return count;
  if (dataset.is_string()) return count + dataset.strings().size();
  std::vector<std::byte> values(dataset.byte_size());
  dataset.read(values);
  dataset.view();
  return count + values.size();
}

size_t read_group(const Group& group, size_t max_bytes) {
  size_t count = read_attributes(group.attributes());
  for (const std::string& name : group.names()) {
    if (group.has_dataset(name)) count += read_dataset(group.dataset(name), max_bytes);
    if (group.has_group(name)) count += read_group(group.group(name), max_bytes);
  }
  return count;
}

}  // namespace

size_t read_everything(const File& file, size_t max_bytes) {
  file.root().dataset_paths();  // throws where a group can be reached twice: the recursion below is bounded
  return read_group(file.root(), max_bytes);
}

size_t expect_same_as_libhdf5(const std::string& path) {
  const Scoped theirs(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  const File mine = File::open(path);
  Visit visit{&mine, {}};
  EXPECT_GE(H5Ovisit(theirs, H5_INDEX_NAME, H5_ITER_INC, compare_object, &visit), 0) << path;
  std::sort(visit.datasets.begin(), visit.datasets.end());
  EXPECT_EQ(mine.root().dataset_paths(), visit.datasets) << path;
  return visit.datasets.size();
}

}  // namespace nyala::hdf5::testing
