#pragma once

#include <utility>

#include <nyala/api/model/model_node.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/status_word.h>
#include <nyala/files/base/file_errors.h>

namespace nyala {

/// Throws NumericError for the first trouble that kernels reported to `status`, naming the model. A label or
/// index is named by its place in `given`, the arrays that a call was given, whatever the order in which
/// their rows came; by its place in its batch where there are none (null), or where it stands in several of
/// them.
void check_status(StatusWords& status, const ModelNode& model, const Element* given);

/// Throws NumericError for what kernels of training steps reported and nobody looked at: weights may be
/// wrong. The model need not be compiled.
void check_trained_status(const ModelNode& model);

/// Runs f, a part of the model's work: where the model came from a file, errors name it.
template <class F>
decltype(auto) naming_its_file(const ModelNode& model, F&& f) {
  try {
    return std::forward<F>(f)();
  } catch (const Error&) {
    if (model.loaded_from().empty()) throw;
    rethrow_naming(model.loaded_from());
  }
}

}  // namespace nyala
