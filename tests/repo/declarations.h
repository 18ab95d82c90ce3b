#pragma once

#include <string>
#include <vector>

namespace nyala::repo {

/// One declaration at namespace level of a header.
struct Declaration {
  std::string space;  // "nyala::ops"
  std::string head;   // up to the body or the semicolon, without comments, on one line
  std::string body;   // between the braces, comments included; empty where there are none
  std::string
      comment;  // the /// lines above it; without any those that begin its group, up to the empty line
};

/// What a header declares, in its order. Enough C++ for this library's headers.
std::vector<Declaration> declarations_of(const std::string& text);

/// The text without comments, with single spaces.
std::string plain_code(const std::string& text);

}  // namespace nyala::repo
