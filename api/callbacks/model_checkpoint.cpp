#include <cmath>
#include <filesystem>

#include <nyala/api/callbacks/base/python_text.h>
#include <nyala/api/callbacks/model_checkpoint.h>
#include <nyala/api/model/model.h>
#include <nyala/api/saving/weights/write_once.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/files/base/atomic_file.h>
#include <nyala/files/base/file_errors.h>

namespace nyala {

using namespace nyala::detail;

namespace {

void check_path(const std::string& path, bool weights_only) {
  if (weights_only && !path.ends_with(".weights.h5"))
    throw InvalidArgumentError(
        "ModelCheckpoint: with save_weights_only the path must end in `.weights.h5` (Keras "
        "weights format). Received: filepath=" +
        path);
  const bool is_hdf5 = path.ends_with(".h5") || path.ends_with(".hdf5");
  const bool holds_models = path.ends_with(".keras") || (is_hdf5 && !path.ends_with(".weights.h5"));
  if (!weights_only && !holds_models)
    throw InvalidArgumentError(
        "ModelCheckpoint: the path must end in `.keras` (Keras model format), or in `.h5` or `.hdf5` (its "
        "legacy "
        "format); for `.weights.h5` set save_weights_only. Received: filepath=" +
        path);
}

void make_folder_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(checked_path(path)).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error)
    throw_file_error("ModelCheckpoint: cannot make the folder '" + folder.string() + "'", error.value());
}

/// What killed writers left of files of this pattern, also of those that are never written again.
void remove_left_of(const std::string& pattern) {
  const std::filesystem::path path(pattern);
  const std::string folder = path.parent_path().string(), name = path.filename().string();
  if (folder.find('{') != std::string::npos) return;  // it is not one folder
  const size_t begin = name.find('{'), end = name.rfind('}');
  const bool is_one_name = begin == std::string::npos || end == std::string::npos;
  const auto is_one = [&](std::string_view found) {
    if (is_one_name) return found == name;
    return found.starts_with(name.substr(0, begin)) && found.ends_with(name.substr(end + 1));
  };
  remove_left_by_killed_writers(folder.empty() ? "." : folder, is_one);
}

std::string five_digits(double value) { return format_path("{value:.5f}", {}, Logs{{"value", value}}); }

}  // namespace

SaveFrequency::SaveFrequency(const char* name) {
  if (std::string(name) != "epoch")
    throw InvalidArgumentError("Unrecognized save_freq: " + std::string(name) +
                               ". Expected save_freq are 'epoch' or integer values");
}

SaveFrequency::SaveFrequency(int batches) : batches_(batches) {
  if (batches <= 0)
    throw InvalidArgumentError("save_freq: expected 'epoch' or a number of batches > 0, received " +
                               std::to_string(batches));
}

ModelCheckpoint::ModelCheckpoint(std::string filepath, const Config& config)
    : MonitorCallback("ModelCheckpoint", config.monitor, config.mode),
      filepath_(std::move(filepath)),
      config_(config) {
  check_path(filepath_, config.save_weights_only);
  if (!std::isnan(config.initial_value_threshold)) best_ = config.initial_value_threshold;
}

void ModelCheckpoint::on_epoch_begin(int epoch, Logs&) {
  epoch_ = epoch;
  if (writes_files(saved_model().model_node())) remove_left_of(filepath_);
}

void ModelCheckpoint::on_train_batch_end(int64_t batch, Logs& logs) {
  if (config_.save_freq.every_epoch()) return;
  // A batch number that did not grow belongs to a new epoch.
  batches_since_save_ += last_batch_ < 0 || batch <= last_batch_ ? batch + 1 : batch - last_batch_;
  last_batch_ = batch;
  if (batches_since_save_ < config_.save_freq.batches()) return;
  batches_since_save_ = 0;
  save(epoch_, batch, logs);
}

void ModelCheckpoint::on_epoch_end(int epoch, Logs& logs) {
  if (config_.save_freq.every_epoch()) save(epoch, -1, logs);
}

CallbackState ModelCheckpoint::state() const {
  return {.numbers = {best_.value_or(kNoValue), static_cast<double>(last_batch_),
                      static_cast<double>(batches_since_save_)}};
}

void ModelCheckpoint::set_state(const CallbackState& state) {
  best_.reset();
  if (!std::isnan(state.numbers.at(0))) best_ = state.numbers[0];
  last_batch_ = static_cast<int64_t>(state.numbers.at(1));
  batches_since_save_ = static_cast<int64_t>(state.numbers.at(2));
}

void ModelCheckpoint::say(int epoch, const std::string& text) const {
  if (config_.verbose > 0) print_message("\nEpoch " + std::to_string(epoch + 1) + ": " + text);
}

bool ModelCheckpoint::is_best(int epoch, double current, const std::string& path) {
  const std::string best = best_ ? five_digits(*best_) : "None";
  if (!is_improvement(current, best_)) {
    say(epoch, monitor() + " did not improve from " + best);
    return false;
  }
  say(epoch,
      monitor() + " improved from " + best + " to " + five_digits(current) + ", saving model to " + path);
  best_ = current;
  return true;
}

bool ModelCheckpoint::is_wanted(int epoch, const Logs& logs, const std::string& path) {
  if (config_.save_best_only) {
    find_direction(logs);
    const std::optional<double> current = monitored(logs, "Can save best model only with metric");
    if (!current) return true;
    return is_best(epoch, *current, path);
  }
  say(epoch, "saving model to " + path);
  return true;
}

void ModelCheckpoint::save(int epoch, int64_t batch, const Logs& logs) {
  std::map<std::string, int64_t> numbers = {{"epoch", epoch + 1}};
  if (batch >= 0) numbers["batch"] = batch + 1;
  const std::string path = format_path(filepath_, numbers, logs);
  if (!is_wanted(epoch, logs, path)) return;
  make_folder_of(path);
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    throw IoError(
        "Please specify a non-directory filepath for ModelCheckpoint. Filepath used is an existing "
        "directory: " +
        path);
  if (config_.save_weights_only)
    saved_model().save_weights(path);
  else
    saved_model().save(path);
  if (writes_files(saved_model().model_node())) remove_left_of(filepath_);
  say(epoch, "finished saving model to " + path);
}

}  // namespace nyala
