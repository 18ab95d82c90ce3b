// A pickle is a program for a stack machine, and Python runs what it names. Here only opcodes that make data
// are known (protocols 0 to 5), objects are records in one list, and a name outside of a fixed table (NumPy's
// arrays and bytes) is an error before anything comes of it. No recursion: depth is the stack's. Objects are
// counted, and arrays may not be larger together than the file.
#include <nyala/datasets/io/pickle_reader.h>

#include <bit>
#include <charconv>
#include <unordered_map>
#include <utility>

#include <nyala/datasets/io/pickle_cursor.h>
#include <nyala/datasets/io/pickle_document.h>
#include <nyala/datasets/io/pickle_strings.h>

namespace nyala::datasets {

using namespace nyala::detail;

namespace {

using Object = PickleDocument::Object;

/// Python's stack machine, as far as data needs it. (Opcodes: Python, Lib/pickletools.py.)
class Machine {
 public:
  Machine(std::span<const uint8_t> bytes, const PickleConfig& config)
      : document_(std::make_shared<PickleDocument>()),
        cursor_(bytes, config.name),
        arrays_(*document_, bytes.size()),
        max_objects_(config.max_objects) {
    document_->name = config.name;
  }

  PickleValue run() {
    for (;;) {
      const uint8_t op = cursor_.byte();
      if (op == '.') break;
      if (!frame(op) && !number(op) && !string(op) && !container(op) && !stack(op) && !object(op))
        cursor_.fail("the opcode " + std::to_string(op) + " is unknown, or makes objects that are no data");
    }
    if (!cursor_.at_end()) cursor_.fail("expected its end, found more bytes");
    const uint32_t root = pop();
    if (!stack_.empty()) cursor_.fail("expected one object at its end, found more");
    return {document_, root};
  }

 private:
  bool frame(uint8_t op) {
    constexpr uint8_t kNewestProtocol = 5;
    switch (op) {
      case 0x80:  // PROTO
        if (const uint8_t protocol = cursor_.byte(); protocol > kNewestProtocol)
          cursor_.fail("expected a protocol from 0 to 5, found " + std::to_string(protocol));
        return true;
      case 0x95:  // FRAME: its length; the frames' contents lie one behind the other
        cursor_.little(8);
        return true;
      case 0x97:
      case 0x98:
        cursor_.fail(
            "its arrays lie in buffers outside of it (pickle.dumps without buffer_callback keeps them)");
      default:
        return false;
    }
  }

  bool number(uint8_t op) {
    switch (op) {
      case 'N':
        push({.kind = PickleKind::none});
        return true;
      case 0x88:
      case 0x89:
        push_integer(op == 0x88, PickleKind::boolean);
        return true;
      case 'I':
        push_line(cursor_.line());
        return true;
      case 'L':
        push_long(cursor_.line());
        return true;
      case 'J':
        push_integer(static_cast<int32_t>(cursor_.little(4)));
        return true;
      case 'K':
        push_integer(cursor_.byte());
        return true;
      case 'M':
        push_integer(static_cast<int64_t>(cursor_.little(2)));
        return true;
      case 0x8a:
        push_bytes_of_integer(cursor_.take(cursor_.byte()));
        return true;
      case 0x8b:
        push_bytes_of_integer(cursor_.take(cursor_.little(4)));
        return true;
      case 'F':
        push_real(parsed<double>(cursor_.line()));
        return true;
      case 'G':
        push_big_endian_real();
        return true;
      default:
        return false;
    }
  }

  bool string(uint8_t op) {
    switch (op) {
      case 'S':
        push_string(PickleKind::bytes, checked(unquoted(cursor_.line()), "a quoted string"));
        return true;
      case 'V':
        push_string(PickleKind::text, checked(from_raw_unicode_escape(cursor_.line()), "escaped text"));
        return true;
      case 'T':
      case 'B':
        push_string(PickleKind::bytes, std::string(cursor_.take(cursor_.little(4))));
        return true;
      case 'U':
      case 'C':
        push_string(PickleKind::bytes, std::string(cursor_.take(cursor_.byte())));
        return true;
      case 0x8e:
      case 0x96:  // BYTEARRAY8
        push_string(PickleKind::bytes, std::string(cursor_.take(cursor_.little(8))));
        return true;
      case 'X':
        push_string(PickleKind::text, std::string(cursor_.take(cursor_.little(4))));
        return true;
      case 0x8c:
        push_string(PickleKind::text, std::string(cursor_.take(cursor_.byte())));
        return true;
      case 0x8d:
        push_string(PickleKind::text, std::string(cursor_.take(cursor_.little(8))));
        return true;
      default:
        return false;
    }
  }

