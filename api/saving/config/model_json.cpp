#include <nyala/api/saving/config/model_json.h>

#include <nyala/api/model/model_node.h>
#include <nyala/api/saving/config/config_writer.h>
#include <nyala/api/saving/config/layer_config.h>
#include <nyala/api/saving/config/save_notes.h>
#include <nyala/api/saving/config/training_config.h>
#include <nyala/backend/core/error.h>

namespace nyala {

Json model_to_json(const Model& model) {
  const SaveNotes notes;
  Json json = layer_to_json(model);
  if (const Shapes shapes = model.model_node().input_shapes(); shapes.size() == 1)
    json["build_config"] = {{"input_shape", shape_to_json(shapes[0])}};
  if (Json compile = compile_to_json(model); !compile.is_null()) json["compile_config"] = std::move(compile);
  notes.say("model " + detail::in_quotes(model.name()));
  return json;
}

}  // namespace nyala
