#include <algorithm>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/tests/repo/source_tree.h>

namespace nyala::repo::third_party_headers_test {
namespace {

/// Where the headers of one outside library may appear. `heavy`: in .cpp files, and in headers that
/// nobody outside of these folders includes.
struct Placement {
  std::string library;
  std::regex header;
  std::vector<std::string> folders;
  bool heavy = true;
};

const std::vector<Placement>& placements() {
  static const std::vector<Placement> all = {
      {"oneDNN", std::regex("^(dnnl|oneapi/dnnl/).*"), {"backend/kernels/cpu"}},
      {"CUDA",
       std::regex("^(cuda|cudnn|cublas|nvtx|curand|cub/).*"),
       {"backend/kernels/cuda", "backend/runtime/cuda"}},
      {"Eigen", std::regex("^Eigen/.*"), {"backend/ops", "api/eigen.h"}},
      {"spdlog", std::regex("^spdlog/.*"), {"backend/core"}},
      {"fmt", std::regex("^fmt/.*"), {"backend"}},
      {"NCCL, Gloo", std::regex("^(nccl|gloo/).*"), {"strategies/communicators", "strategies/cross_device"}},
      {"gRPC",
       std::regex("^(grpc|google/protobuf/).*"),
       {"strategies/control", "strategies/parameter_server"}},
      {"stb_image", std::regex("^(stb/|stb_).*"), {"datasets"}},
      {"curl", std::regex("^curl/.*"), {"datasets"}},
      {"zlib", std::regex("^zlib\\.h"), {"datasets", "files"}},
      {"HDF5", std::regex("^(hdf5|H5).*"), {"files/hdf5"}},
      {"JSON", std::regex("^nlohmann/.*"), {"files/json"}},
      {"CLI11", std::regex("^CLI/.*"), {"tools"}},
      {"GoogleTest", std::regex("^(gtest|gmock)/.*"), {"tests"}},
      {"Google Benchmark", std::regex("^benchmark/.*"), {"benchmarks"}},
      {"OpenMP", std::regex("^omp\\.h"), {"backend", "strategies", "datasets"}, false},
      {"SIMD",
       std::regex("^(immintrin|x86intrin|cpuid)\\.h"),
       {"backend/core", "backend/runtime", "backend/kernels/cpu"},
       false},
  };
  return all;
}

bool is_system_header(const std::string& header) {
  static const std::regex standard("^[a-z_0-9]+$");
  static const std::regex posix(
      "^(sys/[a-z]+|netinet/[a-z]+|arpa/"
      "inet|unistd|fcntl|signal|pthread|sched|dlfcn|poll|netdb|pwd|malloc|termios|"
      "spawn|link|execinfo|linux/[a-z_]+|stdio|stdlib|string|errno)\\.h$");
  return std::regex_match(header, standard) || std::regex_match(header, posix);
}

bool lies_in_one_of(const std::string& path, const std::vector<std::string>& folders) {
  return std::any_of(folders.begin(), folders.end(),
                     [&](const auto& folder) { return lies_in(path, folder); });
}

const Placement* placement_of(const std::string& header) {
  for (const Placement& placement : placements()) {
    if (std::regex_match(header, placement.header)) return &placement;
  }
  return nullptr;
}

/// Tests compare with outside libraries and benchmarks measure against them: they may include what they need.
bool is_library_code(const std::string& path) { return !lies_in_one_of(path, {"tests", "benchmarks"}); }

TEST(ThirdPartyHeaders, StandWhereTheTableSays) {
  for (const SourceFile& file : cpp_files()) {
    if (!is_library_code(file.path)) continue;
    for (const Include& include : includes_of(file)) {
      if (include.header.starts_with("nyala/") || is_system_header(include.header)) continue;
      const Placement* placement = placement_of(include.header);
      ASSERT_NE(placement, nullptr) << file.path << ":" << include.line << " includes <" << include.header
                                    << ">, which no line of the table allows";
      EXPECT_TRUE(lies_in_one_of(file.path, placement->folders))
          << file.path << ":" << include.line << " includes <" << include.header
          << ">: " << placement->library << " does not belong there";
    }
  }
}

/// How far a heavy header may reach: the folders of the line of the table where its own stands, else its own.
std::vector<std::string> reach_of(const std::string& header) {
  for (const Placement& placement : placements())
    if (placement.heavy && placement.library != "fmt" && lies_in_one_of(header, placement.folders))
      return placement.folders;
  return {header.substr(0, header.rfind('/'))};
}

TEST(ThirdPartyHeaders, HeavyOnesDoNotSpreadThroughHeaders) {
  std::set<std::string> heavy;  // headers that include a heavy one, themselves or through others
  for (bool grown = true; grown;) {
    grown = false;
    for (const SourceFile& file : cpp_files()) {
      if (!is_header(file.path) || !is_library_code(file.path) || heavy.contains(file.path)) continue;
      for (const Include& include : includes_of(file)) {
        const Placement* placement = placement_of(include.header);
        const bool through = include.header.starts_with("nyala/") && heavy.contains(include.header.substr(6));
        if (through || (placement != nullptr && placement->heavy)) grown = heavy.insert(file.path).second;
      }
    }
  }
  heavy.erase("api/eigen.h");  // opt-in, and included by nothing of ours
  for (const SourceFile& file : cpp_files()) {
    for (const Include& include : includes_of(file)) {
      if (!include.header.starts_with("nyala/")) continue;
      const std::string target = include.header.substr(6);
      if (!heavy.contains(target)) continue;
      EXPECT_TRUE(lies_in_one_of(file.path, reach_of(target)) || lies_in(file.path, "tests"))
          << file.path << ":" << include.line << " includes " << target
          << ", which brings a heavy outside header";
    }
  }
}

/// Of the tests, too, but for those that compare with it: including it costs each file seconds.
TEST(ThirdPartyHeaders, JsonLibraryStandsBehindATypeOfOurOwn) {
  for (const SourceFile& file : cpp_files()) {
    const bool may = lies_in_one_of(file.path, {"files/json", "tests/files/json"}) && !is_header(file.path);
    for (const Include& include : includes_of(file))
      EXPECT_TRUE(may || !include.header.starts_with("nlohmann/"))
          << file.path << ":" << include.line << " includes <" << include.header
          << ">: include nyala/files/json/json.h";
  }
}

TEST(ThirdPartyHeaders, CommandLineLibraryComesByOneHeader) {
  for (const SourceFile& file : cpp_files())
    for (const Include& include : includes_of(file))
      EXPECT_TRUE(!include.header.starts_with("CLI/") || file.path == "tools/options.h" ||
                  lies_in(file.path, "benchmarks"))
          << file.path << ":" << include.line << ": include nyala/tools/options.h";
}

TEST(ThirdPartyHeaders, EigenHeaderIsOptIn) {
  for (const SourceFile& file : cpp_files()) {
    if (!is_library_code(file.path) || lies_in(file.path, "examples")) continue;
    for (const Include& include : includes_of(file))
      EXPECT_NE(include.header, "nyala/api/eigen.h") << file.path;
  }
}

}  // namespace
}  // namespace nyala::repo::third_party_headers_test
