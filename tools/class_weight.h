#pragma once

#include <string>

#include <nyala/tools/command.h>

namespace nyala::tools {

/// The weights that --class-weight gives to classes of the compiled model's output: all 1 for an empty text.
/// Throws InvalidArgumentError for what is no such JSON, for a class that is there twice, and for one that an
/// output (rows, units) does not have: units above 1 stand for as many classes, one unit under a binary loss
/// for two.
ClassWeight class_weight_of(const std::string& text, const Model& model);

}  // namespace nyala::tools
