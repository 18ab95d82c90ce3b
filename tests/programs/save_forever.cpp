// save_forever <path>: saves checkpoints to one path until it is killed; in the i-th all weights are i.
#include <cstdio>
#include <exception>

#include <nyala/api/layers/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/saving/checkpoint.h>

int main(int count, char** arguments) {
  using namespace nyala;
  if (count != 2) return 2;
  try {
    const Sequential model({Input({100}), Dense(400), Dense(300), Dense(10)});
    for (int i = 1;; ++i) {
      Tensors weights;
      for (const Variable& variable : model.weights()) weights.push_back(Tensor::full(variable.shape(), i));
      model.set_weights(weights);
      Checkpoint(model).save(arguments[1], {i, 0});
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
