#pragma once

#include <functional>

#include <nyala/api/fields.h>

namespace nyala::detail {

/// A configuration's fields as a function, for nodes that several classes share.
template <class Config>
std::function<void(FieldVisitor&)> fields_of(Config config) {
  return [config](FieldVisitor& v) mutable { config.fields(v); };
}

}  // namespace nyala::detail
