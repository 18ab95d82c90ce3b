#include <nyala/strategies/control/grpc_settings.h>

#include <cstdlib>
#include <fstream>
#include <future>
#include <iterator>

#include <grpc/grpc.h>
#include <grpc/support/log.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>

namespace nyala::detail {

namespace {

/// What gRPC would write to the standard error: what it is about, the caller is told by an error of ours.
void write_to_log(gpr_log_func_args* said) { log(LogChannel::info, "gRPC: " + std::string(said->message)); }

std::string file_text(const std::string& path, const char* what) {
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in || text.empty())
    throw IoError("control plane: cannot read " + std::string(what) + " " + in_quotes(path));
  return text;
}

struct TlsTexts {
  std::string ca, certificate, key;
};

TlsTexts tls_texts(const ControlSecurity& security) {
  return {file_text(security.ca_file, "the authority's certificate"),
          file_text(security.certificate_file, "the certificate"), file_text(security.key_file, "the key")};
}

}  // namespace

void take_over_grpc_log() {
  [[maybe_unused]] static const bool is_ours = [] {
    const bool is_programs =
        grpc_is_initialized() != 0 || std::getenv("GRPC_VERBOSITY") || std::getenv("GRPC_TRACE");
    if (!is_programs) gpr_set_log_function(write_to_log);
    return !is_programs;
  }();
}

grpc::ByteBuffer to_buffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

std::shared_ptr<grpc::ServerCredentials> server_credentials(const ControlSecurity& security) {
  if (!security.has_tls()) return grpc::InsecureServerCredentials();
  const TlsTexts texts = tls_texts(security);
  grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = texts.ca;
  options.pem_key_cert_pairs = {{texts.key, texts.certificate}};
  return grpc::SslServerCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> channel_credentials(const ControlSecurity& security) {
  if (!security.has_tls()) return grpc::InsecureChannelCredentials();
  const TlsTexts texts = tls_texts(security);
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = texts.ca;
  options.pem_cert_chain = texts.certificate;
  options.pem_private_key = texts.key;
  return grpc::SslCredentials(options);
}

void set_up_server(grpc::ServerBuilder& builder, size_t most) {
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 10000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5000);
  builder.SetMaxReceiveMessageSize(static_cast<int>(most));
  builder.SetMaxSendMessageSize(static_cast<int>(most));
}

grpc::ChannelArguments channel_arguments(size_t most) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(static_cast<int>(most));
  arguments.SetMaxSendMessageSize(static_cast<int>(most));
  return arguments;
}

std::string why_not_there(grpc::GenericStub& stub, const char* method) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
  const grpc::ByteBuffer nothing = to_buffer("");
  grpc::ByteBuffer reply;
  const auto end = std::make_shared<std::promise<grpc::Status>>();
  stub.UnaryCall(&context, method, {}, &nothing, &reply,
                 [end](const grpc::Status& status) { end->set_value(status); });
  const grpc::Status status = end->get_future().get();
  if (status.error_code() != grpc::StatusCode::UNAVAILABLE) return ": nothing comes back from there";
  const std::string text = status.error_message(), kLast = "last error: ";
  const size_t last = text.find(kLast);
  return ": " + (last == std::string::npos ? text : text.substr(last + kLast.size()));
}

}  // namespace nyala::detail
