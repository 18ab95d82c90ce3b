// attack_mutated_files [trials] [seed] [folder]: small files of all formats, damaged in one way or several,
// are read by a child process each: models are loaded, predict and train a step. Nothing may die, hang, throw
// what is no nyala::Error, or name neither the file nor what is wrong in letters that a terminal would obey.
// A model that loads although its configuration was changed has finite weights. Failing files are kept in
// `folder`, if that is given; with ATTACK_TEXTS in the environment all errors are printed.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <nyala/backend/core/log.h>
#include <nyala/files/json/json_text.h>
#include <nyala/files/json/strict_json.h>
#include <nyala/files/zip/archive.h>
#include <nyala/files/zip/archive_writer.h>
#include <nyala/nyala.h>
#include <nyala/tests/attack/hostile_files.h>

namespace {

using namespace nyala;
namespace fs = std::filesystem;
using namespace attack;

// ---- damage ---------------------------------------------------------------------------------------------

// clang-format off
const std::vector<std::string> kHostile = {"a\x1b[31m\nb", "\x9b" "2J", std::string(5000, 'x'), "", "../x",
                                           "\xc2\x9b", "'quoted'", "None", "__tensor__", "lstm/dense", "\r",
                                           "\xff\xfe"};
// clang-format on

Json other_value(Random& random, const std::vector<Json>& others) {
  // clang-format off
  static const std::vector<Json> extremes = {
      0, -1, 1, 2147483648u, -2147483649ll, INT64_MAX, INT64_MIN, UINT64_MAX, 1e308, -1e308, 1e-320, 0.5,
      false, true, nullptr, "relu", "float16", Json::array(), Json::object(), 65536, 1000000};
  // clang-format on
  switch (below(random, 5)) {
    case 0:
      return extremes[below(random, extremes.size())];
    case 1:
      return kHostile[below(random, 9)];  // those that JSON can hold
    case 2:
      return Json::array({extremes[below(random, extremes.size())], others[below(random, others.size())]});
    case 3:
      return Json::object({{kHostile[below(random, 9)], others[below(random, others.size())]}});
    default:
      return others[below(random, others.size())];
  }
}

void list_places(Json& json, std::vector<Json*>& places) {
  places.push_back(&json);
  if (json.is_structured())
    for (Json& item : json) list_places(item, places);
}

/// JSON stays JSON: values of other types, extremes, values of other places, keys gone or added.
std::string damaged_json(const std::string& text, Random& random) {
  Json json;
  try {
    json = parse_json(text, "sample");
  } catch (const Error&) {
    return text;
  }
  for (size_t times = 1 + below(random, 3); times > 0; --times) {
    std::vector<Json*> places;
    list_places(json, places);
    std::vector<Json> values;
    for (size_t i = 0; i < 20; ++i) values.push_back(*places[below(random, places.size())]);
    Json& place = *places[below(random, places.size())];
    if (place.is_object() && !place.empty() && below(random, 2)) {
      const std::string key = place.items()[below(random, place.size())].key;
      if (below(random, 2))
        place.erase(key);
      else
        place[kHostile[below(random, 9)]] = Json(place[key]);
    } else if (place.is_array() && !place.empty() && below(random, 2)) {
      place.push_back(Json(place[below(random, place.size())]));
    } else {
      place = other_value(random, values);
    }
  }
  return readable_json(json);
}

std::string damaged_bytes(std::string bytes, Random& random, const std::vector<Sample>& samples) {
  const auto place = [&] { return below(random, bytes.size()); };
  for (size_t times = 1 + below(random, 4); times > 0 && !bytes.empty(); --times) {
    const size_t at = place(), length = std::min(bytes.size() - at, size_t{1} << below(random, 10));
    switch (below(random, 9)) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ 1 << below(random, 8));
        break;
      case 1:
        bytes[at] = static_cast<char>(random());
        break;
      case 2: {  // a number to an extreme
        const size_t width = std::min(size_t{1} << below(random, 4), bytes.size() - at);
        const char fill[] = {'\0', '\xff', '\x7f', '\x80'};
        std::memset(bytes.data() + at, fill[below(random, 4)], width);
        break;
      }
      case 3:
        bytes.resize(at);
        break;
      case 4:
        bytes.erase(at, length);
        break;
      case 5:
        bytes.insert(place(), bytes.substr(at, length));
        break;
      case 6: {  // two parts change places
        const size_t other = place(), size = std::min({length, bytes.size() - other, bytes.size() - at});
        for (size_t i = 0; i < size; ++i) std::swap(bytes[at + i], bytes[other + i]);
        break;
      }
      case 7: {  // a scalar of JSON inside: the text keeps its length
        const std::pair<const char*, const char*> words[] = {
            {"true", "1e99"}, {"null", "\"ab\""}, {"null", "[[]]"}, {"false", "-1000"}, {"relu", "\x1b[1m"},
            {": 1", ":-9"},   {"[", "{"},         {"float32", "float99"}, {"dense", "d\"n\\e"}};
        const auto& [from, to] = words[below(random, std::size(words))];
        if (const size_t found = bytes.find(from, at); found != std::string::npos)
          bytes.replace(found, std::strlen(from), to);
        break;
      }
      default: {  // a part of another file
        const std::string& other = samples[below(random, samples.size())].content;
        const size_t begin = below(random, other.size());
        bytes.replace(at, length, other.substr(begin, length));
      }
    }
  }
  return bytes;
}

