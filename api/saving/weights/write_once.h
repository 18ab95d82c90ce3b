#pragma once

#include <functional>
#include <string>

#include <nyala/api/model/model.h>

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
/// Makes write(), which gathers what belongs to the file and calls write_once(), with all processes: again
/// where one is lost meanwhile. A process that was started again writes nothing where the others have written
/// `path` before.
void write_with_all(const Model& model, const std::string& path, const std::function<void()>& write);

}  // namespace nyala
