// The `nyala` command: Keras files from the shell.
#include <cstdlib>
#include <exception>
#include <iostream>

#include <unistd.h>

#include <nyala/tools/command.h>

namespace {

/// libgomp reads it when it is loaded: threads that wait without end for work take the cores from those that
/// have some.
void set_spin_count(char** arguments) {
  if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  setenv("GOMP_SPINCOUNT", "5000", 1);
  execv("/proc/self/exe", arguments);  // returns only where there is no /proc: then it goes on as it is
}

/// One line, whatever the text.
std::string first_lines(std::string text) {
  for (char& c : text)
    if (c == '\n') c = ' ';
  return text;
}

}  // namespace

int main(int count, char** arguments) {
  set_spin_count(arguments);
  CLI::App app("Predicts, evaluates, trains, shows and converts models that Keras or Nyala wrote.", "nyala");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string(nyala::version()));
  app.footer("Example:\n  nyala predict model.keras --input x.npy --output y.npy");
  try {
    using namespace nyala::tools;
    for (const auto add : {add_predict, add_evaluate, add_fit, add_summary, add_convert, add_info}) add(app);
    app.parse(count, arguments);
    return 0;
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    std::cerr << "error: " << first_lines(error.what()) << " (nyala --help)\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "error: " << first_lines(error.what()) << "\n";
    return 1;
  }
}
