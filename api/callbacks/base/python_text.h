#pragma once

#include <map>
#include <string>

#include <nyala/api/callbacks/base/callback.h>

namespace nyala::detail {

/// A number as Python's repr prints a float: the shortest digits that read back as the same double, "0.1",
/// "1e-05", "3.0", "nan".
std::string python_repr(double value);

/// Python's str.format on a file name: "{epoch:02d}-{val_loss:.2f}", "{{" for a brace. Names of `integers`
/// first, then those of `logs`. Of the format language: fill and alignment, sign, 0, width, precision and the
/// types d e f g % (and E F G). Throws NotFoundError for an unknown name, InvalidArgumentError for a format
/// that Python refuses.
std::string format_path(const std::string& pattern, const std::map<std::string, int64_t>& integers,
                        const Logs& logs);

/// Prints a line on the output that is set (output.h), as Keras' callbacks do with verbose > 0.
void print_message(const std::string& line);

}  // namespace nyala::detail
