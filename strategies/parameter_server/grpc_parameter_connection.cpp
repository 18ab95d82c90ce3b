// A call is one bidirectional stream: the asker's chunks, then the service's. gRPC's threads copy them from
// and to the caller's memory; the caller only waits.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <exception>
#include <mutex>
#include <set>
#include <utility>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/control/grpc_settings.h>
#include <nyala/strategies/parameter_server/grpc_chunks.h>
#include <nyala/strategies/parameter_server/parameter_message.h>
#include <nyala/strategies/parameter_server/parameter_transport.h>

namespace nyala::detail {

namespace {

/// What a connection and its calls share.
class ParameterLink {
 public:
  ParameterLink(const HostPort& address, const ControlSecurity& security, std::string who)
      : token(security.token), address_(address.text()), who_(std::move(who)) {
    grpc::ChannelArguments arguments = channel_arguments(kMaxParameterMessage);
    arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);  // they would keep copies of what is sent
    channel_ = grpc::CreateCustomChannel(address_, channel_credentials(security), arguments);
    stub_ = std::make_unique<grpc::GenericStub>(channel_);
  }

  std::string where() const { return who_ + " at " + address_ + ": "; }
  grpc::GenericStub& stub() { return *stub_; }
  void open(grpc::ClientContext* call) {
    const std::lock_guard lock(mutex_);
    check_open();
    open_.insert(call);
  }
  void close(grpc::ClientContext* call) {
    const std::lock_guard lock(mutex_);
    open_.erase(call);
  }
  void cancel() {
    const std::lock_guard lock(mutex_);
    is_cancelled_ = true;
    for (grpc::ClientContext* const call : open_) call->TryCancel();
  }
  /// Throws what a call's end means. `was_there`: the server took something of it.
  [[noreturn]] void fail(const grpc::Status& status, bool was_there, std::chrono::milliseconds timeout) {
    {
      const std::lock_guard lock(mutex_);
      check_open();
    }
    switch (status.error_code()) {
      case grpc::StatusCode::DEADLINE_EXCEEDED:
        if (was_there || channel_->GetState(false) == GRPC_CHANNEL_READY)
          throw TimeoutError(where() + "no answer in " + seconds_text(timeout));
        throw PeerLostError(where() + "nobody was there in " + seconds_text(timeout) +
                            why_not_there(*stub_, kParameterMethod));
      case grpc::StatusCode::CANCELLED:  // not by us
        throw PeerLostError(where() + "it ended the call");
      case grpc::StatusCode::UNAVAILABLE:
        throw PeerLostError(where() + status.error_message());
      case grpc::StatusCode::OK:
        throw CommunicationError(where() + "the answer broke off");
      default:
        throw CommunicationError(where() + status.error_message());
    }
  }

  const std::string token;
  const std::shared_ptr<ChunkPool> chunks = std::make_shared<ChunkPool>();

 private:
  void check_open() const {
    if (is_cancelled_) throw CommunicationError(where() + "the connection is closed");
  }

  const std::string address_, who_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<grpc::GenericStub> stub_;
  std::mutex mutex_;
  bool is_cancelled_ = false;
  std::set<grpc::ClientContext*> open_;
};

class GrpcParameterCall final : public ParameterCall,
                                private grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  GrpcParameterCall(std::shared_ptr<ParameterLink> link, SentBytes payload, AnswerPlace place,
                    std::chrono::milliseconds timeout)
      : link_(std::move(link)), payload_(std::move(payload)), place_(std::move(place)), timeout_(timeout) {}

  void start(std::string header) {
    context_.set_deadline(std::chrono::system_clock::now() + timeout_);
    context_.set_wait_for_ready(true);
    context_.set_initial_metadata_corked(true);  // goes with the first message
    const std::string head =
        encode({.token = link_->token, .header = std::move(header), .bytes = payload_.left()});
    message_ = next_message(head);
    link_->open(&context_);
    link_->stub().PrepareBidiStreamingCall(&context_, kParameterMethod, {}, this);
    is_started_ = true;
    write();
    reads_.end();
    StartRead(&answer_);
    StartCall();
  }
  ~GrpcParameterCall() override {
    if (!is_started_) return;
    context_.TryCancel();
    end_->done.wait(false, std::memory_order_acquire);
    link_->close(&context_);
  }