  bool container(uint8_t op) {
    switch (op) {
      case ']':
        push({.kind = PickleKind::list});
        return true;
      case ')':
        push({.kind = PickleKind::tuple});
        return true;
      case '}':
        push({.kind = PickleKind::dict});
        return true;
      case 'l':
        push_items(PickleKind::list, pop_to_mark());
        return true;
      case 't':
        push_items(PickleKind::tuple, pop_to_mark());
        return true;
      case 'd':
        push_items(PickleKind::dict, pairs(pop_to_mark()));
        return true;
      case 0x85:
      case 0x86:
      case 0x87:
        push_items(PickleKind::tuple, pop_several(op - 0x84u));
        return true;
      case 'a':
        extend(PickleKind::list, pop_several(1));
        return true;
      case 'e':
        extend(PickleKind::list, pop_to_mark());
        return true;
      case 's':
        extend(PickleKind::dict, pop_several(2));
        return true;
      case 'u':
        extend(PickleKind::dict, pairs(pop_to_mark()));
        return true;
      default:
        return false;
    }
  }

  bool stack(uint8_t op) {
    switch (op) {
      case '(':
        marks_.push_back(stack_.size());
        return true;
      case '0':
        if (!marks_.empty() && marks_.back() == stack_.size())
          marks_.pop_back();
        else
          pop();
        return true;
      case '1':
        pop_to_mark();
        return true;
      case '2':
        stack_.push_back(top());
        return true;
      case 'p':
        memo_[parsed<uint64_t>(cursor_.line())] = top();
        return true;
      case 'q':
        memo_[cursor_.byte()] = top();
        return true;
      case 'r':
        memo_[cursor_.little(4)] = top();
        return true;
      case 0x94:
        memo_[memo_.size()] = top();
        return true;
      case 'g':
        push_remembered(parsed<uint64_t>(cursor_.line()));
        return true;
      case 'h':
        push_remembered(cursor_.byte());
        return true;
      case 'j':
        push_remembered(cursor_.little(4));
        return true;
      default:
        return false;
    }
  }

  bool object(uint8_t op) {
    switch (op) {
      case 'c': {
        const std::string_view module = cursor_.line();
        push_function(module, cursor_.line());
        return true;
      }
      case 0x93: {
        const std::vector<uint32_t> names = pop_several(2);
        push_function(text_of(names[0]), text_of(names[1]));
        return true;
      }
      case 'R': {
        const std::vector<uint32_t> call = pop_several(2);
        push(arrays_.call(document_->at(call[0]), document_->at(call[1])));
        return true;
      }
      case 'b': {
        const uint32_t state = pop();
        arrays_.build(top(), document_->at(state));
        return true;
      }
      default:
        return false;
    }
  }

  void push(Object object) {
    if (document_->objects.size() >= max_objects_)
      cursor_.fail("expected at most " + std::to_string(max_objects_) + " objects, found more");
    document_->objects.push_back(std::move(object));
    stack_.push_back(static_cast<uint32_t>(document_->objects.size() - 1));
  }
  void push_integer(int64_t value, PickleKind kind = PickleKind::integer) {
    push({.kind = kind, .integer = value});
  }
  void push_string(PickleKind kind, std::string text) { push({.kind = kind, .text = std::move(text)}); }
  void push_items(PickleKind kind, std::vector<uint32_t> items) {
    push({.kind = kind, .items = std::move(items)});
  }
  void push_real(double value) { push({.kind = PickleKind::real, .real = value}); }

