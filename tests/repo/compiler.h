#pragma once

#include <string>

namespace nyala {

bool there_is_a_compiler(const std::string& compiler = "g++");

/// What a compiler prints about a source file that includes Nyala's headers; nothing is compiled.
std::string what_the_compiler_says(const std::string& source, const std::string& command = "g++ -std=c++20");

}  // namespace nyala
