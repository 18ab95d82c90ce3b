#pragma once

#include <cstddef>
#include <initializer_list>

namespace nyala {

/// Any value. Of an array of these is the deleted overload that g++ chooses where a list in braces fits no
/// configuration, for a misspelled field or a value of a type that the field does not take,
/// `Dense(10, {.activaton = "relu"})` or `Dense(10, {.use_bias = "no"})`: the error is one line that points
/// at it, instead of all candidates. What fits chooses the other overload, because this one is a template.
struct NoSuchFieldOrValueOfWrongType {
  template <class T>
  NoSuchFieldOrValueOfWrongType(const T&);
  NoSuchFieldOrValueOfWrongType(std::initializer_list<NoSuchFieldOrValueOfWrongType>);
};

/// Short in declarations; the compiler prints the long one.
using NoSuchField = NoSuchFieldOrValueOfWrongType;

}  // namespace nyala
