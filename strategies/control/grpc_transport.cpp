// One method, whose messages are bytes of our own form: gRPC's generic interfaces, without generated code.
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <set>
#include <utility>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/core/mutex.h>
#include <nyala/strategies/control/control_transport.h>
#include <nyala/strategies/control/grpc_settings.h>

namespace nyala::detail {

namespace {

constexpr const char* kControlMethod = "/nyala.Cluster/Call";

std::string to_bytes(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  for (const grpc::Slice& slice : slices)
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

/// One call on the server. It deletes itself when gRPC is done with it; the answer may come from any thread,
/// also when nobody waits any more.
class ControlCallReactor final : public grpc::ServerGenericBidiReactor {
 public:
  ControlCallReactor(ControlState& state, bool is_known) : state_(state) {
    if (is_known)
      StartRead(&request_);
    else if (!shared_->finished.exchange(true))
      Finish(grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "no such method"));
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      if (!shared_->finished.exchange(true)) Finish(grpc::Status(grpc::StatusCode::CANCELLED, "no message"));
      return;
    }
    const auto answer = [this, shared = shared_](const ControlReply& reply) {
      if (shared->finished.exchange(true)) return;  // from here on this object stays until Finish
      reply_ = to_buffer(encode(reply));
      StartWriteAndFinish(&reply_, grpc::WriteOptions(), grpc::Status::OK);
    };
    ControlRequest request;
    try {
      request = decode_control_request(to_bytes(request_));
    } catch (const Error& error) {
      return answer({.status = ControlStatus::refused, .text = error.what()});
    }
    const std::shared_ptr<Shared> shared = shared_;
    ControlState& state = state_;  // this object may be gone once it is asked
    const uint64_t question = state.handle(std::move(request), answer);
    shared->question = question;
    if (shared->cancelled) state.cancel(question);
  }
  void OnCancel() override {
    shared_->cancelled = true;
    if (const uint64_t question = shared_->question) state_.cancel(question);
    if (!shared_->finished.exchange(true)) Finish(grpc::Status::CANCELLED);
  }
  void OnDone() override { delete this; }

 private:
  struct Shared {
    std::atomic<bool> finished{false}, cancelled{false};
    std::atomic<uint64_t> question{0};
  };

  ControlState& state_;
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  grpc::ByteBuffer request_, reply_;
};

class GrpcControlListener final : public ControlListener, private grpc::CallbackGenericService {
 public:
  GrpcControlListener(const HostPort& address, const ControlSecurity& security, ControlState& state)
      : state_(state) {
    grpc::ServerBuilder builder;
    set_up_server(builder, kMaxControlMessage);
    builder.RegisterCallbackGenericService(this);
    builder.AddListeningPort(address.text(), server_credentials(security), &port_);
    server_ = builder.BuildAndStart();
    if (!server_ || port_ == 0)
      throw IoError("control plane: cannot listen on " + address.text() +
                    ": is the port taken, or the address that of another machine?");
  }
  ~GrpcControlListener() override {
    state_.close();
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
    server_->Wait();
  }
  int port() const override { return port_; }

 private:
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
    return new ControlCallReactor(state_, context->method() == kControlMethod);
  }

  ControlState& state_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

class GrpcControlConnection final : public ControlConnection {
 public:
  GrpcControlConnection(const HostPort& address, const ControlSecurity& security) : address_(address.text()) {
    channel_ = grpc::CreateCustomChannel(address_, channel_credentials(security),
                                         channel_arguments(kMaxControlMessage));
    stub_ = std::make_unique<grpc::GenericStub>(channel_);
  }

  void await(std::chrono::milliseconds timeout) override {
    constexpr std::chrono::milliseconds kLook{50};  // for cancel()
    const auto deadline = std::chrono::system_clock::now() + timeout;
    const auto warn_at = std::chrono::system_clock::now() + std::chrono::seconds(5);
    for (bool warned = false;;) {
      const grpc_connectivity_state state = channel_->GetState(true);
      if (state == GRPC_CHANNEL_READY) return;
      const auto now = std::chrono::system_clock::now();
      check_open();
      if (now >= deadline)
        throw TimeoutError(where() + "it did not come in " + seconds_text(timeout) +
                           why_not_there(*stub_, kControlMethod));
      if (now >= warn_at && !std::exchange(warned, true))
        log(LogChannel::warning, where() + "it is not there yet" + why_not_there(*stub_, kControlMethod));
      channel_->WaitForStateChange(state, std::min(now + kLook, deadline));
    }
  }

  std::string call(const std::string& message, std::chrono::milliseconds timeout) override {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + timeout);
    context.set_wait_for_ready(true);
    const grpc::ByteBuffer request = to_buffer(message);
    grpc::ByteBuffer reply;
    struct End {  // outlives this function where notify_one() comes late
      std::atomic<bool> done{false};
      grpc::Status status;
    };
    const auto end = std::make_shared<End>();
    {
      const std::lock_guard lock(mutex_);
      check_not_cancelled();
      open_.insert(&context);
    }
    stub_->UnaryCall(&context, kControlMethod, {}, &request, &reply, [end](const grpc::Status& status) {
      end->status = status;
      end->done.store(true, std::memory_order_release);
      end->done.notify_one();
    });
    end->done.wait(false, std::memory_order_acquire);
    {
      const std::lock_guard lock(mutex_);
      open_.erase(&context);
    }
    check(end->status, timeout);
    return to_bytes(reply);
  }
  void cancel() noexcept override {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    for (grpc::ClientContext* const context : open_) context->TryCancel();
  }

 private:
  void check(const grpc::Status& status, std::chrono::milliseconds timeout) const {
    if (status.ok()) return;
    if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED)
      throw TimeoutError(where() + "no answer in " + seconds_text(timeout));
    if (status.error_code() == grpc::StatusCode::CANCELLED)  // by cancel(), or by the other end
      throw CommunicationError(where() + "the connection was closed while it waited for an answer");
    if (status.error_code() == grpc::StatusCode::UNAVAILABLE)
      throw PeerLostError(where() + status.error_message());
    throw CommunicationError(where() + status.error_message());
  }
  std::string where() const { return "control plane at " + address_ + ": "; }
  void check_not_cancelled() const {
    if (cancelled_) throw CommunicationError(where() + "the connection is closed");
  }
  void check_open() {
    const std::lock_guard lock(mutex_);
    check_not_cancelled();
  }
  std::string address_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<grpc::GenericStub> stub_;
  Mutex mutex_;
  bool cancelled_ = false;
  std::set<grpc::ClientContext*> open_;
};

}  // namespace

bool grpc_is_built() { return true; }

std::unique_ptr<ControlConnection> connect_control(const HostPort& address, const ControlSecurity& security) {
  check_control_security(address, security);
  take_over_grpc_log();
  return std::make_unique<GrpcControlConnection>(address, security);
}

std::unique_ptr<ControlListener> listen_control(const HostPort& address, const ControlSecurity& security,
                                                ControlState& state) {
  check_control_security(address, security);
  take_over_grpc_log();
  return std::make_unique<GrpcControlListener>(address, security, state);
}

}  // namespace nyala::detail
