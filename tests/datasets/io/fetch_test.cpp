#include <nyala/datasets/io/fetch.h>

#include <csignal>
#include <sys/resource.h>
#include <thread>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/datasets/io/data_file.h>
#include <nyala/datasets/io/sha256.h>
#include <nyala/tests/datasets/io/tiny_http_server.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::datasets {
namespace {

std::string hash_of(const Bytes& bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}

class FetchTest : public testing::Test {
 protected:
  // No proxy between the test and its own server.
  ScopedEnvironment no_proxy_{"no_proxy", "127.0.0.1"};
  ScratchFolder folder_;
  Bytes content_ = noise(400'000);
  std::filesystem::path path_ = folder_ / "deep/down/file.gz";
  std::filesystem::path part_ = folder_ / "deep/down/file.gz.part";

  FetchRequest request(const std::string& url) {
    return {.url = url, .path = path_, .sha256 = hash_of(content_)};
  }
  void expect_whole() {
    EXPECT_EQ(read_file(path_), content_);
    EXPECT_FALSE(std::filesystem::exists(part_));
  }
};

TEST_F(FetchTest, DownloadsChecksAndRenames) {
  TinyHttpServer server({.content = content_});
  FetchRequest wanted = request(server.url());
  uint64_t last = 0, total = 0;
  wanted.progress = [&](uint64_t done, uint64_t all) {
    EXPECT_GE(done, last);
    last = done;
    total = all;
  };
  fetch(wanted);
  expect_whole();
  EXPECT_EQ(last, content_.size());
  EXPECT_EQ(total, content_.size());
  fetch(wanted);
  EXPECT_EQ(server.requests(), 1) << "a file that is there is not fetched again";
}

TEST_F(FetchTest, AnEmptyFile) {
  content_.clear();
  TinyHttpServer server({});
  fetch(request(server.url()));
  expect_whole();
}

TEST_F(FetchTest, ABrokenConnectionLeavesThePartAndTheNextFetchGoesOnThere) {
  TinyHttpServer server({.content = content_, .breaks_after = 150'000});
  const std::string message = error_text<IoError>([&] { fetch(request(server.url())); });
  EXPECT_NE(message.find(server.url()), std::string::npos) << message;
  EXPECT_NE(message.find(path_.string()), std::string::npos) << message;
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_EQ(std::filesystem::file_size(part_), 150'000u);
  fetch(request(server.url()));
  expect_whole();
  EXPECT_EQ(server.bytes_sent(), content_.size()) << "no byte was sent twice";
}

TEST_F(FetchTest, AServerThatIgnoresRangesIsAskedFromTheStart) {
  write_file(part_, Bytes(content_.begin(), content_.begin() + 1000));
  TinyHttpServer server({.content = content_, .honours_ranges = false});
  fetch(request(server.url()));
  expect_whole();
}

TEST_F(FetchTest, APartThatIsAlreadyWholeOrTooLong) {
  for (size_t extra : {0u, 5u}) {
    Bytes part = content_;
    part.resize(part.size() + extra);
    write_file(part_, part);
    TinyHttpServer server({.content = content_});
    fetch(request(server.url()));
    expect_whole();
    std::filesystem::remove(path_);
  }
}

TEST_F(FetchTest, AWrongPartIsDroppedAndFetchedAfresh) {
  write_file(part_, noise(1000, 99));
  TinyHttpServer server({.content = content_});
  fetch(request(server.url()));
  expect_whole();
  EXPECT_EQ(server.requests(), 2);
}

TEST_F(FetchTest, OtherBytesThanPublishedAreRefused) {
  Bytes other = content_;
  other.back() ^= 1;
  TinyHttpServer server({.content = other});
  const std::string message = error_text<FileFormatError>([&] { fetch(request(server.url())); });
  EXPECT_NE(message.find("expected SHA-256 " + hash_of(content_) + ", found " + hash_of(other)),
            std::string::npos)
      << message;
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_FALSE(std::filesystem::exists(part_));
}

TEST_F(FetchTest, ServerErrorsAndRefusedConnections) {
  TinyHttpServer server({.content = content_, .status = 404});
  const std::string message = error_text<IoError>([&] { fetch(request(server.url())); });
  EXPECT_NE(message.find("404"), std::string::npos) << message;
  EXPECT_THROW(fetch(request("http://127.0.0.1:1/x")), IoError);
  EXPECT_THROW(fetch(request("nonsense://x")), IoError);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(FetchTest, AnExceptionOfTheProgressFunctionReachesTheCaller) {
  TinyHttpServer server({.content = content_});
  FetchRequest wanted = request(server.url());
  wanted.progress = [](uint64_t, uint64_t) { throw std::runtime_error("stop"); };
  EXPECT_THROW(fetch(wanted), std::runtime_error);
  EXPECT_FALSE(std::filesystem::exists(path_));
  wanted.progress = nullptr;
  fetch(wanted);
  expect_whole();
}

TEST_F(FetchTest, TwoAtATimeTakeTurns) {
  TinyHttpServer server({.content = content_});
  std::thread other([&] { fetch(request(server.url())); });
  fetch(request(server.url()));
  other.join();
  expect_whole();
  EXPECT_EQ(server.requests(), 1);
}

TEST_F(FetchTest, ADiskThatTakesNoMoreIsAnIoErrorAndLeavesNoFile) {
  TinyHttpServer server({.content = content_});
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  const rlimit small{100'000, old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string message = error_text<IoError>([&] { fetch(request(server.url())); });
  setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_NE(message.find("cannot write " + part_.string()), std::string::npos) << message;
  EXPECT_FALSE(std::filesystem::exists(path_));
  fetch(request(server.url()));
  expect_whole();
}

TEST_F(FetchTest, TheHashMustBeGiven) {
  FetchRequest wanted = request("file:///etc/hostname");
  wanted.sha256 = "";
  EXPECT_THROW(fetch(wanted), InvalidArgumentError);
}

TEST_F(FetchTest, DataFilesAreFoundInTheFoldersInOrderPlainOrPacked) {
  const ScopedEnvironment data("NYALA_DATA_DIR", (folder_ / "data").c_str());
  const ScopedEnvironment home("HOME", (folder_ / "home").c_str());
  EXPECT_EQ(find_data_file("set", "x.gz"), std::nullopt);
  const auto keras = write_file(folder_ / "home/.keras/datasets/set/x.gz", {1});
  EXPECT_EQ(find_data_file("set", "x.gz"), keras);
  const auto nyala = write_file(folder_ / "home/.nyala/datasets/set/x", {1});
  EXPECT_EQ(find_data_file("set", "x.gz"), nyala);
  const auto chosen = write_file(folder_ / "data/set/x.gz", {1});
  EXPECT_EQ(find_data_file("set", "x.gz"), chosen);
  EXPECT_EQ(find_data_file("other", "x.gz"), std::nullopt);
}

TEST_F(FetchTest, AMissingDataFileIsDownloadedIntoTheChosenFolder) {
  const ScopedEnvironment data("NYALA_DATA_DIR", (folder_ / "data").c_str());
  TinyHttpServer server({.content = content_});
  const DataFile wanted{.folder = "set", .name = "file.gz", .url = server.url(), .sha256 = hash_of(content_)};
  path_ = folder_ / "data/set/file.gz";
  EXPECT_EQ(find_or_fetch(wanted), path_);
  expect_whole();
}

TEST_F(FetchTest, OfflineTheMessageNamesUrlFileFoldersAndWhereToPutIt) {
  const ScopedEnvironment data("NYALA_DATA_DIR", (folder_ / "data").c_str());
  const ScopedEnvironment home("HOME", (folder_ / "home").c_str());
  const std::string url = "http://127.0.0.1:1/file.gz";
  const std::string message = error_text<IoError>(
      [&] { find_or_fetch({.folder = "set", .name = "file.gz", .url = url, .sha256 = hash_of(content_)}); });
  for (const std::string& part :
       {url, (folder_ / "data/set/file.gz").string(), (folder_ / "home/.nyala/datasets/set").string(),
        (folder_ / "home/.keras/datasets/set").string(), std::string("/usr/share/datasets/set"),
        "put it into " + (folder_ / "data/set").string()})
    EXPECT_NE(message.find(part), std::string::npos) << part << " is not in: " << message;
}

}  // namespace
}  // namespace nyala::datasets
