// A problem, as plain numbers with its number of threads, is the key of a primitive with all it needs, of
// which 2048 are kept. Running one sets pointers in kept memory objects: nothing is created or allocated in a
// warm step. Activations stay NHWC; only kernels are reordered into oneDNN's layout, a copy of which is kept
// while the weights do not change (packed_weights.h). Where oneDNN has only its plain loops ("ref") it
// refuses, so that the next kernel of the list is asked.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <omp.h>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/mutex.h>
#include <nyala/backend/core/op.h>
#include <nyala/backend/core/per_thread.h>
#include <nyala/backend/kernels/cpu/onednn/onednn.h>
#include <nyala/backend/kernels/cpu/onednn/packed_weights.h>
#include <nyala/backend/runtime/library_memory.h>
#include <nyala/backend/runtime/memory_report.h>
#include <nyala/backend/runtime/parallel.h>
#include <nyala/backend/runtime/proven_room.h>

namespace nyala::onednn {

namespace {

using dnnl::memory;
using Tag = memory::format_tag;

std::atomic<uint64_t> g_primitives_created{0};

// oneDNN destroys its cache of primitives when the program ends. Made before the program's own static
// objects, it outlives what these do in their destructors, and what main() gives to atexit().
[[gnu::constructor(101)]] void make_cache() {
  int capacity = 0;
  dnnl_get_primitive_cache_capacity(&capacity);
}

/// oneDNN writes where posix_memalign() and mmap() gave it nothing, and its operator new may throw inside of
/// a team of threads. To be called before a primitive is made.
void guard_memory() {
  [[maybe_unused]] static const bool guarded = [] {
    guard_library_memory("libdnnl.so");
    keep_library_objects("libdnnl.so");  // kernels of products, on a CPU without AVX-512
    return true;
  }();
  fill_memory_reserve();
}

const dnnl::engine& cpu_engine() {
  static const dnnl::engine* const engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

dnnl::stream& thread_stream() {
  struct Own {
    dnnl::stream stream{cpu_engine()};
  };
  static auto* const of_threads = new PerThread<Own>;
  return of_threads->get().stream;
}

memory::data_type type_of(DType dtype) {
  return dtype == DType::bfloat16 ? memory::data_type::bf16 : memory::data_type::f32;
}

memory::desc dense_desc(const memory::dims& dims, Tag tag, DType dtype) {
  return {dims, type_of(dtype), tag};
}

/// What is needed to run one problem: the primitive, the layouts it wants, the reorder into or out of the
/// layout of the kernel.
struct Plan {
  dnnl::primitive primitive;
  std::vector<int> arguments;       // DNNL_ARG_* of Operands::inputs, in order
  std::vector<memory::desc> descs;  // of the inputs
  int output_argument = DNNL_ARG_DST;
  memory::desc output_desc;
  size_t scratch_bytes = 0;
  int packed_input = -1;       // index of the input that is repacked first, -1: none
  bool packed_output = false;  // the output is repacked last
  memory::desc plain_desc;     // how the repacked tensor lies outside
  size_t packed_bytes = 0;
  dnnl::reorder repack;
  const char* unsupported_reason = nullptr;
};

// ---- The two APIs. Version 3 dropped operation descriptors and the scale of post-ops.

#if DNNL_VERSION_MAJOR >= 3

template <class Primitive, class... Arguments>
typename Primitive::primitive_desc describe(const dnnl::primitive_attr& attributes,
                                            Arguments&&... arguments) {
  return typename Primitive::primitive_desc(cpu_engine(), arguments..., attributes);
}

template <class Primitive, class Hint, class... Arguments>
typename Primitive::primitive_desc describe_backward(const dnnl::primitive_attr& attributes, const Hint& hint,
                                                     Arguments&&... arguments) {
  return typename Primitive::primitive_desc(cpu_engine(), arguments..., hint, attributes);
}

void append_eltwise(dnnl::post_ops& post_ops, dnnl::algorithm algorithm, float beta) {
  post_ops.append_eltwise(algorithm, 0.0f, beta);
}

#else

template <class Primitive, class... Arguments>
typename Primitive::primitive_desc describe(const dnnl::primitive_attr& attributes,
                                            Arguments&&... arguments) {
  return typename Primitive::primitive_desc(typename Primitive::desc(arguments...), attributes, cpu_engine());
}

template <class Primitive, class Hint, class... Arguments>
typename Primitive::primitive_desc describe_backward(const dnnl::primitive_attr& attributes, const Hint& hint,
                                                     Arguments&&... arguments) {
  return typename Primitive::primitive_desc(typename Primitive::desc(arguments...), attributes, cpu_engine(),
                                            hint);
}

void append_eltwise(dnnl::post_ops& post_ops, dnnl::algorithm algorithm, float beta) {
  post_ops.append_eltwise(1.0f, algorithm, 0.0f, beta);
}

#endif

void append_activation(dnnl::post_ops& post_ops, ops::Activation activation) {
  switch (activation) {
    case ops::Activation::relu:
      return append_eltwise(post_ops, dnnl::algorithm::eltwise_relu, 0.0f);
    case ops::Activation::relu6:
      return append_eltwise(post_ops, dnnl::algorithm::eltwise_clip, 6.0f);
    case ops::Activation::sigmoid:
      return append_eltwise(post_ops, dnnl::algorithm::eltwise_logistic, 0.0f);
    case ops::Activation::tanh:
      return append_eltwise(post_ops, dnnl::algorithm::eltwise_tanh, 0.0f);
    case ops::Activation::linear:
      return;
  }
}

dnnl::primitive_attr attributes_for(const Dtypes& dtypes,
                                    ops::Activation activation = ops::Activation::linear, bool adds = false) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (dtypes.rounds) attributes.set_fpmath_mode(dnnl::fpmath_mode::bf16);
  if (activation == ops::Activation::linear && !adds) return attributes;
  dnnl::post_ops post_ops;
  if (adds) post_ops.append_sum(1.0f);
  append_activation(post_ops, activation);
  attributes.set_post_ops(post_ops);
  return attributes;
}

template <class PrimitiveDesc>
void finish(Plan& plan, const PrimitiveDesc& desc) {
  plan.scratch_bytes = desc.scratchpad_desc().get_size();
  if (std::string_view(desc.impl_info_str()).starts_with("ref"))
    plan.unsupported_reason = "oneDNN has only its plain loops for this";
}

template <class PrimitiveDesc>
void finish(Plan& plan, const PrimitiveDesc& desc, const ConvolutionProblem& p) {
  finish(plan, desc);
  const std::string_view implementation = desc.impl_info_str();
  const bool is_depthwise = p.geometry.groups > 1 && p.geometry.in_per_group == 1;
  if (!plan.unsupported_reason && is_depthwise && p.dtypes.values == DType::bfloat16 &&
      implementation.find("dw") == implementation.npos)
    plan.unsupported_reason = "oneDNN fills up each channel to a block of them";
}

void plan_repacking(Plan& plan) {
  const memory::desc& packed = plan.packed_output ? plan.output_desc : plan.descs[1];
  if (packed == plan.plain_desc) {
    plan.packed_output = false;
    plan.packed_input = -1;
    return;
  }
  plan.packed_bytes = (packed.get_size() + 63) / 64 * 64;
  const auto desc = plan.packed_output
                        ? dnnl::reorder::primitive_desc(cpu_engine(), packed, cpu_engine(), plan.plain_desc)
                        : dnnl::reorder::primitive_desc(cpu_engine(), plan.plain_desc, cpu_engine(), packed);
  plan.repack = dnnl::reorder(desc);
  ++g_primitives_created;
}

Plan plan_of(const MatmulProblem& p) {
  Plan plan;
  const Tag plain = Tag::ab, transposed = Tag::ba;
  const Dtypes& dtypes = p.dtypes;
  const memory::desc a = dense_desc({p.rows, p.inner}, p.transpose_a ? transposed : plain, dtypes.values);
  const memory::dims size_b{p.inner, p.columns};
  plan.plain_desc = dense_desc(size_b, p.transpose_b ? transposed : plain, dtypes.weights);
  const memory::desc b = p.packs_b ? dense_desc(size_b, Tag::any, dtypes.values) : plan.plain_desc;
  const memory::desc c = dense_desc({p.rows, p.columns}, plain, dtypes.output);
  const memory::desc bias = p.bias ? dense_desc({1, p.columns}, plain, dtypes.bias) : memory::desc();
  const auto attributes = attributes_for(p.dtypes, p.activation);
  const auto desc = p.bias ? describe<dnnl::matmul>(attributes, a, b, bias, c)
                           : describe<dnnl::matmul>(attributes, a, b, c);
  finish(plan, desc);
  plan.primitive = dnnl::matmul(desc);
  plan.arguments = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS};
  plan.descs = {a, desc.weights_desc()};
  if (p.bias) plan.arguments.push_back(DNNL_ARG_BIAS), plan.descs.push_back(bias);
  plan.output_desc = c;
  if (p.packs_b) {
    plan.packed_input = 1;
    plan_repacking(plan);
  }
  return plan;
}

struct ConvolutionDescs {
  memory::desc x, y, kernel, kernel_gradient, bias, plain_kernel;
  memory::dims strides, dilation, pads_before, pads_after;

