// Opens and closes a plugin that uses Nyala, with a model of its own before and after: host <plugin>
// <devices>.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include <nyala/nyala.h>

using namespace nyala;

int main(int count, char** arguments) {
  const Sequential net({Input({8}), Dense(4), Dense(1)});
  const auto answer = [&] { return net.predict(Tensor::ones({2, 8}), {.verbose = 0}).to_vector<float>(); };
  const auto before = answer();
  for (int round = 0; round < 3; ++round) {
    void* const plugin = count > 2 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (!plugin) return std::printf("no plugin: %s\n", dlerror()), 1;
    const auto train = reinterpret_cast<int (*)(int)>(dlsym(plugin, "plugin_train"));
    const auto fail = reinterpret_cast<void (*)()>(dlsym(plugin, "plugin_throw"));
    if (train(round == 0 ? std::atoi(arguments[2]) : 1) != 0) return 1;
    try {
      fail();
      return 1;
    } catch (const ShapeError&) {
    }
    dlclose(plugin);
  }
  if (answer() != before) return std::printf("the host's model answers differently\n"), 1;
  std::printf("the plugin came and went\n");
}
