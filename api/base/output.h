#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <string_view>
#include <type_traits>

namespace nyala {

/// Where a program's text goes: a stream or a function. A handle; copies are the same place.
class Output {
 public:
  /// Standard output.
  Output();
  /// `stream` must live as long as text may go there. A terminal is known as one behind std::cout and
  /// std::cerr only.
  Output(std::ostream& stream);
  /// Any function of std::string_view. It gets pieces of text as they come: whole lines, with their line
  /// ends. Throws InvalidArgumentError for an empty std::function.
  template <class Function>
    requires(!std::is_base_of_v<Output, std::remove_cvref_t<Function>> &&
             std::is_invocable_v<Function&, std::string_view>)
  Output(Function function) : Output(Write(std::move(function)), 0) {}

  /// Writes and flushes. One thread at a time: the others wait.
  void write(std::string_view text) const;
  /// Whether lines may be drawn over and coloured.
  bool is_terminal() const;
  bool is_standard() const;
  friend bool operator==(const Output&, const Output&) = default;

 private:
  struct Place;
  using Write = std::function<void(std::string_view)>;
  Output(Write write, int);

  std::shared_ptr<Place> place_;
  friend class CurrentOutput;
};

/// Sends all that Nyala prints there from now on, in the whole process: progress bars, `summary()`, messages
/// of callbacks and of downloads (the log has set_log_sink). `set_output()` is the way back to standard
/// output, and what was set before is returned: `const Output former = set_output(stream); ...
/// set_output(former);`. Where the output is no terminal, bars are one plain line each, without colours and
/// carriage returns. An exception that the function (or a stream that was told to throw) throws ends the call
/// that prints, `fit` or `summary`, and arrives there as it is. Thread-safe: when it returns, no other thread
/// uses the former place any more.
Output set_output(Output output = {});

/// Sends it there as long as it lives.
class OutputScope {
 public:
  explicit OutputScope(Output output) : former_(set_output(std::move(output))) {}
  ~OutputScope() { set_output(std::move(former_)); }
  OutputScope(const OutputScope&) = delete;
  OutputScope& operator=(const OutputScope&) = delete;

 private:
  Output former_;
};

/// Keras' verbose = "auto": what set_default_verbosity says, a progress bar at first.
inline constexpr int kVerboseAuto = -1;

/// What fit, evaluate and predict show where their `verbose` is not given, in the whole process: 0 nothing, 1
/// a progress bar (so at first), 2 a line per epoch. Throws InvalidArgumentError for other numbers.
/// Thread-safe.
void set_default_verbosity(int verbose);
int default_verbosity();

namespace detail {

/// The output that is set, and text for it.
Output output();
void print(std::string_view text);
/// What `verbose` means: the default's number where it is kVerboseAuto.
int resolved_verbosity(int verbose);

}  // namespace detail

}  // namespace nyala
