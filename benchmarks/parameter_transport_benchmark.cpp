// Tensors to (push) and from (pull) a parameter server in another process, over the loopback, beside a plain
// gRPC stream of ByteBuffers of a megabyte that copies nothing but what is received, and a round trip of
// 1 MB.
//   parameter_transport_benchmark [--benchmark_filter=...]
// bytes_per_second counts the payload once. rows_pull and rows_push: 4,096 rows of 64 floats of a table of so
// many bytes, which Adagrad changes; rows_both is one after the other, to be held against raw_round_trip of
// 1 MB.
#include <benchmark/benchmark.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#ifdef NYALA_BENCHMARK_GRPC
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <nyala/api/layers/base/row_initializer.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/api/serving/optimizer_rule.h>
#include <nyala/api/serving/row_optimizer.h>
#include <nyala/api/training/training_by_workers.h>
#include <nyala/strategies/parameter_server/parameter_server.h>
#include <nyala/strategies/parameter_server/remote_tables.h>

namespace nyala {
namespace {

using detail::ReceivedBytes;
using Bytes = std::vector<std::byte>;
using namespace std::chrono_literals;

constexpr size_t kChunk = detail::kParameterChunk;
constexpr const char* kRawMethod = "/benchmark.Raw/Call";

/// Keeps what comes in one piece of memory, and gives of it what a header asks for.
class MemoryService final : public detail::ParameterService {
 public:
  std::shared_ptr<detail::ParameterReceiver> begin(std::string header) override {
    return std::make_shared<Receiver>(memory_, std::stoull(header));
  }

 private:
  class Receiver final : public detail::ParameterReceiver {
   public:
    Receiver(Bytes& memory, uint64_t asked) : memory_(memory), asked_(asked) {}
    ReceivedBytes place(uint64_t bytes) override { return {std::span(memory_).first(bytes)}; }
    void finish(std::function<void(detail::ParameterAnswer)> answer,
                std::function<void(const std::string&)>) override {
      answer({.header = "", .bytes = asked_, .fill = [this](uint64_t offset, std::span<std::byte> chunk) {
                std::memcpy(chunk.data(), memory_.data() + offset, chunk.size());
              }});
    }

   private:
    Bytes& memory_;
    const uint64_t asked_;
  };

  Bytes memory_ = Bytes(128 << 20, std::byte{1});
};

/// The first eight bytes of a stream say how many it asks for; then come chunks.
class RawReactor final : public grpc::ServerGenericBidiReactor {
 public:
  explicit RawReactor(Bytes& memory) : memory_(memory) { StartRead(&in_); }
  void OnReadDone(bool ok) override {
    if (!ok) return write();
    std::vector<grpc::Slice> slices;
    if (!in_.Dump(&slices).ok()) return Finish(grpc::Status::CANCELLED);
    for (const grpc::Slice& slice : slices) take(slice);
    StartRead(&in_);
  }
  void OnWriteDone(bool ok) override {
    if (ok)
      write();
    else
      Finish(grpc::Status::CANCELLED);
  }
  void OnDone() override { delete this; }

 private:
  /// A message comes in slices of any size: also the head.
  void take(const grpc::Slice& slice) {
    const size_t of_head = std::min(slice.size(), sizeof left_ - head_);
    std::memcpy(reinterpret_cast<std::byte*>(&left_) + head_, slice.begin(), of_head);
    head_ += of_head;
    std::memcpy(memory_.data() + place_, slice.begin() + of_head, slice.size() - of_head);
    place_ += slice.size() - of_head;
  }
  void write() {
    if (left_ == 0) return Finish(grpc::Status::OK);
    const size_t size = static_cast<size_t>(std::min<uint64_t>(left_, kChunk));
    const grpc::Slice slice(memory_.data() + offset_, size, grpc::Slice::STATIC_SLICE);
    out_ = grpc::ByteBuffer(&slice, 1);
    offset_ += size;
    left_ -= size;
    StartWrite(&out_);
  }

  Bytes& memory_;
  grpc::ByteBuffer in_, out_;
  size_t head_ = 0;  // bytes of it that are there
  uint64_t left_ = 0, place_ = 0, offset_ = 0;
};

class RawServer final : public grpc::CallbackGenericService {
 public:
  int start() {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.RegisterCallbackGenericService(this);
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    server_ = builder.BuildAndStart();
    return port;
  }

