// The readers of .npy and .npz.
#include <nyala/api/saving/arrays/numpy.h>
#include <nyala/backend/core/error.h>
#include <nyala/tests/fuzz/input_file.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const nyala::fuzz::InputFile file({data, size});
  try {
    if (size > 1 && data[0] == 'P')
      nyala::load_npz(file.path());
    else
      nyala::load_npy(file.path());
  } catch (const nyala::FileFormatError&) {
  }
  return 0;
}
