// attack_lying_numbers [trials] [seed] [folder]: small files of all formats in which numbers lie: sizes,
// counts and addresses become extreme (0, 2^31, 2^32 - 1, 2^64 - 1 and their neighbours), become each other,
// point at themselves or into other structures; structures lie on top of each other; files end early, the
// smallest at every byte. Children read hundreds of them each. None may die, hang, work for more than 2 s,
// take memory that no bytes back, or throw what does not name the file. What carries checksums (.weights.h5,
// checkpoints, .keras) is refused, or loads with the bits that were saved. Failing files are kept in
// `folder`, if that is given.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <stdexcept>

#include <nyala/api/saving/checkpoint.h>
#include <nyala/files/zip/archive.h>
#include <nyala/files/zip/archive_writer.h>
#include <nyala/nyala.h>
#include <nyala/tests/attack/hostile_files.h>

namespace {

using namespace nyala;
using namespace attack;
namespace fs = std::filesystem;

uint64_t number_at(const std::string& bytes, size_t at, size_t width) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, width);
  return value;
}

uint64_t lie(const std::string& bytes, size_t at, size_t width, Random& random) {
  const uint64_t most = width == 8 ? UINT64_MAX : (uint64_t{1} << (8 * width)) - 1,
                 old = number_at(bytes, at, width);
  const uint64_t extremes[] = {
      0, 1, most, most - 1, most / 2, most / 2 + 1, UINT32_MAX, uint64_t{1} << 31, 1 << 20};
  switch (below(random, 6)) {
    case 0:
      return extremes[below(random, std::size(extremes))];
    case 1:
      return at;  // itself
    case 2:
      return below(random, bytes.size());
    case 3:
      return bytes.size() - below(random, 9);
    case 4:
      return below(random, 2) ? old + 1 - 2 * below(random, 2) : old << below(random, 12);
    default:
      return number_at(bytes, below(random, bytes.size() / width) * width, width);
  }
}

std::string lied(std::string bytes, Random& random) {
  for (size_t times = 1 + below(random, 2); times > 0 && bytes.size() > 16; --times) {
    const size_t width = size_t{1} << below(random, 4);
    const size_t at = below(random, bytes.size() - width + 1);
    if (below(random, 12) == 0) {
      const size_t length = std::min(size_t{8} << below(random, 6), bytes.size() / 2);
      std::memmove(bytes.data() + below(random, bytes.size() - length),
                   bytes.data() + below(random, bytes.size() - length), length);
    } else if (below(random, 24) == 0) {
      bytes.resize(at);
    } else {
      const uint64_t value = lie(bytes, at, width, random);
      std::memcpy(bytes.data() + at, &value, width);
    }
  }
  return bytes;
}

/// The weights in an archive, behind its checksums.
std::string lied_inside(const Sample& sample, const fs::path& scratch, Random& random) {
  const zip::Archive archive(StoredBytes(std::as_bytes(std::span(sample.content))), sample.name);
  const std::string path = scratch / "archive";
  zip::ArchiveWriter writer(path);
  for (const zip::Member& member : archive.members()) {
    const zip::Content content = archive.read(member.name);
    const auto bytes = content.bytes.bytes();
    std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (!member.name.ends_with(".json")) text = lied(std::move(text), random);
    writer.add(member.name, text);
  }
  writer.commit();
  return content_of(path);
}

struct Trial {
  const Sample* sample;
  std::string content;
  bool is_checked;  // it must be refused, or be what it was
};

bool carries_checksums(const std::string& name) {
  return name.ends_with(".weights.h5") || name.ends_with(".checkpoint") || name.ends_with(".keras");
}

/// The same for the same number, in whichever process.
class Trials {
 public:
  Trials(const std::vector<Sample>& samples, uint64_t seed, fs::path scratch)
      : samples_(samples), seed_(seed), scratch_(std::move(scratch)) {
    constexpr size_t kSmall = 700;
    for (const Sample& sample : samples)
      for (size_t size = 0; sample.content.size() <= kSmall && size < sample.content.size(); ++size)
        ends_.emplace_back(&sample, size);
  }
  size_t ends() const { return ends_.size(); }
  Trial operator[](size_t i) const {
    if (i < ends_.size()) return {ends_[i].first, ends_[i].first->content.substr(0, ends_[i].second), false};
    Random random(seed_ * 1'000'003 + i);
    const Sample& sample = samples_[below(random, samples_.size())];
    if (sample.name.ends_with(".keras") && below(random, 2))
      return {&sample, lied_inside(sample, scratch_, random), false};
    return {&sample, lied(sample.content, random), carries_checksums(sample.name)};
  }

 private:
  const std::vector<Sample>& samples_;
  uint64_t seed_;
  fs::path scratch_;
  std::vector<std::pair<const Sample*, size_t>> ends_;
};

// ---- the child
// --------------------------------------------------------------------------------------------------

using Bits = std::vector<std::vector<uint8_t>>;

