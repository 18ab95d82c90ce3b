#include <nyala/datasets/mnist.h>

namespace nyala::datasets {

using namespace nyala::datasets::detail;

TrainTest mnist(const LoadOptions& options) {
  const MnistLikeSet set{
      .folder = "mnist",
      .url = "https://storage.googleapis.com/cvdf-datasets/mnist/",
      .train_images_sha256 = "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
      .train_labels_sha256 = "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
      .test_images_sha256 = "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
      .test_labels_sha256 = "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"};
  return load_mnist_like(set, options);
}

}  // namespace nyala::datasets
