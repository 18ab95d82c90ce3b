#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>

#include <nyala/api/callbacks/base/python_text.h>
#include <nyala/api/callbacks/csv_logger.h>
#include <nyala/api/model/model.h>
#include <nyala/api/saving/weights/write_once.h>
#include <nyala/api/training/state/resume_point.h>
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

/// Without its end; "" where there is none. Rows are far shorter than what is looked at.
std::string last_line(const std::string& filename) {
  constexpr std::streamoff kMost = 1 << 16;
  std::ifstream file(filename, std::ios::binary | std::ios::ate);
  const std::streamoff size = file.tellg();
  if (!file || size <= 0) return "";
  std::string text(static_cast<size_t>(std::min(size, kMost)), '\0');
  file.seekg(size - std::ssize(text));
  file.read(text.data(), std::ssize(text));
  if (!text.ends_with("\r\n")) return "";
  text.resize(text.size() - 2);
  const size_t end = text.rfind("\r\n");
  return end == std::string::npos ? text : text.substr(end + 2);
}

/// The epoch of a row; -1 of another line.
int number_of(const std::string& line, const std::string& separator) {
  int row = -1;
  const char* const line_end = line.data() + line.size();
  const auto [end, error] = std::from_chars(line.data(), line_end, row);
  return error == std::errc() && std::string_view(end, line_end).starts_with(separator) ? row : -1;
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
  first_epoch_ = -1;
  if (!writes_files(model().model_node())) return;
  open(config_.append || takes_over_training(model().model_node()));
}

void CSVLogger::open(bool appends) {
  std::error_code error;
  if (std::filesystem::is_fifo(filename_, error))
    throw IoError("CSVLogger: cannot write " + in_quotes(filename_) +
                  ": it is a pipe, which would wait for a reader");
  if (appends) writes_header_ = !has_bytes(filename_);
  // At its end in any case: while this process stood still another one may have written there.
  std::FILE* file = std::fopen(filename_.c_str(), appends ? "ab" : "wb");
  if (file && !appends) file = std::freopen(filename_.c_str(), "ab", file);
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

std::string CSVLogger::line_of(const std::vector<std::string>& cells) const {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i)
    line += (i > 0 ? config_.separator : "") + quoted(cells[i], config_.separator);
  return line;
}

void CSVLogger::write_line(std::string line) {
  line += "\r\n";
  const NoWriteSignals none;
  if (std::fwrite(line.data(), 1, line.size(), file_.get()) != line.size() || std::fflush(file_.get()) != 0)
    fail(filename_, "write");
}

// A process that was lost may have written the row before: then this hook is called again, perhaps here. Rows
// of another training, before the first one of this, may have the same number.
bool CSVLogger::has_row(int epoch, const std::string& line) const {
  const std::string last = last_line(filename_);
  const int row = number_of(last, config_.separator);
  if (row < 0) return false;
  if (!config_.append) return row >= epoch;
  return row == epoch && (epoch != first_epoch_ || last == line);
}

// In front of the row of a later epoch stand those of this training. Of the first one the last row may be
// that of a training before, unless it says the same.
bool CSVLogger::takes_place_of_row(int epoch, const std::string& line) const {
  if (!config_.append || epoch != first_epoch_ || model().model_node().resume_point().resumed != epoch)
    return false;
  const std::string last = last_line(filename_);
  return number_of(last, config_.separator) == epoch && (epoch > 0 || last == line);
}

void CSVLogger::remove_last_row() {
  std::error_code error;
  const auto size = std::filesystem::file_size(filename_, error);
  const std::string last = last_line(filename_) + "\r\n";
  if (!error) std::filesystem::resize_file(filename_, size - last.size(), error);
  if (error) throw_file_error("CSVLogger: cannot shorten '" + filename_ + "'", error.value());
}

void CSVLogger::take_over(const std::vector<std::pair<int, Logs>>& finished) {
  if (!finished.empty()) first_epoch_ = finished.front().first;
}

void CSVLogger::on_epoch_end(int epoch, Logs& logs) {
  if (first_epoch_ < 0) first_epoch_ = epoch;
  if (!writes_files(model().model_node())) return;  // another process does
  if (!file_) open(true);                           // and is lost now
  if (!columns_chosen_) {
    choose_columns(logs);
    std::vector<std::string> header = {"epoch"};
    header.insert(header.end(), columns_.begin(), columns_.end());
    if (writes_header_) write_line(line_of(header));
  }
  std::vector<std::string> row = {std::to_string(epoch)};
  for (const std::string& name : columns_)
    row.push_back(logs.contains(name) ? text_of(logs.values(name)) : "NA");
  const std::string line = line_of(row);
  if (takes_place_of_row(epoch, line)) remove_last_row();
  if (!goes_on_elsewhere(model().model_node()) || !has_row(epoch, line)) write_line(line);
}

void CSVLogger::on_train_end(Logs&) { file_.reset(); }

}  // namespace nyala
