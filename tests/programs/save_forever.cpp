// save_forever <path>: saves checkpoints to one path until it is killed; in the i-th all weights are i.
// save_forever <path> check: whether the file there is one of them, whole.
#include <cstdio>
#include <exception>

#include <nyala/api/layers/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/saving/checkpoint.h>

int main(int count, char** arguments) {
  using namespace nyala;
  if (count != 2 && count != 3) return 2;
  try {
    const Sequential model({Input({100}), Dense(400), Dense(300), Dense(10)});
    if (count == 3) {
      const double i = static_cast<double>(Checkpoint(model).restore(arguments[1]).epoch);
      for (const Tensor& weight : model.get_weights())
        for (const float value : weight.to_vector<float>())
          if (value != static_cast<float>(i)) return 1;
      return 0;
    }
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