  explicit ConvolutionDescs(const ConvolutionProblem& p) {
    const ops::ConvolutionGeometry& g = p.geometry;
    const bool volume = g.depth > 1 || g.kernel_depth > 1 || g.out_depth > 1 || g.pad_front != 0;
    const Tag tag = volume ? Tag::ndhwc : Tag::nhwc;
    const DType values = p.dtypes.values;
    x = dense_desc(with_depth(volume, {g.batch, g.channels}, g.depth, {g.height, g.width}), tag, values);
    y = dense_desc(with_depth(volume, {g.batch, g.out_channels}, g.out_depth, {g.out_height, g.out_width}),
                   tag, values);
    describe_kernel(p, volume);
    if (p.bias) bias = dense_desc({g.out_channels}, Tag::a, p.dtypes.bias);
    strides = with_depth(volume, {}, g.depth_stride, {g.strides[0], g.strides[1]});
    dilation = with_depth(volume, {}, g.depth_dilation - 1, {g.dilation[0] - 1, g.dilation[1] - 1});
    pads_before = with_depth(volume, {}, g.pad_front, {g.pad_top, g.pad_left});
    pads_after = with_depth(
        volume, {},
        after(g.out_depth, g.depth_stride, (g.kernel_depth - 1) * g.depth_dilation + 1,
              g.depth + g.pad_front),
        {after(g.out_height, g.strides[0], (g.kernel_height - 1) * g.dilation[0] + 1, g.height + g.pad_top),
         after(g.out_width, g.strides[1], (g.kernel_width - 1) * g.dilation[1] + 1, g.width + g.pad_left)});
  }

