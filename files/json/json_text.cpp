#include <nyala/files/json/json_text.h>

#include <nyala/backend/core/error.h>

namespace nyala {

std::string json_text(const Json& json, const std::string& what) {
  try {
    return json.dump();
  } catch (const nlohmann::json::type_error& error) {
    const std::string readable = json.dump(-1, ' ', true, Json::error_handler_t::replace);
    const size_t at = readable.find("\\ufffd");
    const std::string around = readable.substr(at < 40 ? 0 : at - 40, 60);
    throw InvalidArgumentError(what + ": a name or text is not UTF-8, as JSON must be, near " +
                               detail::in_quotes(around) + "; give the layer or weight another name");
  }
}

}  // namespace nyala
