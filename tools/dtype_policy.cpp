#include <nyala/tools/command.h>

namespace nyala::tools {

void add_dtype_policy_option(CLI::App& command, std::string& policy) {
  const auto check = [](const std::string& name) -> std::string {
    try {
      DTypePolicy{name};
    } catch (const InvalidArgumentError& error) {
      return error.what();
    }
    return "";
  };
  command
      .add_option("--dtype-policy", policy,
                  "of all layers, instead of the file's: float32, mixed_bfloat16, mixed_float16, ...")
      ->check(CLI::Validator(check, "NAME"));
}

}  // namespace nyala::tools