  /// Its gradient lies outside as it comes out.
  void describe_kernel(const ConvolutionProblem& p, bool volume) {
    const ops::ConvolutionGeometry& g = p.geometry;
    const bool is_gradient = p.pass == ConvolutionPass::backward_kernel;
    const int64_t row = g.in_per_group * g.out_channels;
    memory::dims sizes = with_depth(volume, {g.out_per_group, g.in_per_group}, g.kernel_depth,
                                    {g.kernel_height, g.kernel_width});
    memory::dims steps = with_depth(volume, {1, g.out_channels}, g.kernel_height * g.kernel_width * row,
                                    {g.kernel_width * row, row});
    if (g.groups > 1) {
      sizes.insert(sizes.begin(), g.groups);
      steps.insert(steps.begin(), g.out_per_group);
    }
    plain_kernel = memory::desc(sizes, type_of(is_gradient ? p.dtypes.output : p.dtypes.weights), steps);
    kernel = dense_desc(sizes, Tag::any, p.dtypes.values);
    kernel_gradient = dense_desc(sizes, Tag::any, p.dtypes.output);
  }

  /// `front`, then `depth` for a volume, then rows and columns.
  static memory::dims with_depth(bool volume, memory::dims front, int64_t depth, const memory::dims& plane) {
    if (volume) front.push_back(depth);
    front.insert(front.end(), plane.begin(), plane.end());
    return front;
  }

