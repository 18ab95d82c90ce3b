// Who uses which layers is kept in one table under one lock, looked at when a call begins and ends, never
// inside of steps. A use lists its layers with what it writes; two uses clash where one writes a layer that
// the other has. A list is sorted when somebody first looks into it. Entries of uses that ended serve the
// next ones, so that a call allocates nothing. A clash is an error, not a wait: two threads that train one
// model are a mistake of the program.
#include <nyala/api/training/model_use.h>

#include <algorithm>
#include <map>
#include <mutex>

#include <nyala/api/training/state/compiled_training.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/fork.h>
#include <nyala/backend/core/mutex.h>

namespace nyala {

using detail::in_quotes;

namespace {

/// A layer of what is used.
struct Part {
  const LayerNode* node = nullptr;
  bool written = false;
};

struct Reader {
  uint64_t thread = 0;  // its number
  const char* what = nullptr;
};

/// Who uses a model, or a layer by itself.
struct Use {
  uint64_t writer = 0;         // number of its thread
  const char* what = nullptr;  // the writer's call; null: nobody writes
  int writes = 0;              // nested calls of the writer
  std::vector<Reader> readers = {};
  std::vector<Part> parts = {};  // all layers, in no order until somebody looks for one
  bool sorted = false;
};

class Uses {
 public:
  using Entries = std::map<const LayerNode*, Use>;

  Mutex mutex{Mutex::AtFork::is_waited};
  Entries by_root;
  std::vector<Part> listed;  // by the use that begins

  Use& of(const LayerNode& root) {
    if (const auto entry = by_root.find(&root); entry != by_root.end()) return entry->second;
    if (spare_.empty()) {
      spare_.reserve(by_root.size() + 1);  // release() must not fail
      return by_root[&root];
    }
    Entries::node_type entry = std::move(spare_.back());
    spare_.pop_back();
    entry.key() = &root;
    return by_root.insert(std::move(entry)).position->second;
  }

  /// Gives up the entry of what nobody uses any more.
  void release(const LayerNode& root) {
    const auto entry = by_root.find(&root);
    Use& use = entry->second;
    if (use.writes > 0 || !use.readers.empty()) return;
    use.parts.clear();
    use.sorted = false;
    spare_.push_back(by_root.extract(entry));
  }

 private:
  std::vector<Entries::node_type> spare_;
};

Uses& uses() {
  static Uses* const all = new Uses;  // outlives static models
  return *all;
}

bool by_address(const Part& a, const Part& b) { return std::less<>()(a.node, b.node); }

bool is_lost(const Reader& reader) { return lost_in_fork(reader.thread); }

/// A reader that is another thread; null: none.
const Reader* reader_beside(const Use& use, uint64_t own) {
  const auto is_another = [own](const Reader& reader) { return reader.thread != own; };
  const auto reader = std::ranges::find_if(use.readers, is_another);
  return reader == use.readers.end() ? nullptr : &*reader;
}

/// What the thread in the way of `own` does.
const char* call_of(const Use& use, uint64_t own) {
  return use.writes > 0 ? use.what : reader_beside(use, own)->what;
}

std::string named(const LayerNode& node) {
  return (dynamic_cast<const ModelNode*>(&node) ? "model " : "layer ") + in_quotes(node.name());
}

[[noreturn]] void throw_busy(const LayerNode& root, const char* what, const Use& use) {
  if (use.writes > 0 && lost_in_fork(use.writer))
    throw StateError(named(root) + ": " + what +
                     " was called in a process that was forked while another thread of its parent ran " +
                     use.what +
                     " on the model, whose weights so are not whole in this process; load a model " +
                     "of its own here, or fork while nothing is trained");
  throw StateError(named(root) + ": " + what + " was called while another thread runs " +
                   call_of(use, thread_number()) + " on it; wait for that to end");
}

/// A use that begins: looks whether another thread uses a layer of it.
class Beginning {
 public:
  Beginning(Uses& all, const LayerNode& root, const char* what, Writes writes)
      : root_(root), what_(what), writes_(writes), listed_(all.listed) {
    const auto* model = dynamic_cast<const ModelNode*>(&root);
    if (model && model->training() && model->compiled_training().trained && !model->overrides().train_step)
      trained_ = &model->compiled_training();
    for (auto& [node, use] : all.by_root)
      if (node != &root && is_in_the_way(use)) others_.push_back({node, &use});
  }

  /// Throws StateError. Names the layers, unless `use` knows them.
  void look(Use& use) const {
    if (others_.empty() && !use.parts.empty() && writes_ == Writes::nothing) return;
    listed_.clear();
    writes_ == Writes::list ? add_alone(root_) : add(root_);
    if (writes_ == Writes::nothing && !use.parts.empty()) return;
    use.parts.swap(listed_);
    use.sorted = false;
  }

 private:
  /// Readers are in the way of writers.
  bool is_in_the_way(Use& use) const {
    const uint64_t own = thread_number();
    if (use.writes > 0) return use.writer != own;
    std::erase_if(use.readers, is_lost);
    return writes_ != Writes::nothing && reader_beside(use, own);
  }