 private:
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
    return new RawReactor(memory_);
  }
  Bytes memory_ = Bytes(128 << 20, std::byte{1});
  std::unique_ptr<grpc::Server> server_;
};

/// Both servers, in a process of their own that is forked before this one uses gRPC.
struct Ports {
  int ours = 0, raw = 0, tables = 0;
  pid_t process = 0;
};

Ports start_servers() {
  int ends[2];
  if (::pipe(ends) != 0) return {};
  Ports ports;
  ports.process = ::fork();
  if (ports.process == 0) {
    MemoryService service;
    const auto listener = detail::listen_parameters({"127.0.0.1", 0}, {}, service);
    RawServer raw;
    detail::ParameterServer tables(detail::read_optimizer_rules(), "", detail::read_row_fillers());
    const auto of_tables = detail::listen_parameters({"127.0.0.1", 0}, {}, tables);
    const int said[3] = {listener->port(), raw.start(), of_tables->port()};
    if (::write(ends[1], said, sizeof said) != sizeof said) ::_exit(1);
    for (;;) ::pause();
  }
  int said[3] = {};
  if (::read(ends[0], said, sizeof said) == sizeof said)
    ports.ours = said[0], ports.raw = said[1], ports.tables = said[2];
  return ports;
}

Ports ports;

void count_bytes(benchmark::State& state) { state.SetBytesProcessed(state.iterations() * state.range(0)); }

/// A call of ours that pushes and pulls so much.
void transfer(benchmark::State& state, uint64_t push, uint64_t pull) {
  static const auto connection = detail::connect_parameters({"127.0.0.1", ports.ours}, {});
  Bytes sent(push, std::byte{2}), got(pull);
  const auto place = [&](const std::string&, uint64_t) { return ReceivedBytes{got}; };
  for (auto _ : state) connection->start(std::to_string(pull), {sent}, place, 60s)->wait();
  count_bytes(state);
}

void raw_transfer(benchmark::State& state, uint64_t push, uint64_t pull) {
  static grpc::GenericStub stub(
      grpc::CreateChannel("127.0.0.1:" + std::to_string(ports.raw), grpc::InsecureChannelCredentials()));
  Bytes sent(push, std::byte{2}), got(pull);
  for (auto _ : state) {
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    bool ok = true;
    void* tag = nullptr;
    const auto next = [&] { ok = queue.Next(&tag, &ok) && ok; };
    const auto stream = stub.PrepareCall(&context, kRawMethod, &queue);
    stream->StartCall(&tag);
    next();
    const grpc::Slice head(&pull, sizeof pull);
    stream->Write(grpc::ByteBuffer(&head, 1), &tag);
    next();
    for (uint64_t at = 0; at < push && ok; at += kChunk) {
      const grpc::Slice slice(sent.data() + at, std::min<uint64_t>(kChunk, push - at),
                              grpc::Slice::STATIC_SLICE);
      stream->Write(grpc::ByteBuffer(&slice, 1), &tag);
      next();
    }
    stream->WritesDone(&tag);
    next();
    for (uint64_t at = 0; at < pull && ok;) {
      grpc::ByteBuffer buffer;
      std::vector<grpc::Slice> slices;
      stream->Read(&buffer, &tag);
      next();
      if (!ok || !buffer.Dump(&slices).ok()) break;
      for (const grpc::Slice& slice : slices) {
        std::memcpy(got.data() + at, slice.begin(), slice.size());
        at += slice.size();
      }
    }
    grpc::Status status;
    stream->Finish(&status, &tag);
    next();
    if (!status.ok()) state.SkipWithError(status.error_message().c_str());
  }
  count_bytes(state);
}

void push(benchmark::State& state) { transfer(state, static_cast<uint64_t>(state.range(0)), 0); }
void pull(benchmark::State& state) { transfer(state, 0, static_cast<uint64_t>(state.range(0))); }
void round_trip(benchmark::State& state) {
  transfer(state, static_cast<uint64_t>(state.range(0)), static_cast<uint64_t>(state.range(0)));
}
void raw_push(benchmark::State& state) { raw_transfer(state, static_cast<uint64_t>(state.range(0)), 0); }
void raw_pull(benchmark::State& state) { raw_transfer(state, 0, static_cast<uint64_t>(state.range(0))); }
void raw_round_trip(benchmark::State& state) {
  raw_transfer(state, static_cast<uint64_t>(state.range(0)), static_cast<uint64_t>(state.range(0)));
}

/// A table on the server, of which this process has nothing.
class RemoteTable {
 public:
  static constexpr int64_t kPerStep = 4096, kColumns = 64;