  static int64_t after(int64_t windows, int64_t stride, int64_t span, int64_t size_with_front) {
    return (windows - 1) * stride + span - size_with_front;
  }
};

dnnl::convolution_forward::primitive_desc forward_desc(const ConvolutionDescs& d,
                                                       const ConvolutionProblem& p) {
  const auto kind = p.pass == ConvolutionPass::forward ? dnnl::prop_kind::forward_inference
                                                       : dnnl::prop_kind::forward_training;
  const auto direct = dnnl::algorithm::convolution_direct;
  const auto attributes = attributes_for(p.dtypes, p.activation, p.adds);
  if (p.bias)
    return describe<dnnl::convolution_forward>(attributes, kind, direct, d.x, d.kernel, d.bias, d.y,
                                               d.strides, d.dilation, d.pads_before, d.pads_after);
  return describe<dnnl::convolution_forward>(attributes, kind, direct, d.x, d.kernel, d.y, d.strides,
                                             d.dilation, d.pads_before, d.pads_after);
}

void plan_forward(Plan& plan, const ConvolutionDescs& d, const ConvolutionProblem& p) {
  const auto desc = forward_desc(d, p);
  finish(plan, desc, p);
  plan.primitive = dnnl::convolution_forward(desc);
  plan.arguments = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS};
  plan.descs = {d.x, desc.weights_desc()};
  if (p.bias) plan.arguments.push_back(DNNL_ARG_BIAS), plan.descs.push_back(d.bias);
  plan.output_desc = d.y;
  plan.packed_input = 1;
}

void plan_backward_input(Plan& plan, const ConvolutionDescs& d, const ConvolutionProblem& p) {
  const auto desc = describe_backward<dnnl::convolution_backward_data>(
      attributes_for(p.dtypes), forward_desc(d, p), dnnl::algorithm::convolution_direct, d.x, d.kernel, d.y,
      d.strides, d.dilation, d.pads_before, d.pads_after);
  finish(plan, desc, p);
  plan.primitive = dnnl::convolution_backward_data(desc);
  plan.arguments = {DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS};
  plan.descs = {d.y, desc.weights_desc()};
  plan.output_argument = DNNL_ARG_DIFF_SRC;
  plan.output_desc = d.x;
  plan.packed_input = 1;
}

/// oneDNN 2.6's jit_1x1 brings strided inputs together in blocks of 16 channels, also where there are fewer,
/// but reserves scratch memory for those there are: it writes behind it.
bool overruns_its_scratchpad(const ConvolutionProblem& p, const std::string& implementation) {
  constexpr int64_t kChannelsOfABlock = 16;
  const ops::ConvolutionGeometry& g = p.geometry;
  const bool strided = g.strides[0] > 1 || g.strides[1] > 1;
  return strided && g.in_per_group < kChannelsOfABlock && implementation.starts_with("jit_1x1");
}

/// oneDNN 2.6's gradients of kernels in bfloat16 are wrong where windows lie several columns apart and there
/// is only one in a row (with AMX and without) or one channel (without): found by random shapes.
bool is_wrong_in_bfloat16(const ConvolutionProblem& p) {
  const ops::ConvolutionGeometry& g = p.geometry;
  return p.pass == ConvolutionPass::backward_kernel && g.strides[1] > 1 &&
         (g.out_width == 1 || g.in_per_group == 1);
}

void plan_backward_kernel(Plan& plan, const ConvolutionDescs& d, const ConvolutionProblem& p) {
  const auto hint = forward_desc(d, p);  // next_impl() reads it, too
  Dtypes dtypes = p.dtypes;
  dtypes.rounds = dtypes.rounds && !is_wrong_in_bfloat16(p);
  auto desc = describe_backward<dnnl::convolution_backward_weights>(
      attributes_for(dtypes), hint, dnnl::algorithm::convolution_direct, d.x, d.kernel_gradient, d.y,
      d.strides, d.dilation, d.pads_before, d.pads_after);
  while (overruns_its_scratchpad(p, desc.impl_info_str()))
    if (!desc.next_impl()) throw dnnl::error(dnnl_unimplemented, "oneDNN has no sound implementation");
  finish(plan, desc, p);
  plan.primitive = dnnl::convolution_backward_weights(desc);
  plan.arguments = {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST};
  plan.descs = {d.x, d.y};
  plan.output_argument = DNNL_ARG_DIFF_WEIGHTS;
  plan.output_desc = desc.diff_weights_desc();
  plan.packed_output = true;
}