  /// INT: 00 and 01 stand for False and True.
  void push_line(std::string_view line) {
    if (line == "00" || line == "01")
      push_integer(line == "01", PickleKind::boolean);
    else
      push_integer(parsed<int64_t>(line));
  }
  void push_long(std::string_view line) {
    if (line.ends_with('L')) line.remove_suffix(1);
    push_integer(parsed<int64_t>(line));
  }
  /// Two's complement of any length.
  void push_bytes_of_integer(std::string_view bytes) {
    if (bytes.size() > 8)
      cursor_.fail("expected an integer of at most 8 bytes, found " + std::to_string(bytes.size()));
    uint64_t value = !bytes.empty() && (bytes.back() & 0x80) != 0 ? ~uint64_t{0} : 0;
    for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[i]);
    push_integer(static_cast<int64_t>(value));
  }
  void push_big_endian_real() {
    uint64_t bits = 0;
    for (char part : cursor_.take(8)) bits = bits << 8 | static_cast<uint8_t>(part);
    push_real(std::bit_cast<double>(bits));
  }
  void push_remembered(uint64_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end())
      cursor_.fail("it refers to object " + std::to_string(key) + ", which there is not");
    stack_.push_back(found->second);
  }
  void push_function(std::string_view module, std::string_view name) {
    constexpr size_t kLongest = 200;
    std::string whole = std::string(module.substr(0, kLongest)) + "." + std::string(name.substr(0, kLongest));
    if (!PickleArrays::knows(whole))
      cursor_.fail("'" + whole +
                   "' is not among the names that are read (arrays of NumPy only); nothing of it was run");
    push_string(PickleKind::function, std::move(whole));
  }

  uint32_t top() const {
    if (stack_.empty() || (!marks_.empty() && marks_.back() == stack_.size()))
      cursor_.fail("expected an object on the stack, found none");
    return stack_.back();
  }
  uint32_t pop() {
    const uint32_t index = top();
    stack_.pop_back();
    return index;
  }
  std::vector<uint32_t> pop_several(size_t count) {
    const size_t lowest = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() - lowest < count)
      cursor_.fail("expected " + std::to_string(count) + " objects on the stack, found " +
                   std::to_string(stack_.size() - lowest));
    return pop_from(stack_.size() - count);
  }
  std::vector<uint32_t> pop_to_mark() {
    if (marks_.empty()) cursor_.fail("expected a mark on the stack, found none");
    const size_t begin = marks_.back();
    marks_.pop_back();
    return pop_from(begin);
  }
  std::vector<uint32_t> pop_from(size_t begin) {
    std::vector<uint32_t> out(stack_.begin() + static_cast<std::ptrdiff_t>(begin), stack_.end());
    stack_.resize(begin);
    return out;
  }
  std::vector<uint32_t> pairs(std::vector<uint32_t> items) const {
    if (items.size() % 2 != 0) cursor_.fail("expected pairs of keys and values, found a key alone");
    return items;
  }
  void extend(PickleKind kind, const std::vector<uint32_t>& items) {
    Object& target = document_->objects[top()];
    if (target.kind != kind)
      cursor_.fail("expected to add to " + std::string(name_of(kind)) + ", found " +
                   std::string(name_of(target.kind)));
    target.items.insert(target.items.end(), items.begin(), items.end());
  }

  std::string_view text_of(uint32_t index) const {
    const Object& object = document_->at(index);
    if (object.kind != PickleKind::text && object.kind != PickleKind::bytes)
      cursor_.fail("expected a name, found " + std::string(name_of(object.kind)));
    return object.text;
  }
  template <class T>
  T parsed(std::string_view line) const {
    T value{};
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    if (error != std::errc() || end != line.data() + line.size())
      cursor_.fail("expected a number of 64 bits, found '" + std::string(line.substr(0, 40)) + "'");
    return value;
  }
  std::string checked(std::optional<std::string> text, const char* what) const {
    if (!text) cursor_.fail("expected " + std::string(what) + ", found something else");
    return std::move(*text);
  }

  std::shared_ptr<PickleDocument> document_;
  Cursor cursor_;
  PickleArrays arrays_;
  uint32_t max_objects_;
  std::vector<uint32_t> stack_ = {};
  std::vector<size_t> marks_ = {};
  std::unordered_map<uint64_t, uint32_t> memo_ = {};
};

}  // namespace

PickleValue read_pickle(std::span<const uint8_t> bytes, const PickleConfig& config) {
  return Machine(bytes, config).run();
}

}  // namespace nyala::datasets
