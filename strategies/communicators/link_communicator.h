#pragma once

#include <memory>
#include <string>
#include <vector>

#include <nyala/strategies/communicators/communicator.h>
#include <nyala/strategies/communicators/links.h>
#include <nyala/strategies/communicators/rendezvous.h>

namespace nyala::detail {

/// Ranks with a connection between each two. A call begins with a frame to everybody, of one size whatever
/// the call: what the call is, so that nobody sends what another does not expect, and its data where that is
/// small. Of large reductions each rank adds one part, which the others send it in segments. Adds in the
/// order of ranks.
class LinkCommunicator final : public Communicator {
 public:
  LinkCommunicator(CommunicatorOptions options, std::string kind, std::unique_ptr<Links> links,
                   std::shared_ptr<Rendezvous> rendezvous);
  /// Waits, for 0.3 s at most, until the others have what was sent last.
  ~LinkCommunicator() override;

  /// Where ranks of these options say why they gave up.
  static std::string failure_key(const CommunicatorOptions& options);

 protected:
  std::string kind() const override { return kind_; }
  void run(const Collective& call) override;
  void interrupt(const Failure& failure) noexcept override;

 private:
  static constexpr size_t kFrame = 2048;
  static constexpr size_t kPayload = kFrame - sizeof(CallHeader);
  static constexpr size_t kSegment = 256 * 1024;
  struct Frame {
    CallHeader header;
    std::byte payload[kPayload];
  };
  struct Peer {
    Frame frame;
    std::unique_ptr<Links::Buffer> incoming;  // of frame
    std::unique_ptr<Links::Buffer> data;      // of this call's data
    std::unique_ptr<Links::Buffer> segments;  // of two segments to be added
    std::vector<std::byte> segment_memory;
  };

  void expect_frames(uint64_t number);
  void exchange_frames(const Collective& call, std::span<const std::byte> payload);
  void check_frame(const Collective& call, int peer);
  void reduce(const Collective& call, bool spread);
  void reduce_segments(const Collective& call, bool spread);
  void gather(const Collective& call);
  void broadcast_to_all(const Collective& call);
  void wait_received(const Collective& call, int peer, Links::Buffer& buffer);
  void wait_sent(const Collective& call, int peer, Links::Buffer& buffer);
  template <class Wait>
  void wait(const Collective& call, int peer, Links::Buffer& buffer, Wait&& wait_once);
  template <class Body>
  void trying(const Collective& call, int peer, Body&& body);
  std::optional<Failure> reason_of_others() noexcept;
  void tell_reason(const Failure& failure) noexcept;
  [[noreturn]] void lose(const Collective& call, int peer, const std::string& why);
  void say_goodbye();
  Peer& peer(int rank) { return peers_[static_cast<size_t>(rank)]; }
  template <class Body>
  void for_peers(Body&& body);

  std::string kind_;
  std::shared_ptr<Rendezvous> rendezvous_;
  std::unique_ptr<Links> links_;
  uint32_t process_forks_ = forks();
  uint64_t calls_done_ = 0;
  Frame own_frame_;
  std::unique_ptr<Links::Buffer> outgoing_;  // of own_frame_
  std::vector<Peer> peers_;
  std::vector<const std::byte*> sources_;
  std::vector<std::byte> result_;  // of one segment
  Mutex awaited_mutex_;
  Links::Buffer* awaited_ = nullptr;
  bool interrupted_ = false;
};

}  // namespace nyala::detail
