#include <nyala/api/saving/config/save_notes.h>

#include <algorithm>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>

namespace nyala {

using namespace nyala::detail;

namespace {

std::string listed(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

}  // namespace

void SaveNotes::unregistered(const std::string& class_name) {
  if (SaveNotes* notes = thread_context().save_notes) notes->classes_.insert(class_name);
}

void SaveNotes::left_out(const std::string& what) {
  SaveNotes* notes = thread_context().save_notes;
  if (!notes) return;
  std::vector<std::string>& known = notes->left_out_;
  if (std::find(known.begin(), known.end(), what) == known.end()) known.push_back(what);
}

void SaveNotes::not_compiled(const std::string& reason) {
  if (SaveNotes* notes = thread_context().save_notes) notes->not_compiled_ = reason;
}

void SaveNotes::say(const std::string& what) const {
  std::string text;
  if (!left_out_.empty())
    text += "no file can hold " + listed(left_out_) +
            ": a C++ function is stored by its name, register_serializable(\"package\", \"name\", function); "
            "or compile again after loading, with the optimizer of the loaded model";
  if (!not_compiled_.empty())
    text += (text.empty() ? "" : "; ") +
            std::string("the file does not say how the model was compiled, since ") + not_compiled_ +
            ": compile the loaded model again with an optimizer made the same way, and load_weights() of "
            "this file brings its state back";
  if (!classes_.empty())
    text += (text.empty() ? "" : "; ") + std::string("the file names classes that are not registered, ") +
            quoted_list({classes_.begin(), classes_.end()}) + ": call register_serializable<" +
            *classes_.begin() +
            ">(\"package\") before loading, and best before saving, or load with .custom_objects";
  if (!text.empty()) log(LogChannel::warning, what + ": " + text);
}

}  // namespace nyala