Plan plan_of(const ConvolutionProblem& p) {
  Plan plan;
  const ConvolutionDescs d(p);
  plan.plain_desc = d.plain_kernel;
  switch (p.pass) {
    case ConvolutionPass::forward:
      plan_forward(plan, d, p);
      break;
    case ConvolutionPass::backward_input:
      plan_backward_input(plan, d, p);
      break;
    case ConvolutionPass::backward_kernel:
      plan_backward_kernel(plan, d, p);
      break;
  }
  plan_repacking(plan);
  return plan;
}

/// Memory objects of one running call; oneDNN's are costly to make, so they are kept and pointed elsewhere.
struct Arguments {
  std::vector<memory> memories;
  std::vector<dnnl_exec_arg_t> list;
  memory plain, packed;
  std::vector<dnnl_exec_arg_t> repack_list;

  void add(int argument, const memory::desc& desc) {
    memories.emplace_back(desc, cpu_engine(), nullptr);
    list.push_back({argument, memories.back().get()});
  }
};

void check(dnnl_status_t status, const char* what) {
  if (status == dnnl_out_of_memory) throw_for_bad_alloc(what);
  if (status != dnnl_success)
    throw Error(std::string("oneDNN: ") + what + " failed with status " + std::to_string(status));
}

void point(const memory& place, const void* data) {
  check(dnnl_memory_set_data_handle(place.get(), const_cast<void*>(data)), "setting a data pointer");
}

/// What making a primitive, or its first run, takes of the host's memory at most.
constexpr size_t kRoomOfAPrimitive = size_t{32} << 20;

/// A plan that runs, with its kept arguments and packed kernels.
class Compiled {
 public:
  explicit Compiled(Plan plan) : plan_(std::move(plan)) {}
  explicit Compiled(const char* unsupported_reason) { plan_.unsupported_reason = unsupported_reason; }

  const char* unsupported_reason() const { return plan_.unsupported_reason; }
  size_t workspace() const { return plan_.packed_bytes + plan_.scratch_bytes + 64; }

  void run(const Operands& operands) {
    if (ran_.load(std::memory_order_relaxed)) return execute_all(operands);
    // It may still make code.
    const ProvenRoom room(kRoomOfAPrimitive, "the first run of a primitive of oneDNN");
    execute_all(operands);
    ran_.store(true, std::memory_order_relaxed);
  }

 private:
  void execute_all(const Operands& operands) {
    std::unique_ptr<Arguments> arguments = take();
    auto* space =
        reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(operands.workspace.raw()) + 63) / 64 * 64);
    PackedWeights::Use kept;
    const size_t inputs = plan_.arguments.size();
    for (size_t i = 0; i < inputs; ++i) {
      const void* data = operands.inputs[i]->raw();
      if (static_cast<int>(i) == plan_.packed_input)
        data = packed(*operands.inputs[i], *arguments, kept, space);
      point(arguments->memories[i], data);
    }
    point(arguments->memories[inputs], plan_.packed_output ? space : operands.output.raw());
    if (plan_.scratch_bytes > 0) point(arguments->memories[inputs + 1], space + plan_.packed_bytes);
    execute(plan_.primitive, arguments->list);
    if (plan_.packed_output) repack(*arguments, space, operands.output.raw());
    give_back(std::move(arguments));
  }

  /// The packed form of `weights`: a kept one that is up to date, else freshly made, in `space` where none is
  /// free.
  const void* packed(const Tensor& weights, const Arguments& arguments, PackedWeights::Use& kept,
                     void* space) {
    kept = weights_.find_or_fill(weights, plan_.packed_bytes,
                                 [&](void* place) { repack(arguments, weights.raw(), place); });
    if (kept.data()) return kept.data();
    repack(arguments, weights.raw(), space);
    return space;
  }

  void repack(const Arguments& arguments, const void* from, const void* to) {
    point(arguments.plain, from);
    point(arguments.packed, to);
    execute(plan_.repack, arguments.repack_list);
  }

  void execute(const dnnl::primitive& primitive, const std::vector<dnnl_exec_arg_t>& list) {
    check(dnnl_primitive_execute(primitive.get(), thread_stream().get(), static_cast<int>(list.size()),
                                 list.data()),
          "a primitive");
  }

  std::unique_ptr<Arguments> take() {
    if (mutex_.lock_unless_lost()) {
      const std::lock_guard lock(mutex_, std::adopt_lock);
      if (!idle_.empty()) {
        std::unique_ptr<Arguments> arguments = std::move(idle_.back());
        idle_.pop_back();
        return arguments;
      }
    }
    auto arguments = std::make_unique<Arguments>();
    for (size_t i = 0; i < plan_.arguments.size(); ++i) arguments->add(plan_.arguments[i], plan_.descs[i]);
    arguments->add(plan_.output_argument, plan_.output_desc);
    if (plan_.scratch_bytes > 0)
      arguments->add(DNNL_ARG_SCRATCHPAD,
                     {{static_cast<int64_t>(plan_.scratch_bytes)}, memory::data_type::u8, Tag::a});
    if (plan_.packed_bytes > 0) {
      const memory::desc& packed_desc = plan_.packed_output ? plan_.output_desc : plan_.descs[1];
      const bool out = plan_.packed_output;
      arguments->plain = memory(out ? packed_desc : plan_.plain_desc, cpu_engine(), nullptr);
      arguments->packed = memory(out ? plan_.plain_desc : packed_desc, cpu_engine(), nullptr);
      arguments->repack_list = {{DNNL_ARG_FROM, arguments->plain.get()},
                                {DNNL_ARG_TO, arguments->packed.get()}};
    }
    return arguments;
  }

  void give_back(std::unique_ptr<Arguments> arguments) {
    if (!mutex_.lock_unless_lost()) return;
    const std::lock_guard lock(mutex_, std::adopt_lock);
    idle_.push_back(std::move(arguments));
  }

  Plan plan_;
  std::atomic<bool> ran_{false};
  PackedWeights weights_;
  Mutex mutex_;
  std::vector<std::unique_ptr<Arguments>> idle_;
};

