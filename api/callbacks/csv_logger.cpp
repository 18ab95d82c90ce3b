#include <algorithm>
#include <cerrno>
#include <filesystem>

#include <nyala/api/callbacks/base/python_text.h>
#include <nyala/api/callbacks/csv_logger.h>
#include <nyala/api/model/model.h>
#include <nyala/api/saving/weights/write_once.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/write_signals.h>
#include <nyala/files/base/file_errors.h>

namespace nyala {

using namespace nyala::detail;

namespace {

[[noreturn]] void fail(const std::string& filename, const char* what) {
  throw_file_error("CSVLogger: cannot " + std::string(what) + " '" + filename + "'", errno);
}

bool has_bytes(const std::string& filename) {
  std::FILE* file = std::fopen(filename.c_str(), "rb");
  if (!file) return false;
  const bool some = std::fgetc(file) != EOF;
  std::fclose(file);
  return some;
}

std::string quoted(const std::string& cell, const std::string& separator) {
  if (cell.find_first_of("\"\r\n" + separator) == std::string::npos) return cell;
  std::string text = "\"";
  for (char c : cell) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

/// A number, or "[a, b]" in quotes as Keras writes several.
std::string text_of(const std::vector<double>& values) {
  if (values.size() == 1) return python_repr(values[0]);
  std::string text;
  for (const double value : values) text += (text.empty() ? "" : ", ") + python_repr(value);
  return "\"[" + text + "]\"";
}

}  // namespace

CSVLogger::CSVLogger(std::string filename, const Config& config)
    : filename_(std::move(filename)), config_(config) {
  (void)checked_path(filename_);
  if (config.separator.size() != 1 ||
      std::string_view("\"\r\n").find(config.separator) != std::string_view::npos)
    throw InvalidArgumentError(
        "CSVLogger: expected a separator of one character, neither a quote nor the end of a line, received " +
        in_quotes(config.separator));
}

void CSVLogger::on_train_begin(Logs&) {
  if (!writes_files(model().model_node())) return;
  open(config_.append || takes_over_training(model().model_node()));
}

void CSVLogger::open(bool appends) {
  std::error_code error;
  if (std::filesystem::is_fifo(filename_, error))
    throw IoError("CSVLogger: cannot write " + in_quotes(filename_) +
                  ": it is a pipe, which would wait for a reader");
  if (appends) writes_header_ = !has_bytes(filename_);
  std::FILE* file = std::fopen(filename_.c_str(), appends ? "ab" : "wb");
  if (!file) fail(filename_, "open");
  file_ = {file, [](std::FILE* open) { std::fclose(open); }};
  columns_.clear();
  columns_chosen_ = false;
}

void CSVLogger::choose_columns(const Logs& logs) {
  columns_chosen_ = true;
  for (const auto& value : logs) columns_.push_back(value.first);
  std::sort(columns_.begin(), columns_.end());
  const bool validates = std::any_of(columns_.begin(), columns_.end(),
                                     [](const std::string& name) { return name.starts_with("val_"); });
  const size_t count = columns_.size();
  for (size_t i = 0; i < count && !validates; ++i) columns_.push_back("val_" + columns_[i]);
}

void CSVLogger::write_row(const std::vector<std::string>& cells) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i)
    line += (i > 0 ? config_.separator : "") + quoted(cells[i], config_.separator);
  line += "\r\n";
  const NoWriteSignals none;
  if (std::fwrite(line.data(), 1, line.size(), file_.get()) != line.size() || std::fflush(file_.get()) != 0)
    fail(filename_, "write");
}

void CSVLogger::on_epoch_end(int epoch, Logs& logs) {
  if (!writes_files(model().model_node())) return;  // another process does
  if (!file_) open(true);                           // and is lost now
  if (!columns_chosen_) {
    choose_columns(logs);
    std::vector<std::string> header = {"epoch"};
    header.insert(header.end(), columns_.begin(), columns_.end());
    if (writes_header_) write_row(header);
  }
  std::vector<std::string> row = {std::to_string(epoch)};
  for (const std::string& name : columns_)
    row.push_back(logs.contains(name) ? text_of(logs.values(name)) : "NA");
  write_row(row);
}

void CSVLogger::on_train_end(Logs&) { file_.reset(); }

}  // namespace nyala
