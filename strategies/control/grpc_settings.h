#pragma once

#include <memory>
#include <string>

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <nyala/strategies/control/control_transport.h>

namespace nyala::detail {

/// Has gRPC write to our log. Before gRPC is used first. A program that uses it itself, or whose environment
/// says what it should log, keeps its own setting.
void take_over_grpc_log();

grpc::ByteBuffer to_buffer(const std::string& bytes);

/// Throw IoError where a file cannot be read.
std::shared_ptr<grpc::ServerCredentials> server_credentials(const ControlSecurity& security);
std::shared_ptr<grpc::ChannelCredentials> channel_credentials(const ControlSecurity& security);

/// Settings of both ends: SO_REUSEPORT would let two servers share a port, proxies of the environment would
/// be asked for 127.0.0.1, too, and without keepalive a connection whose other end is gone blocks for a
/// quarter of an hour. No message has more bytes than `most`.
void set_up_server(grpc::ServerBuilder& builder, size_t most);
grpc::ChannelArguments channel_arguments(size_t most);

/// What an attempt of now to reach a server that is not there ends with: ": Connection refused". A call that
/// does not wait tells.
std::string why_not_there(grpc::GenericStub& stub, const char* method);

}  // namespace nyala::detail
