// Which of two books is a line from? The vocabulary is counted from the first nine tenths of each book; an
// Embedding, a bidirectional GRU and two Dense layers are tested on the last tenth.
//
//   text_classification BOOK OTHER_BOOK [--epochs 3] [--lines 8000] [--devices 1] [--output text.keras]
#include <nyala/examples/support/strategy_argument.h>
#include <nyala/nyala.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

using namespace nyala;

constexpr int64_t kWords = 5000, kLength = 12;
using Words = std::vector<std::string>;

/// The lines of a book of at least four words, in small letters.
std::vector<Words> read(const std::string& path, size_t most) {
  std::ifstream file(path);
  std::vector<Words> lines;
  for (std::string line; lines.size() < most && std::getline(file, line);) {
    for (char& letter : line)
      letter =
          static_cast<char>(std::isalpha(static_cast<unsigned char>(letter)) ? std::tolower(letter) : ' ');
    std::istringstream in(line);
    const Words words{std::istream_iterator<std::string>(in), {}};
    if (words.size() >= 4) lines.push_back(words);
  }
  return lines;
}

int main(int argc, char** argv) {
  examples::expect_paths(argc, argv, 2, "first_book.txt second_book.txt");
  const Strategy strategy = examples::strategy_argument(argc, argv);
  const int64_t most = examples::number_argument(argc, argv, "--lines", 8000);
  const int epochs = static_cast<int>(examples::number_argument(argc, argv, "--epochs", 3));
  const std::string output = examples::text_argument(argc, argv, "--output", "text.keras");
  set_random_seed(1);

  std::vector<Words> train_lines, test_lines;
  std::vector<int32_t> train_labels, test_labels;
  std::map<std::string, int64_t> counts;
  for (int32_t book : {0, 1}) {
    const std::vector<Words> all = read(argv[1 + book], static_cast<size_t>(most));
    for (size_t i = 0; i < all.size(); ++i) {
      const bool test = i >= all.size() * 9 / 10;
      (test ? test_lines : train_lines).push_back(all[i]);
      (test ? test_labels : train_labels).push_back(book);
      for (const std::string& word : test ? Words() : all[i]) ++counts[word];
    }
  }
  std::vector<std::pair<int64_t, std::string>> frequent;
  for (const auto& [word, count] : counts) frequent.emplace_back(-count, word);
  std::sort(frequent.begin(), frequent.end());
  std::map<std::string, int64_t> vocabulary;  // 0 pads, 1 is every other word
  for (const auto& [count, word] : frequent)
    if (static_cast<int64_t>(vocabulary.size()) < kWords - 2)
      vocabulary[word] = static_cast<int64_t>(vocabulary.size()) + 2;
  const auto tokens = [&](const std::vector<Words>& of) {
    std::vector<std::vector<int64_t>> numbers;
    for (const Words& line : of) {
      numbers.emplace_back();
      for (const std::string& word : line)
        numbers.back().push_back(vocabulary.contains(word) ? vocabulary[word] : 1);
    }
    return pad_sequences(numbers, {.maxlen = kLength, .padding = "post", .truncating = "post"});
  };
  const Tensor x_train = tokens(train_lines), x_test = tokens(test_lines);
  const Tensor y_train = Tensor::from(train_labels), y_test = Tensor::from(test_labels);

  const auto scope = strategy.scope();
  const Sequential model({Input({kLength}, {.dtype = "int32"}), Embedding(kWords, 32, {.mask_zero = true}),
                          Bidirectional(GRU(16)), Dropout(0.3), Dense(1, {.activation = "sigmoid"})});
  model.compile({.optimizer = "adam", .loss = "binary_crossentropy", .metrics = {"accuracy"}});
  model.fit(x_train, y_train, {.batch_size = 64, .epochs = epochs, .verbose = 2});
  const double accuracy = model.evaluate(x_test, y_test, {.verbose = 0})["accuracy"];
  model.save(output);
  const double loaded = load_model(output).evaluate(x_test, y_test, {.verbose = 0})["accuracy"];
  std::printf("%lld lines to learn from, test accuracy %.4f, loaded from the file %.4f\n",
              static_cast<long long>(train_labels.size()), accuracy, loaded);
  return accuracy == loaded ? 0 : 1;
}
