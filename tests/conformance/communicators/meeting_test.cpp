// Where ranks find each other: the folder, and the memory of another process.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/communicators/file_rendezvous.h>
#include <nyala/strategies/communicators/shared_memory_communicator.h>
#include <nyala/strategies/communicators/shared_segment.h>
#include <nyala/tests/conformance/communicators/ranks.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::testing {
namespace {

using detail::SharedSegment;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

template <class Error>
std::string refusal(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no such error";
}

TEST(FileRendezvousTest, KeepsWhatWasSet) {
  const ScratchFolder folder;
  FileRendezvous one(folder.path()), other(folder.path());
  EXPECT_EQ(other.get("g1/main/a"), std::nullopt);
  const std::string bytes("a\0b\n\xff", 5);
  one.set("g1/main/a", bytes);
  EXPECT_EQ(other.get("g1/main/a"), bytes);
  one.set("g1/main/a", "");
  EXPECT_EQ(other.wait("g1/main/a", milliseconds(10)), "");
  const std::string large(Rendezvous::kMaxValue, 'x');
  one.set("large", large);
  EXPECT_EQ(other.get("large"), large);
  struct stat about {};
  ASSERT_EQ(::stat((folder.file("key-large")).c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
}

TEST(FileRendezvousTest, WaitsForAKey) {
  const ScratchFolder folder;
  FileRendezvous here(folder.path());
  std::thread later([&] {
    std::this_thread::sleep_for(milliseconds(60));
    here.set("late", "come");
  });
  EXPECT_EQ(here.wait("late", std::chrono::seconds(10)), "come");
  later.join();
  EXPECT_THAT(refusal<TimeoutError>([&] { here.wait("never", milliseconds(30)); }),
              HasSubstr("nobody set 'never' within 0.03 s"));
}

TEST(FileRendezvousTest, RefusesOtherKeysAndPlaces) {
  const ScratchFolder folder;
  FileRendezvous here(folder.path());
  for (const std::string key : {"", "a b", "a\nb", "\xff"})
    EXPECT_THROW(here.set(key, "x"), InvalidArgumentError);
  EXPECT_THROW(here.get(std::string(201, 'a')), InvalidArgumentError);
  EXPECT_THROW(here.set("a", std::string(Rendezvous::kMaxValue + 1, 'x')), InvalidArgumentError);
  here.set("../../up", "inside");  // one file name
  EXPECT_TRUE(std::filesystem::exists(folder / "key-..+..+up"));
  EXPECT_THROW(FileRendezvous(folder.file("none")), IoError);
  const std::string open = folder.file("open");
  std::filesystem::create_directory(open);
  std::filesystem::permissions(open, std::filesystem::perms::all);
  EXPECT_THROW(FileRendezvous{open}, InvalidArgumentError);
}

TEST(FileRendezvousTest, AFolderThatIsGone) {
  auto folder = std::make_unique<ScratchFolder>();
  FileRendezvous here(folder->path());
  folder.reset();
  EXPECT_THROW(here.set("a", "x"), CommunicationError);
  EXPECT_EQ(here.get("a"), std::nullopt);
}

TEST(SharedSegmentTest, TwoSeeOneMemory) {
  SharedSegment made(8192);
  EXPECT_EQ(made.data()[8191], std::byte{0});
  const SharedSegment opened(made.name(), 8192);
  made.data()[17] = std::byte{5};
  EXPECT_EQ(opened.data()[17], std::byte{5});
  const std::string name = made.name();
  made.forget_name();
  EXPECT_THROW(SharedSegment(name, 8192), CommunicationError);
}

TEST(SharedSegmentTest, WhatIsNoSuchMemoryIsNotOpened) {
  SharedSegment made(8192);
  const std::string process = std::to_string(::getpid());
  EXPECT_THAT(refusal<CommunicationError>([&] { SharedSegment(made.name(), 4096); }),
              HasSubstr("another size"));
  for (const std::string name : {"", "7", "a b", "-1 3", "12 -3", "99999999999 1", "1 2 3", "1 2x", " 1 2"})
    EXPECT_THAT(refusal<CommunicationError>([&] { SharedSegment(name, 8192); }), HasSubstr("no name"))
        << name;
  EXPECT_THROW(SharedSegment("999999999 3", 8192), CommunicationError);

  const int file = ::open("/dev/zero", O_RDWR | O_CLOEXEC);
  EXPECT_THAT(refusal<CommunicationError>([&] { SharedSegment(process + " " + std::to_string(file), 8192); }),
              HasSubstr("something else"));
  ::close(file);
  const int unsealed = ::memfd_create("nyala-communicator", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(::ftruncate(unsealed, 8192), 0);
  ASSERT_EQ(::fchmod(unsealed, 0600), 0);
  EXPECT_THAT(
      refusal<CommunicationError>([&] { SharedSegment(process + " " + std::to_string(unsealed), 8192); }),
      HasSubstr("could be shrunk"));
  ASSERT_EQ(::fchmod(unsealed, 0666), 0);
  EXPECT_THAT(
      refusal<CommunicationError>([&] { SharedSegment(process + " " + std::to_string(unsealed), 8192); }),
      HasSubstr("open to other users"));
  ::close(unsealed);
}

/// A name that a former run left is no group, and one set anew is taken.
TEST(SharedMemoryForming, AStaleNameIsPassedBy) {
  const ScratchFolder folder;
  FileRendezvous rendezvous(folder.path());
  rendezvous.set("g0/main/shared-memory", "999999999 3/17");
  const CommunicatorOptions second{.rank = 1, .size = 2, .timeout = milliseconds(200)};
  EXPECT_THAT(refusal<CommunicationError>([&] { shared_memory_communicator(second, rendezvous); }),
              AllOf(HasSubstr("rank 1 finds no rank 0"), HasSubstr("its process has ended")));
  std::thread first([&] {
    std::this_thread::sleep_for(milliseconds(100));
    shared_memory_communicator({.rank = 0, .size = 2}, rendezvous)->barrier();
  });
  shared_memory_communicator({.rank = 1, .size = 2}, rendezvous)->barrier();
  first.join();
}

/// Nothing is taken from what another process wrote but after a look.
TEST(SharedMemoryForming, AnotherNumberOfRanksIsRefused) {
  const ScratchFolder folder;
  FileRendezvous rendezvous(folder.path());
  std::thread first([&] {
    EXPECT_THROW(shared_memory_communicator({.rank = 0, .size = 3, .timeout = milliseconds(500)}, rendezvous),
                 CommunicationError);
  });
  EXPECT_THAT(refusal<CommunicationError>([&] {
                shared_memory_communicator({.rank = 1, .size = 2, .timeout = milliseconds(300)}, rendezvous);
              }),
              HasSubstr("another version or number of ranks"));
  first.join();
}

}  // namespace
}  // namespace nyala::testing
