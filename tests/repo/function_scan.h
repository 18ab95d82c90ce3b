#pragma once

#include <string>
#include <vector>

namespace nyala::repo {

/// Where a function stands, lines from 1, its signature included.
struct FunctionExtent {
  int first_line = 0;
  int last_line = 0;

  int lines() const { return last_line - first_line + 1; }
};

/// The functions at namespace or class level of `code` (see code_only), in order. Found by matching braces: a
/// brace behind a head with a parameter list opens a function, one behind namespace, class, struct, union or
/// enum opens a scope that is searched. Lambdas inside a function belong to it.
std::vector<FunctionExtent> functions_of(const std::string& code);

}  // namespace nyala::repo
