#pragma once

#include <cstddef>
#include <initializer_list>

namespace nyala {

/// Any value. Of an array of these is the deleted overload that g++ chooses where a list in braces fits no
/// configuration, `Dense(10, {.activaton = "relu"})`: the error is one line that points at it, instead of all
/// candidates. What fits chooses the other overload, because this one is a template.
struct NoSuchField {
  template <class T>
  NoSuchField(const T&);
  NoSuchField(std::initializer_list<NoSuchField>);
};

}  // namespace nyala
