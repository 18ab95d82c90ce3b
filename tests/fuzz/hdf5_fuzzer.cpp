// The reader of HDF5: all groups, attributes and datasets of a file.
#include <cstdint>
#include <vector>

#include <nyala/backend/core/error.h>
#include <nyala/files/hdf5/file.h>

namespace {

using namespace nyala;

constexpr size_t kMost = size_t{4} << 20;

void read_attributes(const hdf5::Attributes& attributes) {
  for (const std::string& name : attributes.names()) {
    try {
      const hdf5::Attribute attribute = attributes.get(name);
      if (attribute.is_string()) attributes.strings(name);
    } catch (const Error&) {
    }
  }
}

void read_dataset(const hdf5::Dataset& dataset) {
  read_attributes(dataset.attributes());
  dataset.backed_bytes();
  if (dataset.is_string()) {
    if (dataset.shape().num_elements() < static_cast<int64_t>(kMost / 32)) dataset.strings();
    return;
  }
  dataset.view();
  if (dataset.byte_size() > kMost) return;
  std::vector<std::byte> values(dataset.byte_size());
  dataset.read(values);
}

void read_group(const hdf5::Group& group) {
  read_attributes(group.attributes());
  for (const std::string& name : group.names()) {
    try {
      if (group.has_group(name)) group.group(name).attributes();
    } catch (const Error&) {
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try {
    const hdf5::File file = hdf5::File::from_bytes(bytes, nullptr, "input");
    read_group(file.root());
    for (const std::string& path : file.root().dataset_paths()) {
      try {
        read_dataset(file.root().dataset(path));
      } catch (const FileFormatError&) {
      }
    }
  } catch (const FileFormatError&) {
  }
  return 0;
}