/// Members of an archive are damaged behind its checksums. `config_only` says that weights were left alone.
std::string damaged_archive(const Sample& sample, Random& random, const std::vector<Sample>& samples,
                            const fs::path& scratch, bool& config_only) {
  const auto bytes = std::as_bytes(std::span(sample.content));
  const zip::Archive archive(bytes, nullptr, sample.name);
  const std::string path = scratch / "archive";
  const size_t hit = below(random, archive.members().size());
  {
    zip::ArchiveWriter writer(path);
    for (size_t i = 0; i < archive.members().size(); ++i) {
      const std::string& name = archive.members()[i].name;
      const zip::Content content = archive.read(name);
      std::string text(reinterpret_cast<const char*>(content.bytes.bytes().data()), content.bytes.size());
      if (i == hit || name == "config.json") {
        if (name.ends_with(".json") && (name == "config.json" ? hit < 2 || i == hit : true))
          text = damaged_json(text, random);
        else if (i == hit)
          text = damaged_bytes(text, random, samples);
        if (i == hit && !name.ends_with(".json")) config_only = false;
      }
      writer.add(name, text);
    }
    writer.commit();
  }
  return content_of(path);
}

struct Damaged {
  std::string content;
  bool weights_are_whole = false;
};

Damaged damaged(const Sample& sample, Random& random, const std::vector<Sample>& samples,
                const fs::path& scratch) {
  if (sample.name.ends_with(".json")) return {damaged_json(sample.content, random)};
  if (sample.content.starts_with("PK") && below(random, 8) != 0) {
    bool config_only = true;
    std::string content = damaged_archive(sample, random, samples, scratch, config_only);
    return {std::move(content), config_only && sample.name.ends_with(".keras")};
  }
  return {damaged_bytes(sample.content, random, samples)};
}

// ---- the child ------------------------------------------------------------------------------------------

enum Outcome { loaded, refused, wrong, died, hung };

[[noreturn]] void in_child(const std::string& path, const Sample& sample, bool weights_are_whole) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const rlimit memory{rlim_t{6} << 30, rlim_t{6} << 30};
  ::setrlimit(RLIMIT_AS, &memory);
#endif
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::alarm(10);
  const auto complain = [](const std::string& what) {
    std::cout << what << std::endl;
    ::_exit(wrong);
  };
  bool raw_log = false;
  set_log_sink(
      [&](LogChannel, std::string_view text) { raw_log = raw_log || printable(text, true) != text; });
  try {
    read(path, sample.name, weights_are_whole);
  } catch (const std::exception& error) {
    if (const std::string defect = defect_of(error, path, sample.name); !defect.empty()) complain(defect);
    if (std::getenv("ATTACK_TEXTS")) std::cout << error.what() << std::endl;
    ::_exit(refused);
  }
  if (raw_log) complain("a raw text in the log");
  ::_exit(loaded);
}

Outcome outcome_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGALRM ? hung : died;
  const int code = WEXITSTATUS(status);
  return code <= wrong ? static_cast<Outcome>(code) : died;
}

/// Nothing of Nyala may run here: a child inherits no threads.
template <class F>
pid_t forked(F&& f) {
  std::cout.flush();
  const pid_t child = ::fork();
  if (child != 0) return child;
  f();
  ::_exit(loaded);
}

std::string kind_of(const std::string& name) {
  for (const char* ending : {".weights.h5", ".checkpoint"})
    if (name.ends_with(ending)) return ending;
  return fs::path(name).extension();
}

}  // namespace

int main(int count, char** arguments) {
  if (!std::getenv("OMP_NUM_THREADS")) {  // libgomp has read it already
    ::setenv("OMP_NUM_THREADS", "1", 1);
    ::execv("/proc/self/exe", arguments);
  }
  const size_t trials = count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 500;
  const uint64_t seed = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 1;
  const fs::path kept = count > 3 ? arguments[3] : "";
  const fs::path scratch = fs::temp_directory_path() / ("nyala_mutated_" + std::to_string(::getpid()));
  fs::create_directories(scratch / "made");
  if (outcome_of(forked([&] { make_files(scratch / "made"); })) != loaded) {
    std::cout << "cannot make the files\n";
    return 1;
  }
  const std::vector<Sample> samples = collect(scratch / "made");
  std::map<std::string, std::map<Outcome, size_t>> table;
  size_t failures = 0;
  for (size_t trial = 0; trial < trials; ++trial) {
    Random random(seed * 1'000'003 + trial);
    const Sample& sample = samples[below(random, samples.size())];
    const Damaged file = damaged(sample, random, samples, scratch);
    const std::string path = scratch / ("trial_" + sample.name);
    write(path, file.content);
    const Outcome outcome = outcome_of(forked([&] { in_child(path, sample, file.weights_are_whole); }));
    ++table[kind_of(sample.name)][outcome];
    if (outcome >= wrong) {
      ++failures;
      const char* const what[] = {"", "", "wrong", "DIED", "HUNG"};
      std::cout << what[outcome] << ": trial " << trial << " of seed " << seed << ", " << sample.name << "\n";
      if (!kept.empty()) fs::copy_file(path, kept / (std::to_string(trial) + "_" + sample.name),
                                       fs::copy_options::overwrite_existing);
    }
    for (const auto& entry : fs::directory_iterator(scratch))
      if (entry.is_regular_file()) fs::remove(entry.path());
  }
  fs::remove_all(scratch);
  std::cout << "seed " << seed << ", " << trials << " trials of " << samples.size() << " files\n"
            << "kind            loaded refused   wrong    died    hung\n";
  for (auto& [kind, counts] : table) {
    std::printf("%-14s %7zu %7zu %7zu %7zu %7zu\n", kind.c_str(), counts[loaded], counts[refused],
                counts[wrong], counts[died], counts[hung]);
  }
  return failures == 0 ? 0 : 1;
}
