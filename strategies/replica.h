#pragma once

#include <nyala/backend/autograd/gradient_sink.h>
#include <nyala/backend/core/tape.h>
#include <nyala/backend/runtime/replica_context.h>

namespace nyala {

/// What one replica's thread works with inside Strategy::run.
struct Replica {
  int id = 0;
  int num_replicas = 1;
  Device device;
  /// Collectives among the replicas.
  ReplicaContext* context = nullptr;
  /// Takes the gradients of this step.
  GradientSink* gradients = nullptr;
  /// Kept from step to step, so that a warm step allocates nothing for it.
  Tape* tape = nullptr;
};

}  // namespace nyala
