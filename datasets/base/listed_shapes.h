#pragma once

#include <string>

#include <nyala/datasets/base/element.h>

namespace nyala::detail {

/// "x[0] (10, 2), y[0] (9, 1), sample_weight[0] (10,)": the tensors of an element, for errors about their
/// rows.
std::string listed_shapes(const Element& element);

}  // namespace nyala::detail
