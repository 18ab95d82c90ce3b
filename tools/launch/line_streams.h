#pragma once

#include <string>
#include <string_view>

namespace nyala::tools {

/// Whole lines that wait to be written to a stream, in pieces that never block a pipe.
class LineSink {
 public:
  explicit LineSink(int stream) : stream_(stream) {}

  int stream() const { return stream_; }
  void add(std::string_view text) { waiting_ += text; }
  bool is_empty() const { return waiting_.empty(); }
  /// More than that waits: who writes has to wait.
  bool is_full() const { return waiting_.size() > (1u << 20); }
  bool is_broken() const { return broken_; }
  /// Once the stream can be written: one piece. What cannot be written any more is dropped.
  void write_some();

 private:
  int stream_;
  bool broken_ = false;
  std::string waiting_;
};

/// What a rank writes to one of its streams: lines, with the rank in front, go to a sink; the bytes as they
/// are to a log.
class LineSource {
 public:
  /// `log`: a file that is open for writing, or -1. Where it cannot be written any more `trouble` is told,
  /// once.
  LineSource(std::string prefix, LineSink& sink, int log, LineSink& trouble)
      : prefix_(std::move(prefix)), sink_(sink), log_(log), trouble_(trouble) {}
  ~LineSource();
  LineSource(const LineSource&) = delete;
  LineSource& operator=(const LineSource&) = delete;

  /// Reads what is there now from `stream`; false at its end.
  bool read(int stream);
  /// A last line without an end goes out, too.
  void finish();

 private:
  void take(std::string_view bytes);
  void end_log(int error);

  std::string prefix_;
  LineSink& sink_;
  int log_;
  LineSink& trouble_;
  std::string begun_;
};

}  // namespace nyala::tools