  std::string wait() override {
    if (std::exchange(has_waited_, true)) throw StateError(link_->where() + "wait() of a call comes once");
    end_->done.wait(false, std::memory_order_acquire);
    if (is_complete_) return std::move(header_);
    if (failure_) std::rethrow_exception(failure_);
    link_->fail(end_->status, was_there_, timeout_);
  }

 private:
  struct End {  // outlives the call where notify_one() comes late
    std::atomic<bool> done{false};
    grpc::Status status;
  };

  void OnWriteDone(bool ok) override {
    writes_.begin();
    if (!ok) return;
    was_there_ = true;
    if (payload_.left() == 0 || stops_) return;
    try {
      message_ = next_message("");
    } catch (const std::bad_alloc&) {
      context_.TryCancel();
      return;
    }
    write();
  }
  grpc::ByteBuffer next_message(const std::string& head) {
    return link_->chunks->message(head, parameter_chunk(payload_.left()),
                                  [this](std::span<std::byte> chunk) { payload_.read(chunk); });
  }
  void write() {
    writes_.end();
    if (payload_.left() == 0)
      StartWriteLast(&message_, grpc::WriteOptions());
    else
      StartWrite(&message_);
  }

  void OnReadDone(bool ok) override {
    reads_.begin();
    if (!ok) return;
    was_there_ = true;
    try {
      receive();
      is_complete_ = places_.left() == 0;
      reads_.end();
      if (!is_complete_) StartRead(&answer_);
    } catch (...) {
      failure_ = std::current_exception();
      reads_.end();
      stops_ = true;
      context_.TryCancel();
    }
  }
  void receive() {
    ReadMessage message(answer_);
    ByteReader& bytes = message.bytes();
    if (!has_header_) {
      ParameterAnswerHead head = decode_parameter_answer(bytes);
      if (head.is_refused) throw CommunicationError(link_->where() + head.header);
      header_ = std::move(head.header);
      has_header_ = true;
      places_ = ByteWriter(place_ ? place_(header_, head.bytes) : ReceivedBytes{});
      if (places_.left() != head.bytes)
        throw CommunicationError(link_->where() + "places for " + std::to_string(places_.left()) +
                                 " bytes, the answer has " + std::to_string(head.bytes));
    }
    check_parameter_chunk(bytes, places_.left());
    places_.write(bytes, bytes.left());
  }
  void OnDone(const grpc::Status& status) override {
    reads_.begin();
    writes_.begin();
    const std::shared_ptr<End> end = end_;
    end->status = status;
    end->done.store(true, std::memory_order_release);
    end->done.notify_one();
  }

  const std::shared_ptr<ParameterLink> link_;
  ByteReader payload_;
  const AnswerPlace place_;
  const std::chrono::milliseconds timeout_;
  const std::shared_ptr<End> end_ = std::make_shared<End>();
  grpc::ClientContext context_;
  grpc::ByteBuffer message_, answer_;
  ReactionOrder reads_, writes_;
  bool is_started_ = false, has_waited_ = false;
  std::atomic<bool> was_there_{false}, stops_{false};
  bool has_header_ = false, is_complete_ = false;  // these by reads, which follow each other
  std::string header_;
  ByteWriter places_;
  std::exception_ptr failure_;
};

class GrpcParameterConnection final : public ParameterConnection {
 public:
  GrpcParameterConnection(const HostPort& address, const ControlSecurity& security, const std::string& who)
      : link_(std::make_shared<ParameterLink>(address, security, who)) {}

  std::unique_ptr<ParameterCall> start(std::string header, SentBytes payload, AnswerPlace place,
                                       std::chrono::milliseconds timeout) override {
    check_parameter_header(header);
    auto call = std::make_unique<GrpcParameterCall>(link_, std::move(payload), std::move(place), timeout);
    call->start(std::move(header));
    return call;
  }
  void cancel() noexcept override { link_->cancel(); }

 private:
  const std::shared_ptr<ParameterLink> link_;
};

}  // namespace

std::unique_ptr<ParameterConnection> connect_parameters(const HostPort& address,
                                                        const ControlSecurity& security,
                                                        const std::string& who) {
  check_control_security(address, security);
  take_over_grpc_log();
  return std::make_unique<GrpcParameterConnection>(address, security, who);
}

}  // namespace nyala::detail