  // A layer that another thread writes, and may be building, is not looked at before the first check.
  void add(const LayerNode& node) const {
    check(node, writes_ == Writes::all);
    const bool written =
        writes_ == Writes::all || !node.built() || (writes_ == Writes::trained && trains(node));
    if (written) check(node, true);
    listed_.push_back({&node, written});
    for (const auto& [attribute, layer] : node.sublayers()) add(layer.node());
  }

  /// A chain grows by one layer at a time: it is not walked for each.
  void add_alone(const LayerNode& node) const {
    check(node, true);
    listed_.push_back({&node, true});
  }

  bool trains(const LayerNode& node) const {
    const auto is_trained = [this](const Variable& variable) {
      return trained_ ? trained_->trains(variable) : variable.trainable();
    };
    return std::ranges::any_of(node.own_weights(), is_trained) ||
           (node.trainable() && !node.own_state().empty());
  }

  void check(const LayerNode& node, bool written) const {
    for (const auto& [root, use] : others_) {
      if (!use->sorted) std::ranges::sort(use->parts, by_address);
      use->sorted = true;
      const auto part = std::ranges::lower_bound(use->parts, Part{&node}, by_address);
      if (part != use->parts.end() && part->node == &node && (part->written || written))
        throw_shared(node, *root, *use);
    }
  }

  [[noreturn]] void throw_shared(const LayerNode& node, const LayerNode& root, const Use& use) const {
    if (use.writes > 0 && lost_in_fork(use.writer)) throw_busy(root_, what_, use);
    const std::string other = call_of(use, thread_number());
    const std::string how = &node == &root_  ? "of which it is a part"
                            : &node == &root ? "which is a part of it"
                                             : "which shares its layer " + in_quotes(node.name());
    throw StateError(named(root_) + ": " + what_ + " was called while another thread runs " + other + " on " +
                     named(root) + ", " + how + "; wait for that to end, or give each layers of its own");
  }

  const LayerNode& root_;
  const char* what_;
  Writes writes_;
  std::vector<Part>& listed_;
  const CompiledTraining* trained_ = nullptr;
  std::vector<std::pair<const LayerNode*, Use*>> others_;
};

/// Gives up an entry that was made for a use that cannot begin.
class Entry {
 public:
  Entry(Uses& all, const LayerNode& root) : all_(all), root_(root), use_(all.of(root)) {}
  ~Entry() { all_.release(root_); }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;
  Use& use() const { return use_; }

 private:
  Uses& all_;
  const LayerNode& root_;
  Use& use_;
};

}  // namespace

void refuse_inside_calls(const ModelNode& model, const char* what) {
  Uses& all = uses();
  std::lock_guard lock(all.mutex);
  const auto entry = all.by_root.find(&model);
  if (entry == all.by_root.end()) return;
  const Use& use = entry->second;
  const uint64_t own = thread_number();
  const auto reader = std::ranges::find(use.readers, own, &Reader::thread);
  const char* inside = use.writes > 0 && use.writer == own ? use.what
                       : reader != use.readers.end()       ? reader->what
                                                           : nullptr;
  if (!inside) return;
  throw StateError(
      "model " + in_quotes(model.name()) + ": " + what + " was called inside " + inside +
      " (from a callback, loss, metric or step of it), which goes on with the model as it was; " +
      "let that end first (set_stop_training(true) ends fit), then call " + what);
}

ExclusiveUse::ExclusiveUse(LayerNode& root, const char* what, Writes writes) : root_(root) {
  Uses& all = uses();
  const uint64_t own = thread_number();
  std::lock_guard lock(all.mutex);
  const Entry entry(all, root);
  Use& use = entry.use();
  std::erase_if(use.readers, is_lost);
  if (use.writes > 0 ? use.writer != own : reader_beside(use, own) != nullptr) throw_busy(root, what, use);
  Beginning(all, root, what, writes).look(use);
  if (use.writes++ > 0) return;
  use.writer = own;
  use.what = what;
}

ExclusiveUse::~ExclusiveUse() {
  Uses& all = uses();
  std::lock_guard lock(all.mutex);
  --all.by_root.find(&root_)->second.writes;
  all.release(root_);
}

SharedUse::SharedUse(ModelNode& model, const char* what) : root_(model) {
  Uses& all = uses();
  const uint64_t own = thread_number();
  std::lock_guard lock(all.mutex);
  const Entry entry(all, model);
  Use& use = entry.use();
  std::erase_if(use.readers, is_lost);
  if (use.writes > 0 && use.writer != own) throw_busy(model, what, use);
  Beginning(all, model, what, Writes::nothing).look(use);
  use.readers.push_back({own, what});
}

SharedUse::~SharedUse() {
  Uses& all = uses();
  std::lock_guard lock(all.mutex);
  std::vector<Reader>& readers = all.by_root.find(&root_)->second.readers;
  readers.erase(std::ranges::find(readers, thread_number(), &Reader::thread));
  all.release(root_);
}

}  // namespace nyala