  explicit RemoteTable(int64_t bytes) : rows_(bytes / (kColumns * int64_t{sizeof(float)})) {
    std::vector<std::unique_ptr<detail::ParameterConnection>> servers;
    servers.push_back(detail::connect_parameters({"127.0.0.1", ports.tables}, {}));
    parameters_ = std::make_unique<detail::RemoteParameters>(std::move(servers),
                                                             detail::RemoteParameters::Options{60s, {}, 0});
    detail::set_row_source(*store_, parameters_->tables());
    const auto first = [] { return RowSource::First{detail::text_of_row_initializer("zeros"), 1}; };
    const std::string name = "table of " + std::to_string(bytes);
    table_ = store_->create({.name = name,
                             .path = name,
                             .shape = {rows_, kColumns},
                             .initialize = detail::InitializeRows{{}, first}});
    const Adagrad rule(0.1);
    parameters_->set_rule(
        {.text = text_of_rule(rule.node(), false, [](const Variable& variable) { return variable.path(); }),
         .variables = {table_}});
  }
  ~RemoteTable() { detail::set_row_source(*store_, nullptr); }

  void draw() {
    ids_.resize(kPerStep);
    for (int64_t& id : ids_) id = static_cast<int64_t>(draws_.below(static_cast<uint64_t>(rows_)));
    std::ranges::sort(ids_);
    ids_.erase(std::ranges::unique(ids_).begin(), ids_.end());
  }
  void pull() { values_ = parameters_->tables()->pull(table_.node(), ids_); }
  void push() {
    parameters_->tables()->begin_step();
    parameters_->tables()->add_gradient(0, table_.node().leaf, Tensor::from(ids_), values_);
    parameters_->exchange(*store_, {}, {});
  }

 private:
  int64_t rows_;
  std::shared_ptr<ParameterStore> store_ = ParameterStore::make({Device{}}, true);
  std::unique_ptr<detail::RemoteParameters> parameters_;
  Variable table_;
  DrawStream draws_{7};
  std::vector<int64_t> ids_ = std::vector<int64_t>(kPerStep);
  Tensor values_;
};

void rows(benchmark::State& state, bool pulls, bool pushes) {
  static std::map<int64_t, std::unique_ptr<RemoteTable>> tables;
  std::unique_ptr<RemoteTable>& table = tables[state.range(0)];
  if (!table) table = std::make_unique<RemoteTable>(state.range(0));
  for (auto _ : state) {
    state.PauseTiming();
    table->draw();
    if (!pulls) table->pull();
    state.ResumeTiming();
    if (pulls) table->pull();
    if (pushes) table->push();
  }
}

void rows_pull(benchmark::State& state) { rows(state, true, false); }
void rows_push(benchmark::State& state) { rows(state, false, true); }
void rows_both(benchmark::State& state) { rows(state, true, true); }

template <class Function>
void add(const char* name, Function function, const std::vector<int64_t>& sizes) {
  for (const int64_t size : sizes)
    benchmark::RegisterBenchmark(name, function)->Arg(size)->UseRealTime()->Unit(benchmark::kMillisecond);
}

}  // namespace
}  // namespace nyala

int main(int count, char** arguments) {
  using namespace nyala;
  ports = start_servers();
  benchmark::Initialize(&count, arguments);
  const std::vector<int64_t> large = {25'000'000, 100'000'000}, small = {0, 1'000'000};
  add("push", push, large);
  add("raw_push", raw_push, large);
  add("pull", pull, large);
  add("raw_pull", raw_pull, large);
  add("round_trip", round_trip, small);
  add("raw_round_trip", raw_round_trip, small);
  const std::vector<int64_t> tables = {100'000'000, 4'000'000'000};
  add("rows_pull", rows_pull, tables);
  add("rows_push", rows_push, tables);
  add("rows_both", rows_both, tables);
  benchmark::RunSpecifiedBenchmarks();
  ::kill(ports.process, SIGKILL);
  ::waitpid(ports.process, nullptr, 0);
}

#else

int main() {
  std::fputs("this build has no gRPC\n", stderr);
  return 1;
}

#endif
