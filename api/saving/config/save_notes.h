#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <nyala/backend/runtime/context.h>

namespace nyala {

/// While one lives on a thread, what a file being written there cannot hold, or opens only with the reader's
/// help, is gathered, to be said in one warning.
class SaveNotes {
 public:
  SaveNotes() : here_(detail::thread_context().save_notes, this) {}

  /// A class that is not registered: the file names it, and whoever loads the file has to register it.
  static void unregistered(const std::string& class_name);
  /// Something that the file does not hold: "the loss 'loss'".
  static void left_out(const std::string& what);
  /// The file holds nothing of what compile() was told.
  static void not_compiled(const std::string& reason);
  /// A number of that layer among those of the file, from 1.
  int64_t number_of(const void* layer) {
    return numbers_.try_emplace(layer, static_cast<int64_t>(numbers_.size()) + 1).first->second;
  }
  /// Logs the warning, which begins with `what`; nothing where there is nothing to say.
  void say(const std::string& what) const;

 private:
  std::set<std::string> classes_;
  std::vector<std::string> left_out_;
  std::string not_compiled_;
  std::map<const void*, int64_t> numbers_;
  ScopedValue<SaveNotes*> here_;
};

}  // namespace nyala
