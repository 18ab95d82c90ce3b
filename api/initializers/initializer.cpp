#include <nyala/api/base/name_table.h>
#include <nyala/api/base/registry.h>
#include <nyala/api/initializers/all.h>
#include <nyala/api/initializers/initializer.h>

namespace nyala {

using namespace nyala::detail;

namespace {

const NameTable<Initializer>& names() {
  static const NameTable<Initializer>& table =
      *new NameTable<Initializer>("initializer", Initializers{},
                                  {{"uniform", "RandomUniform"},
                                   {"normal", "RandomNormal"},
                                   {"zero", "Zeros"},
                                   {"one", "Ones"},
                                   {"IdentityInitializer", "Identity"},
                                   {"OrthogonalInitializer", "Orthogonal"}});
  return table;
}

}  // namespace

Initializer::Initializer(const std::string& name) {
  const auto own = names().has(name) ? std::nullopt : registered<Initializer>(name);
  *this = own ? *own : names().make(name);
}

void Initializer::operator()(const Tensor& value) const {
  const int64_t seed = node().seed();
  DrawStream random(seed >= 0 ? mix_key(static_cast<uint64_t>(seed), "initializer") : next_unseeded_key());
  node().fill(value, random);
}

}  // namespace nyala
