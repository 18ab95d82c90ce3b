// Calls lie with gRPC while they wait for bytes, for an answer or for an asker who reads slowly: no thread is
// theirs.
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <mutex>
#include <set>
#include <utility>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/control/control_state.h>
#include <nyala/strategies/control/grpc_settings.h>
#include <nyala/strategies/parameter_server/grpc_chunks.h>
#include <nyala/strategies/parameter_server/parameter_message.h>
#include <nyala/strategies/parameter_server/parameter_transport.h>
#include <nyala/strategies/parameter_server/served_call.h>

namespace nyala::detail {

namespace {

class GrpcServedCall;

/// What a listener and its calls share.
struct ParameterCalls {
  ParameterService& service;
  const std::string token;
  const std::shared_ptr<ChunkPool> chunks = std::make_shared<ChunkPool>();
  std::mutex mutex = {};
  bool is_closing = false;
  std::set<std::shared_ptr<GrpcServedCall>> open = {};  ///< until gRPC is done with them
};

/// One call on the server. gRPC touches it until OnDone(), which comes after Finish(): the one is called
/// at most once, and nothing else is started after it.
class GrpcServedCall final : public grpc::ServerGenericBidiReactor, public ServedCall {
 public:
  explicit GrpcServedCall(std::shared_ptr<ParameterCalls> calls) : calls_(std::move(calls)) {}

  static grpc::ServerGenericBidiReactor* open(const std::shared_ptr<ParameterCalls>& calls, bool is_known) {
    const auto call = std::make_shared<GrpcServedCall>(calls);
    bool is_closing = false;
    {
      const std::lock_guard lock(calls->mutex);
      calls->open.insert(call);
      is_closing = calls->is_closing;
    }
    if (is_closing)
      call->close();
    else if (is_known)
      call->read();
    else
      call->finish_with(grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "no such method"));
    return call.get();
  }
  void close() {
    end();
    finish_with(grpc::Status(grpc::StatusCode::UNAVAILABLE, "the parameter server has ended"));
  }

  void OnReadDone(bool ok) override {
    reads_.begin();
    try {
      if (!ok) throw CommunicationError("the payload broke off");
      receive();
    } catch (const std::exception& error) {
      break_off(error.what());
    }
  }
  void OnWriteDone(bool ok) override {
    writes_.begin();
    if (ok)
      write_next("");
    else
      finish_with(grpc::Status::CANCELLED);
  }
  void OnCancel() override {
    end();
    finish_with(grpc::Status::CANCELLED);
  }
  void OnDone() override {
    reads_.begin();
    writes_.begin();
    end();
    std::shared_ptr<GrpcServedCall> self;
    {
      const std::lock_guard lock(calls_->mutex);
      if (const auto found = calls_->open.find(std::static_pointer_cast<GrpcServedCall>(shared_from_this()));
          found != calls_->open.end())
        self = std::move(calls_->open.extract(found).value());
    }
    {
      const std::lock_guard lock(mutex_);
      is_done_ = true;
      if (is_filling_) return;  // who fills lets go
    }
    let_go();
  }

 private:
  void receive() {
    ReadMessage message(message_);
    ByteReader& bytes = message.bytes();
    if (!std::exchange(has_begun_, true)) {
      ParameterCallHead head = decode_parameter_call(bytes);
      if (!calls_->token.empty() && !same_secret(head.token, calls_->token))
        throw CommunicationError("wrong token: all processes need the same NYALA_TOKEN");
      check_parameter_chunk(bytes, head.bytes);
      if (!begin(calls_->service, std::move(head.header), head.bytes)) return;
    } else {
      check_parameter_chunk(bytes, bytes_left());
    }
    if (!take(bytes, bytes.left())) return;
    if (bytes_left() == 0)
      finish();
    else
      read();
  }
  /// The call is not what it should be, and the receiver hears that it is over.
  void break_off(const std::string& text) {
    end();
    deliver_refusal(text);
  }

