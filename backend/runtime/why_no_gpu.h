#pragma once

#include <string_view>

namespace nyala {

/// One sentence for the error that somebody who asks for a GPU gets when there is none.
std::string_view why_no_gpu();

}  // namespace nyala