/// A problem as plain numbers; equal problems have equal keys.
struct Key {
  std::array<int64_t, 28> numbers{};
  bool operator==(const Key&) const = default;
};

struct KeyHash {
  size_t operator()(const Key& key) const {
    uint64_t hash = 1469598103934665603u;
    for (const int64_t number : key.numbers) hash = (hash ^ static_cast<uint64_t>(number)) * 1099511628211u;
    return static_cast<size_t>(hash ^ hash >> 32);
  }
};

/// Small work is done sooner by one thread. One or the whole team: libgomp ends the threads that a smaller
/// team does not need.
int threads_for(int64_t multiplications) {
  constexpr int64_t kWorthATeam = 1 << 19;
  return multiplications < kWorthATeam ? 1 : compute_threads();
}

int threads_for(const MatmulProblem& p) { return threads_for(p.rows * p.inner * p.columns); }

int threads_for(const ConvolutionProblem& p) {
  const ops::ConvolutionGeometry& g = p.geometry;
  const int64_t pixels = g.batch * g.out_depth * g.out_height * g.out_width;
  const int64_t taps = g.kernel_depth * g.kernel_height * g.kernel_width;
  return threads_for(pixels * taps * g.in_per_group * g.out_channels);
}

int64_t number_of(const Dtypes& dtypes) {
  int64_t number = dtypes.rounds;
  for (const DType dtype : {dtypes.values, dtypes.weights, dtypes.output, dtypes.bias})
    number = number * 16 + static_cast<int64_t>(dtype.index());
  return number;
}

Key key_of(const MatmulProblem& p) {
  return {{1, threads_for(p), p.rows, p.inner, p.columns, p.transpose_a, p.transpose_b, p.bias,
           static_cast<int64_t>(p.activation), p.packs_b, number_of(p.dtypes)}};
}

Key key_of(const ConvolutionProblem& p) {
  const ops::ConvolutionGeometry& g = p.geometry;
  return {{2 + static_cast<int64_t>(p.pass),
           threads_for(p),
           g.batch,
           g.height,
           g.width,
           g.channels,
           g.kernel_height,
           g.kernel_width,
           g.out_height,
           g.out_width,
           g.out_channels,
           g.groups,
           g.strides[0],
           g.strides[1],
           g.dilation[0],
           g.dilation[1],
           g.pad_top,
           g.pad_left,
           p.bias,
           static_cast<int64_t>(p.activation),
           g.depth,
           g.kernel_depth,
           g.out_depth,
           g.depth_stride,
           g.depth_dilation,
           g.pad_front,
           p.adds,
           number_of(p.dtypes)}};
}

