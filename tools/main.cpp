// The `nyala` command: Keras files from the shell.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <iostream>

#include <nyala/backend/core/printable.h>
#include <nyala/tools/command.h>

namespace {

/// One line, whatever the text.
std::string first_lines(std::string text) {
  for (char& c : text)
    if (c == '\n') c = ' ';
  return nyala::printable(text);
}

/// CLI11 would say only that a subcommand is missing.
void check_command(const CLI::App& app, int count, char** arguments) {
  if (count < 2) return;
  std::vector<std::string> names;
  if (arguments[1][0] == '-') {
    if (app.get_option_no_throw(arguments[1])) return;
    throw nyala::InvalidArgumentError("unknown option " + nyala::detail::in_quotes(arguments[1]) +
                                      ": expected a command first (nyala --help)");
  }
  for (const CLI::App* command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  if (std::find(names.begin(), names.end(), arguments[1]) == names.end())
    throw nyala::InvalidArgumentError("unknown command '" + std::string(arguments[1]) +
                                      "': expected one of " + nyala::detail::quoted_list(names));
}

/// A variable of the shell that is not set is none of ours: "--output $OUT" must not train for nothing. What
/// `nyala launch` gives the program is the program's.
void refuse_empty_values(CLI::App& app) {
  const auto is_empty = [](const std::string& text) {
    return text.empty() ? std::string("expected a value, received ''") : std::string();
  };
  for (CLI::App* command : app.get_subcommands(nullptr))
    for (CLI::Option* option : command->get_options())
      if (option->get_items_expected_min() > 0 && option->get_name() != "program")
        option->check(is_empty, "");
}

/// What is opened later must not take the number of a standard stream that is closed: it would be written to.
/// In its place stands one that refuses what the stream is for.
void keep_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0) ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

void check_standard_output() {
  std::cout.flush();
  if (!std::cout) throw nyala::IoError("cannot write to the standard output");
}

/// What the command line asks for; the exit status of a program that has done it.
int run(CLI::App& app, int count, char** arguments) {
  check_command(app, count, arguments);
  try {
    app.parse(count, arguments);
  } catch (const CLI::Success& help) {
    app.exit(help);
  }
  check_standard_output();
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  keep_standard_streams();
  std::signal(SIGPIPE, SIG_IGN);  // a reader that has gone is an error like others,
  std::signal(SIGXFSZ, SIG_IGN);  // and so is a file that may not grow
  CLI::App app("Makes, predicts, evaluates, trains, shows and converts models that Keras or Nyala wrote.",
               "nyala");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string(nyala::version()));
  app.footer("Example:\n  nyala predict model.keras --input x.npy --output y.npy");
  try {
    using namespace nyala::tools;
    for (const auto add : {add_predict, add_evaluate, add_fit, add_summary, add_convert, add_new, add_info,
                           add_launch, add_serve})
      add(app);
    refuse_empty_values(app);
    return run(app, count, arguments);
  } catch (const nyala::tools::ExitStatus& exit) {
    return exit.status;
  } catch (const CLI::ParseError& error) {
    std::cerr << "error: " << first_lines(error.what()) << " (nyala --help)\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "error: " << first_lines(error.what()) << "\n";
    return 1;
  }
}
