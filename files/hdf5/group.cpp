// Only hard links are followed. A group whose address is that of a group above it is a cycle and is refused;
// a walk over a whole file refuses any group that it meets twice. Walks keep their own stack instead of
// recursing, so a deep file cannot overflow the thread's.
#include <algorithm>
#include <map>
#include <set>

#include <nyala/backend/core/error.h>
#include <nyala/files/hdf5/base/limits.h>
#include <nyala/files/hdf5/group.h>
#include <nyala/files/hdf5/metadata/link_cache.h>
#include <nyala/files/hdf5/names_checksum.h>

namespace nyala::hdf5 {

using namespace nyala::detail;

struct Group::State {
  State(ImagePtr file, std::string group_path, ObjectHeader object, std::shared_ptr<const State> up)
      : image(std::move(file)),
        path(std::move(group_path)),
        header(std::move(object)),
        parent(std::move(up)),
        depth(parent ? parent->depth + 1 : 0),
        links(image->links->links_of(*image, header)) {}

  std::string path_of(std::string_view name) const {
    return (path == "/" ? "/" : path + "/") + std::string(name);
  }
  /// Throws Fault for the address of this group or one above it.
  void check_acyclic(uint64_t address) const {
    if (depth + 1 > kMaxDepth) throw Fault{address, "groups deeper than " + std::to_string(kMaxDepth)};
    for (const State* up = this; up != nullptr; up = up->parent.get())
      if (up->header.address() == address)
        throw Fault{address, "the group contains itself: its parent " + in_quotes(up->path)};
  }