/// oneDNN sizes its teams, also while it builds a primitive, by the calling thread's OpenMP setting.
void set_team(int threads) {
  if (omp_get_max_threads() != threads) omp_set_num_threads(threads);
}

/// A setting for as long as this lives: loops of the user's own find theirs again.
class Team {
 public:
  explicit Team(int threads) : before_(omp_get_max_threads()) {
    prepare_team(threads);
    set_team(threads);
  }
  ~Team() { set_team(before_); }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

 private:
  int before_;
};

/// Switches oneDNN's own cache of primitives off as long as this lives, and empties it. Where making a
/// primitive throws, that cache keeps an entry whose key points at freed memory. Ours stands before it
/// anyway.
class WithoutOwnCache {
 public:
  WithoutOwnCache() {
    if (dnnl_get_primitive_cache_capacity(&capacity_) != dnnl_success) capacity_ = 0;
    if (capacity_ > 0) dnnl_set_primitive_cache_capacity(0);
  }
  ~WithoutOwnCache() {
    if (capacity_ > 0) dnnl_set_primitive_cache_capacity(capacity_);
  }
  WithoutOwnCache(const WithoutOwnCache&) = delete;
  WithoutOwnCache& operator=(const WithoutOwnCache&) = delete;

 private:
  int capacity_ = 0;
};

/// Everything compiled so far; where it is full, what was not used for longest goes.
class Cache {
 public:
  static Cache& instance() {
    static Cache* const cache = new Cache;  // kernels may run while static objects are being destroyed
    return *cache;
  }

  template <class Problem>
  std::shared_ptr<Compiled> get(const Problem& problem) {
    const Key key = key_of(problem);
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found != entries_.end()) return use(found->second);
    std::shared_ptr<Compiled> compiled = compile_or_make_room(problem);
    if (entries_.size() >= kCapacity) drop_oldest();
    Entry& entry = entries_[key];
    entry.compiled = std::move(compiled);
    return use(entry);
  }

 private:
  static constexpr size_t kCapacity = 2048;

  struct Entry {
    std::shared_ptr<Compiled> compiled;
    std::atomic<uint64_t> last_use{0};
  };

  /// Where memory runs out, once more without what is kept: the code for shapes that nobody may need again.
  template <class Problem>
  std::shared_ptr<Compiled> compile_or_make_room(const Problem& problem) {
    try {
      return compile(problem);
    } catch (const OutOfMemoryError&) {
    } catch (const std::bad_alloc&) {
    }
    entries_.clear();
    return compile(problem);
  }

  std::shared_ptr<Compiled> use(Entry& entry) {
    entry.last_use.store(clock_.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
    return entry.compiled;
  }

  template <class Problem>
  static std::shared_ptr<Compiled> compile(const Problem& problem) {
    const Team team(threads_for(problem));
    const ProvenRoom room(kRoomOfAPrimitive, "a primitive of oneDNN");
    guard_memory();
    const WithoutOwnCache uncached;
    try {
      Plan plan = plan_of(problem);
      ++g_primitives_created;
      return std::make_shared<Compiled>(std::move(plan));
    } catch (const dnnl::error& error) {
      if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
      return std::make_shared<Compiled>("oneDNN does not implement this");
    }
  }

  void drop_oldest() {
    auto oldest = entries_.begin();
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry)
      if (entry->second.last_use < oldest->second.last_use) oldest = entry;
    entries_.erase(oldest);
  }

  Mutex mutex_{Mutex::AtFork::is_waited};
  std::atomic<uint64_t> clock_{0};
  std::unordered_map<Key, Entry, KeyHash> entries_;
};

const char* unsupported_dtypes(const Dtypes& d) {
  const auto is_taken = [](DType dtype) { return dtype == DType::float32 || dtype == DType::bfloat16; };
  if (!is_taken(d.values) || !is_taken(d.weights) || !is_taken(d.output) || !is_taken(d.bias))
    return "float32 and bfloat16 only";
  if (d.values == DType::bfloat16) return has_fast_bfloat16() ? nullptr : "bfloat16 needs AVX512_BF16 or AMX";
  const bool all_wide = d.weights == d.values && d.output == d.values && d.bias == d.values;
  return all_wide ? nullptr : "bfloat16 beside float32 values";
}