/// All that the file brings into a model.
Bits bits_in(const std::string& path, const std::string& name) {
  const Model model = name.ends_with(".keras") ? load_model(path) : small_model();
  if (name.ends_with(".weights.h5")) model.load_weights(path);
  Bits bits;
  if (name.ends_with(".checkpoint")) {
    const TrainingPosition position = Checkpoint(model).restore(path);
    bits.push_back({static_cast<uint8_t>(position.epoch), static_cast<uint8_t>(position.batch)});
  }
  Tensors all = model.get_weights();
  if (model.compiled())
    for (const OptimizerVariable& variable : model.optimizer().node().variables_for_file())
      all.push_back(variable.value);
  for (const Tensor& tensor : all) tensor.copy_to_host(bits.emplace_back(tensor.bytes()).data());
  return bits;
}

/// What a child tells: it may die at any moment.
struct Told {
  size_t running = 0, loaded = 0, refused = 0;
  bool is_wrong = false;
  char what[2000] = {};
};

void limit_memory() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  constexpr rlim_t kMore = rlim_t{256} << 20;  // than what the largest of the sound files need
  std::ifstream in("/proc/self/statm");
  rlim_t pages = 0;
  in >> pages;
  const rlim_t most = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + kMore;
  const rlimit limit{most, most};
  ::setrlimit(RLIMIT_AS, &limit);
#endif
}

/// SIGPROF after so much work, SIGALRM where nothing happens for so long. 0: none.
void limit_time(time_t work, unsigned waiting) {
  const itimerval limit{{0, 0}, {work, 0}};
  ::setitimer(ITIMER_PROF, &limit, nullptr);
  ::alarm(waiting);
}

/// Empty where it was refused as it should be, or loaded.
std::string defect_in(const Trial& trial, const std::string& path, Told& told) {
  const std::string& name = trial.sample->name;
  try {
    if (trial.is_checked) {
      const std::string sound = path + ".sound" + name.substr(name.rfind('.'));
      const Bits bits = bits_in(path, name);
      write(sound, trial.sample->content);
      if (bits != bits_in(sound, name)) return "other weights were loaded";
    } else {
      read(path, name, false);
    }
    ++told.loaded;
    return "";
  } catch (const OutOfMemoryError& error) {
    return std::string("memory that nothing backs: ") + error.what();
  } catch (const std::exception& error) {
    ++told.refused;
    return defect_of(error, path, name);
  }
}

[[noreturn]] void in_child(const Trials& trials, size_t begin, size_t end, const fs::path& scratch,
                           Told& told) {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  limit_memory();
  set_log_sink([](LogChannel, std::string_view) {});
  for (size_t i = begin; i < end; ++i) {
    told.running = i;
    const Trial trial = trials[i];
    const std::string path = scratch / ("trial_" + trial.sample->name);
    write(path, trial.content);
    limit_time(2, 60);
    const std::string defect = defect_in(trial, path, told);
    limit_time(0, 0);
    fs::remove(path);
    if (defect.empty()) continue;
    told.is_wrong = true;
    std::strncpy(told.what, defect.c_str(), sizeof told.what - 1);
    ::_exit(0);
  }
  told.running = end;
  ::_exit(0);
}

/// Nothing of Nyala may run here: a child inherits no threads. Returns how the child ended.
int forked(const std::function<void()>& work) {
  std::cout.flush();
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

}  // namespace

int main(int count, char** arguments) {
  if (!std::getenv("OMP_NUM_THREADS")) {  // libgomp has read it already
    ::setenv("OMP_NUM_THREADS", "1", 1);
    ::execv("/proc/self/exe", arguments);
  }
  const size_t wanted = count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 3000;
  const uint64_t seed = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 1;
  const fs::path kept = count > 3 ? arguments[3] : "";
  const fs::path scratch = fs::temp_directory_path() / ("nyala_lying_" + std::to_string(::getpid()));
  fs::create_directories(scratch / "made");
  if (forked([&] { make_files(scratch / "made"); }) != 0) return 1;
  const std::vector<Sample> samples = collect(scratch / "made");
  const Trials trials(samples, seed, scratch);
  const size_t all = trials.ends() + wanted;
  Told& told =
      *new (::mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Told;
  size_t failures = 0;
  constexpr size_t kBatch = 300;
  for (size_t next = 0; next < all;) {
    const size_t end = std::min(all, next + kBatch);
    const int status = forked([&] { in_child(trials, next, end, scratch, told); });
    next = told.running;
    if (!WIFSIGNALED(status) && !told.is_wrong && next == end) continue;
    ++failures;
    const Trial trial = trials[next];
    const std::string how = told.is_wrong                 ? told.what
                            : !WIFSIGNALED(status)        ? "EXIT"
                            : WTERMSIG(status) == SIGPROF ? "more than 2 s of work"
                            : WTERMSIG(status) == SIGALRM
                                ? "HUNG"
                                : "DIED of signal " + std::to_string(WTERMSIG(status));
    std::cout << "trial " << next << " of seed " << seed << ", " << trial.sample->name << ": " << how << "\n";
    if (!kept.empty()) write(kept / (std::to_string(next) + "_" + trial.sample->name), trial.content);
    told.is_wrong = false;
    ++next;
  }
  fs::remove_all(scratch);
  std::cout << "seed " << seed << ", " << all << " trials of " << samples.size() << " files: " << told.loaded
            << " loaded, " << told.refused << " refused, " << failures << " failures\n";
  return failures == 0 ? 0 : 1;
}
