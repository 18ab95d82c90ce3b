#pragma once

#include <functional>
#include <string>

#include <nyala/api/model/model_node.h>

namespace nyala {

/// Calls write() in the one process that writes files: where a model's strategy has several, rank 0. The
/// others wait until it has. What they bring to the file has been gathered before. Throws what write()
/// throws, and in the other processes CommunicationError that says so.
void write_once(const ModelNode& model, const std::function<void()>& write);

/// Whether this is the process that writes files.
bool writes_files(const ModelNode& model);
/// Whether this process was started again in the middle of the others' training: files that training writes
/// bit by bit go on.
bool takes_over_training(const ModelNode& model);
/// Whether another process may go on with this one's training, and call the hook once more in which it ends.
bool goes_on_elsewhere(const ModelNode& model);
/// Whether `path` is written already because this process was started again and comes to what the others did
/// before the fit that they are in: it writes nothing until it is in that fit itself.
bool is_written_by_others(const ModelNode& model, const std::string& path);

}  // namespace nyala
