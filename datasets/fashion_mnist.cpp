#include <nyala/datasets/fashion_mnist.h>

namespace nyala::datasets {

using namespace nyala::datasets::detail;

TrainTest fashion_mnist(const LoadOptions& options) {
  const MnistLikeSet set{
      .folder = "fashion-mnist",
      .url = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/",
      .train_images_sha256 = "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
      .train_labels_sha256 = "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
      .test_images_sha256 = "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
      .test_labels_sha256 = "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"};
  return load_mnist_like(set, options);
}

}  // namespace nyala::datasets
