// The reader of Python's pickles. Whatever is read must be readable through its accessors.
#include <algorithm>

#include <nyala/backend/core/error.h>
#include <nyala/datasets/io/pickle_reader.h>

namespace {

using nyala::datasets::PickleKind;
using nyala::datasets::PickleValue;

/// Objects may refer to each other in circles: look a few levels deep only.
void look_at(const PickleValue& value, int levels) {
  constexpr size_t kMost = 8;
  switch (value.kind()) {
    case PickleKind::list:
    case PickleKind::tuple:
      for (size_t i = 0; levels > 0 && i < std::min(value.size(), kMost); ++i)
        look_at(value.item(i), levels - 1);
      break;
    case PickleKind::dict:
      if (const auto data = value.find("data")) look_at(*data, levels - 1);
      break;
    case PickleKind::array:
      value.array().bytes();
      break;
    case PickleKind::bytes:
    case PickleKind::text:
      value.string();
      break;
    default:
      break;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    look_at(nyala::datasets::read_pickle({data, size}, {.max_objects = 1u << 16}), 3);
  } catch (const nyala::FileFormatError&) {
  }
  return 0;
}
