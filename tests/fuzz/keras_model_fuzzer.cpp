// load_model: an archive or an HDF5 file as it is; anything else is the config.json of an archive whose
// weights are those of the first such file (a checksum stands between a mutated archive and its config).
#include <cstdlib>
#include <string_view>

#include <nyala/api/saving/load_model.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/runtime/random.h>
#include <nyala/files/hdf5/writer.h>
#include <nyala/files/zip/archive_writer.h>
#include <nyala/tests/fuzz/input_file.h>

namespace {

using namespace nyala;

void load(const std::string& path) {
  try {
    load_model(path);
  } catch (const FileFormatError&) {
  } catch (const NotFoundError&) {  // weights that the file lacks
  } catch (const ShapeError&) {
  }
}

/// An archive of this text and of no weights.
std::string archive_of(std::string_view config) {
  static const hdf5::FileImage weights = hdf5::Writer().finish();
  static const std::string path = "/dev/shm/nyala_fuzz_" + std::to_string(::getpid()) + ".keras";
  zip::ArchiveWriter archive(path);
  archive.add("config.json", std::string(config));
  archive.add("model.weights.h5", weights.bytes);
  archive.commit();
  return path;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool is_quiet = (set_log_sink([](LogChannel, std::string_view) {}), true);
  clear_session();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (is_quiet && (text.starts_with("PK") || text.starts_with("\x89HDF"))) {
    load(fuzz::InputFile({data, size}).path());
  } else {
    load(archive_of(text));
  }
  return 0;
}