  void deliver(ParameterAnswer answer) override {
    const std::string head = encode(ParameterAnswerHead{.header = answer.header, .bytes = answer.bytes});
    {
      const std::lock_guard lock(mutex_);
      if (is_finished_) return;
      answer_ = std::move(answer);
    }
    write_next(head);
  }
  void deliver_refusal(const std::string& text) override {
    grpc::ByteBuffer message = to_buffer(encode({.is_refused = true, .header = text}));
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_finished_, true)) return;
    message_out_ = std::move(message);
    StartWriteAndFinish(&message_out_, grpc::WriteOptions(), grpc::Status::OK);
  }
  /// The next chunk of the answer. Called by deliver(), then by OnWriteDone().
  void write_next(const std::string& head) {
    {
      const std::lock_guard lock(mutex_);
      if (is_finished_ || is_done_) return;
      is_filling_ = true;
    }
    grpc::Status failure;
    try {
      const size_t size = parameter_chunk(answer_.bytes - filled_);
      message_out_ = calls_->chunks->message(
          head, size, [this](std::span<std::byte> chunk) { answer_.fill(filled_, chunk); });
      filled_ += size;
    } catch (const std::exception& error) {
      failure = {grpc::StatusCode::INTERNAL, std::string(error.what()).substr(0, 500)};
    } catch (...) {
      failure = {grpc::StatusCode::INTERNAL, "the service threw what is no std::exception"};
    }
    bool is_done = false;
    {
      const std::lock_guard lock(mutex_);
      is_filling_ = false;
      is_done = is_done_;
      writes_.end();
      if (!is_finished_) start_write(failure);
    }
    if (is_done) let_go();
  }
  void start_write(const grpc::Status& failure) {
    is_finished_ = !failure.ok() || filled_ == answer_.bytes;
    if (!failure.ok())
      Finish(failure);
    else if (is_finished_)
      StartWriteAndFinish(&message_out_, grpc::WriteOptions(), grpc::Status::OK);
    else
      StartWrite(&message_out_);
  }
  void read() {
    const std::lock_guard lock(mutex_);
    reads_.end();
    if (!is_finished_) StartRead(&message_);
  }
  void finish_with(const grpc::Status& status) {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(is_finished_, true)) Finish(status);
  }
  /// Of what belongs to the service and to gRPC; who holds this object still may do so for long.
  void let_go() {
    answer_ = {};
    message_.Clear();
    message_out_.Clear();
  }

  const std::shared_ptr<ParameterCalls> calls_;
  grpc::ByteBuffer message_, message_out_;
  ReactionOrder reads_, writes_;
  bool has_begun_ = false;
  std::mutex mutex_;
  bool is_finished_ = false, is_filling_ = false, is_done_ = false;
  ParameterAnswer answer_;
  uint64_t filled_ = 0;
};

class GrpcParameterListener final : public ParameterListener, private grpc::CallbackGenericService {
 public:
  GrpcParameterListener(const HostPort& address, const ControlSecurity& security, ParameterService& service)
      : calls_(new ParameterCalls{.service = service, .token = security.token}) {
    grpc::ServerBuilder builder;
    set_up_server(builder, kMaxParameterMessage);
    builder.RegisterCallbackGenericService(this);
    builder.AddListeningPort(address.text(), server_credentials(security), &port_);
    server_ = builder.BuildAndStart();
    if (!server_ || port_ == 0)
      throw IoError("parameter server: cannot listen on " + address.text() +
                    ": is the port taken, or the address that of another machine?");
  }
  ~GrpcParameterListener() override {
    std::set<std::shared_ptr<GrpcServedCall>> open;
    {
      const std::lock_guard lock(calls_->mutex);
      calls_->is_closing = true;
      open = calls_->open;
    }
    for (const auto& call : open) call->close();
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
    server_->Wait();
  }
  int port() const override { return port_; }

 private:
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
    return GrpcServedCall::open(calls_, context->method() == kParameterMethod);
  }

  const std::shared_ptr<ParameterCalls> calls_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace

std::unique_ptr<ParameterListener> listen_parameters(const HostPort& address, const ControlSecurity& security,
                                                     ParameterService& service) {
  check_control_security(address, security);
  take_over_grpc_log();
  return std::make_unique<GrpcParameterListener>(address, security, service);
}

}  // namespace nyala::detail
