// The reader of .safetensors; what it reads is written and read again.
#include <cstdlib>

#include <nyala/api/saving/arrays/safetensors.h>
#include <nyala/backend/core/error.h>
#include <nyala/tests/fuzz/input_file.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const nyala::fuzz::InputFile file({data, size});
  try {
    uint64_t sum = 0;
    for (const auto& [name, value] : nyala::load_safetensors(file.path())) {
      if (value.shape().num_elements() < 0) std::abort();
      const auto* bytes = static_cast<const uint8_t*>(value.raw());
      for (size_t i = 0; i < value.bytes(); ++i) sum += bytes[i];
    }
    if (sum == UINT64_MAX) std::abort();  // keeps the reads
  } catch (const nyala::FileFormatError&) {
  }
  return 0;
}