const char* unsupported_dtypes(const MatmulProblem& p) { return unsupported_dtypes(p.dtypes); }
const char* unsupported_dtypes(const ConvolutionProblem& p) {
  if (p.pass == ConvolutionPass::backward_kernel && p.dtypes.weights != p.dtypes.values)
    return "x and the gradient differ in dtype";
  if (p.dtypes.values == DType::bfloat16 && is_wrong_in_bfloat16(p))
    return "oneDNN's gradient of such a kernel is wrong in bfloat16";
  return unsupported_dtypes(p.dtypes);
}

template <class Problem>
const char* reason_of(const Problem& problem) {
  if (const char* reason = unsupported_dtypes(problem)) return reason;
  return Cache::instance().get(problem)->unsupported_reason();
}

}  // namespace

bool has_fast_bfloat16() {
  static const bool has = [] {
    const char* const allowed = std::getenv("NYALA_BFLOAT16_PRODUCTS");
    if (allowed && std::string_view(allowed) == "0") return false;
    constexpr unsigned kWanted = dnnl_cpu_isa_avx512_core_bf16;
    return (static_cast<unsigned>(dnnl_get_effective_cpu_isa()) & kWanted) == kWanted;
  }();
  return has;
}

Dtypes dtypes_of(const KernelCall& call) {
  Dtypes dtypes{call.input(0).dtype(), call.input(1).dtype(), call.output(0).dtype()};
  dtypes.rounds =
      call.precision == Float32Precision::medium && dtypes.values == DType::float32 && has_fast_bfloat16();
  return dtypes;
}

const char* unsupported_reason(const MatmulProblem& problem) { return reason_of(problem); }
const char* unsupported_reason(const ConvolutionProblem& problem) { return reason_of(problem); }

size_t workspace(const MatmulProblem& problem) { return Cache::instance().get(problem)->workspace(); }
size_t workspace(const ConvolutionProblem& problem) { return Cache::instance().get(problem)->workspace(); }

void run(const MatmulProblem& problem, const Operands& operands) {
  const Team team(threads_for(problem));
  Cache::instance().get(problem)->run(operands);
}

void run(const ConvolutionProblem& problem, const Operands& operands) {
  const Team team(threads_for(problem));
  Cache::instance().get(problem)->run(operands);
}

namespace {

/// Small products of all kinds: the first of each kind makes code.
bool make_products() {
  constexpr int64_t kSize = 48;
  const ProvenRoom room(kRoomOfAPrimitive, "oneDNN's products of matrices");
  guard_memory();
  const std::vector<float> a(kSize * kSize), b(kSize * kSize);
  std::vector<float> c(kSize * kSize);
  for (const bool transpose_a : {false, true})
    for (const bool transpose_b : {false, true})
      for (const bool adds : {false, true})
        multiply({.rows = kSize,
                  .inner = kSize,
                  .columns = kSize,
                  .transpose_a = transpose_a,
                  .transpose_b = transpose_b},
                 1.0f, {{a.data(), kSize}, {b.data(), kSize}, {c.data(), kSize}, adds});
  return true;
}

}  // namespace

void prepare_multiply() {
  prepare_team(compute_threads());
  set_team(compute_threads());
  [[maybe_unused]] static const bool made = make_products();
}

void multiply(const MatmulProblem& p, float scale, const Factors& f) {
  check(dnnl_sgemm(p.transpose_a ? 'T' : 'N', p.transpose_b ? 'T' : 'N', p.rows, p.columns, p.inner, scale,
                   f.a.data, f.a.stride, f.b.data, f.b.stride, f.adds ? 1.0f : 0.0f, f.output.data,
                   f.output.stride),
        "a product of matrices");
}

uint64_t primitives_created() { return g_primitives_created.load(std::memory_order_relaxed); }

std::string version() {
  const dnnl_version_t* loaded = dnnl_version();
  return std::to_string(loaded->major) + "." + std::to_string(loaded->minor) + "." +
         std::to_string(loaded->patch);
}

}  // namespace nyala::onednn
