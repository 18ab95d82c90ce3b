#pragma once

#include <string>

#include <nyala/api/layers/base/layer.h>
#include <nyala/files/json/json.h>

namespace nyala {

/// A tensor of the graph, as Keras writes it.
bool is_keras_tensor(const Json& json);

/// Whether a call in a file gives its tensors in a dictionary, or to a model that nests its inputs.
bool is_nested_call(const Layer& layer, const Json& args, const Json& keywords);

/// What a model is called with as the list of its inputs: as in Keras by its own nesting or, of a dictionary,
/// by the names of its inputs, where those of no input count for nothing. Anything else is given back as it
/// is. Throws FileFormatError naming `where` for another nesting and for a dictionary given to another layer.
Json list_of_inputs(const Layer& layer, const Json& given, const std::string& where);

/// The same for the argument `mask`. Of a dictionary by the names of inputs Keras takes the masks as they are
/// sorted by name, for the inputs in their own order.
Json list_of_masks(const Layer& layer, const Json& given, const std::string& where);

}  // namespace nyala