  ImagePtr image;
  std::string path;
  ObjectHeader header;
  std::shared_ptr<const State> parent;
  size_t depth;
  std::shared_ptr<const Links> links;
};

/// An object: the group it was found in, its path and its header.
struct Group::Target {
  std::shared_ptr<const State> parent;
  std::string path;
  ObjectHeader header;
  std::shared_ptr<const State> opened;  ///< set where the path led to a group that is open already
};

namespace {

uint64_t follow(const Link& link) {
  switch (link.kind) {
    case Link::Kind::hard:
      return link.address;
    case Link::Kind::soft:
      throw Fault{kNoOffset, "it is a soft link: refused"};
    case Link::Kind::external:
      throw Fault{kNoOffset, "it is an external link: refused"};
    case Link::Kind::user_defined:
      break;
  }
  throw Fault{kNoOffset, "it is a user-defined link: refused"};
}

std::string_view next_component(std::string_view& path) {
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  const std::string_view component = path.substr(0, path.find('/'));
  path.remove_prefix(component.size());
  return component;
}

}  // namespace

Group::Group(ImagePtr image) {
  state_ = at_object(*image, "/", [&] {
    ObjectHeader header(*image, image->root_address);
    if (header.kind() != ObjectKind::group) throw Fault{image->root_address, "the root is no group"};
    return std::make_shared<const State>(image, "/", std::move(header), nullptr);
  });
}

const std::string& Group::path() const { return state_->path; }

std::vector<std::string> Group::names() const {
  std::vector<std::string> names;
  for (const auto& [name, link] : *state_->links) names.push_back(name);
  return names;
}

Attributes Group::attributes() const {
  return at_object(*state_->image, state_->path,
                   [&] { return Attributes(state_->image, state_->path, state_->header); });
}

Group Group::child(const Target& target) const {
  if (target.opened) return Group(target.opened);
  const Image& image = *state_->image;
  return at_object(image, target.path, [&] {
    target.parent->check_acyclic(target.header.address());
    return Group(std::make_shared<const State>(state_->image, target.path, target.header, target.parent));
  });
}

Group Group::start_of(std::string_view path) const {
  Group at = *this;
  if (path.starts_with('/'))
    while (at.state_->parent) at.state_ = at.state_->parent;
  return at;
}

Group::Target Group::resolve(std::string_view path) const {
  Group at = start_of(path);
  Target target{nullptr, at.state_->path, at.state_->header, at.state_};
  for (std::string_view name = next_component(path); !name.empty(); name = next_component(path)) {
    if (target.header.kind() != ObjectKind::group)
      throw NotFoundError(state_->image->name + ": HDF5 object " + in_quotes(target.path) +
                          " is no group: it has no " + in_quotes(name));
    at = at.child(target);
    const State& group = *at.state_;
    const auto found = group.links->find(name);
    if (found == group.links->end())
      throw NotFoundError(group.image->name + ": HDF5 group " + in_quotes(group.path) + " has no " +
                          in_quotes(name) + did_you_mean(name, at.names()));
    target.opened = nullptr;
    target.parent = at.state_;
    target.path = group.path_of(name);
    target.header = at_object(*group.image, target.path,
                              [&] { return ObjectHeader(*group.image, follow(found->second)); });
  }
  return target;
}

bool Group::has(std::string_view path) const {
  Group at = start_of(path);
  std::string_view name = next_component(path);
  while (!name.empty()) {
    if (!at.state_->links->contains(name)) return false;
    const std::string_view next = next_component(path);
    if (next.empty()) return true;
    const Target target = at.resolve(name);
    if (target.header.kind() != ObjectKind::group) return false;
    at = at.child(target);
    name = next;
  }
  return true;
}

bool Group::has_kind(std::string_view path, ObjectKind kind) const {
  return has(path) && resolve(path).header.kind() == kind;
}

Group Group::group(std::string_view path) const {
  const Target target = resolve(path);
  if (target.header.kind() != ObjectKind::group)
    throw NotFoundError(state_->image->name + ": HDF5 object " + in_quotes(target.path) + " is no group");
  return child(target);
}

Dataset Group::dataset(std::string_view path) const {
  Target target = resolve(path);
  if (target.header.kind() != ObjectKind::dataset)
    throw NotFoundError(state_->image->name + ": HDF5 object " + in_quotes(target.path) + " is no dataset");
  return Dataset(state_->image, std::move(target.path), std::move(target.header));
}

template <class F>
void Group::for_each_object(F&& f) const {
  std::set<uint64_t> visited;
  std::vector<Group> open{*this};
  while (!open.empty()) {
    const Group at = open.back();
    open.pop_back();
    const bool is_new = visited.insert(at.state_->header.address()).second;
    at_object(*state_->image, at.path(), [&] {
      if (!is_new) throw Fault{at.state_->header.address(), "the group can be reached by two paths"};
    });
    for (const std::string& name : at.names()) {
      const Target target = at.resolve(name);
      f(target);
      if (target.header.kind() == ObjectKind::group) open.push_back(at.child(target));
    }
  }
}

std::vector<std::string> Group::dataset_paths() const {
  std::vector<std::string> paths;
  for_each_object([&](const Target& target) {
    if (target.header.kind() == ObjectKind::dataset) paths.push_back(target.path);
  });
  std::sort(paths.begin(), paths.end());
  return paths;
}

void Group::check_names() const {
  const Group root = start_of("/");
  const Image& image = *state_->image;
  const Attributes attributes = root.attributes();
  if (!image.verifies_checksums || !attributes.has(kNamesChecksum)) return;
  const std::vector<int64_t> expected = attributes.get(kNamesChecksum).integers();
  std::map<std::string, bool> objects{{"/", true}};
  std::set<uint64_t> addresses;
  bool is_sound = expected.size() == 1;
  root.for_each_object([&](const Target& target) {
    objects.emplace(target.path, target.header.kind() == ObjectKind::group);
    is_sound = addresses.insert(target.header.address()).second && is_sound;
  });
  uint32_t found = 0;
  for (const auto& [path, is_group] : objects) found = with_name(found, path, is_group);
  at_object(image, "/", [&] {
    if (!is_sound || found != expected[0])
      throw Fault{root.state_->header.address(),
                  "the names of its groups and datasets are not those that were written: the file is damaged "
                  "or was changed (LoadWeightsConfig::verify_checksums)"};
  });
}

}  // namespace nyala::hdf5
