// The reader of JSON, and what brings configs of older Keras to today's form.
#include <cstdint>
#include <string_view>

#include <nyala/api/saving/formats/legacy_config.h>
#include <nyala/backend/core/error.h>
#include <nyala/files/json/strict_json.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const nyala::Json json = nyala::parse_json(text, "input");
    nyala::upgrade_training_config(json);
    for (const char* version : {"1.2.2", "2.1.6", "3.15.0"}) {
      try {
        nyala::upgrade_model_config(json, version, "input");
      } catch (const nyala::FileFormatError&) {
      }
    }
  } catch (const nyala::FileFormatError&) {
  }
  return 0;
}
