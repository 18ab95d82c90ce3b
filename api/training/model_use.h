#pragma once

#include <nyala/api/model/model_node.h>

namespace nyala {

/// What a call changes in the layers of a model: everything (set_weights), what is trained (fit), nothing
/// (evaluate, which changes the model's sums), or which layers they are (add).
enum class Writes { all, trained, nothing, list };

/// Keeps others out of a model or a layer while it is written, and out of the layers that it writes; the
/// thread that holds it may come again. Throws StateError while another thread writes it or predicts with
/// it, or uses another model that shares a layer which one of the two writes.
class ExclusiveUse {
 public:
  ExclusiveUse(LayerNode& root, const char* what, Writes writes = Writes::all);
  ~ExclusiveUse();
  ExclusiveUse(const ExclusiveUse&) = delete;
  ExclusiveUse& operator=(const ExclusiveUse&) = delete;

 private:
  const LayerNode& root_;
};

/// Throws StateError where the calling thread is inside a call that uses the model, as a callback of fit
/// is: for what would take away the state that the call goes on with.
void refuse_inside_calls(const ModelNode& model, const char* what);

/// Keeps writers out of a model and its layers while it predicts; any number of threads may predict at once,
/// and the thread that writes may, too. Throws StateError while another thread writes.
class SharedUse {
 public:
  SharedUse(ModelNode& model, const char* what);
  ~SharedUse();
  SharedUse(const SharedUse&) = delete;
  SharedUse& operator=(const SharedUse&) = delete;

 private:
  const LayerNode& root_;
};

}  // namespace nyala
