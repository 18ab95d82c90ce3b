#include <nyala/api/base/output.h>

#include <atomic>
#include <iostream>
#include <mutex>
#include <string>
#include <utility>

#include <unistd.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/mutex.h>

namespace nyala {

/// Recursive: a function that is given text may print itself, or set another output.
struct Output::Place {
  Write write;
  const std::ostream* stream = nullptr;  // null: a function
  bool is_standard = false;
  RecursiveMutex busy{Mutex::AtFork::is_waited};
};

namespace {

std::atomic<int> verbosity{1};

}  // namespace

Output::Output(Write write, int) : place_(std::make_shared<Place>()) {
  if (!write)
    throw InvalidArgumentError("Output: the function is empty; set_output() leads back to standard output");
  place_->write = std::move(write);
}

Output::Output(std::ostream& stream)
    : Output(Write([&stream](std::string_view text) {
               stream.write(text.data(), static_cast<std::streamsize>(text.size()));
               stream.flush();
             }),
             0) {
  place_->stream = &stream;
}

Output::Output() : Output(std::cout) { place_->is_standard = true; }

void Output::write(std::string_view text) const {
  const std::lock_guard lock(place_->busy);
  place_->write(text);
}

bool Output::is_terminal() const {
  if (place_->stream == &std::cout) return ::isatty(STDOUT_FILENO) == 1;
  return (place_->stream == &std::cerr || place_->stream == &std::clog) && ::isatty(STDERR_FILENO) == 1;
}

bool Output::is_standard() const { return place_->is_standard; }

class CurrentOutput {
 public:
  /// Never destroyed: what runs at the program's end may print.
  static CurrentOutput& get() {
    static CurrentOutput& one = *new CurrentOutput;
    return one;
  }

  Output output() {
    const std::lock_guard lock(changing_);
    return output_;
  }

  Output exchange(Output output) {
    {
      const std::lock_guard lock(changing_);
      std::swap(output_, output);
    }
    const std::lock_guard wait(output.place_->busy);
    return output;
  }

  /// A place that was left while this thread waited for its turn is not written to any more.
  void print(std::string_view text) {
    while (true) {
      const Output here = output();
      const std::lock_guard lock(here.place_->busy);
      if (here == output()) return here.place_->write(text);
    }
  }

 private:
  Mutex changing_{Mutex::AtFork::is_waited};
  Output output_;
};

Output set_output(Output output) { return CurrentOutput::get().exchange(std::move(output)); }

void set_default_verbosity(int verbose) {
  if (verbose < 0 || verbose > 2)
    throw InvalidArgumentError("set_default_verbosity: expected 0, 1 or 2, received " +
                               std::to_string(verbose));
  verbosity = verbose;
}

int default_verbosity() { return verbosity; }

namespace detail {

Output output() { return CurrentOutput::get().output(); }

void print(std::string_view text) { CurrentOutput::get().print(text); }

int resolved_verbosity(int verbose) { return verbose == kVerboseAuto ? default_verbosity() : verbose; }

}  // namespace detail

}  // namespace nyala
