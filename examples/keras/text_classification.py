"""Which of two books is a line from?: examples/text_classification.cpp in Keras."""
import collections
import re
import sys

import keras
import numpy as np
from keras import layers

WORDS, LENGTH = 5000, 12


def read(path, most):
    lines = [re.findall("[a-z]+", line.lower()) for line in open(path, encoding="latin-1")]
    return [words for words in lines if len(words) >= 4][:most]


keras.utils.set_random_seed(1)
most = int(sys.argv[3]) if len(sys.argv) > 3 else 8000
books = [read(path, most) for path in sys.argv[1:3]]
train = [(words, book) for book in (0, 1) for words in books[book][:len(books[book]) * 9 // 10]]
test = [(words, book) for book in (0, 1) for words in books[book][len(books[book]) * 9 // 10:]]
counts = collections.Counter(word for words, _ in train for word in words)
frequent = sorted(counts, key=lambda word: (-counts[word], word))
vocabulary = {word: i + 2 for i, word in enumerate(frequent[:WORDS - 2])}


def tokens(lines):
    numbers = [[vocabulary.get(word, 1) for word in words] for words, _ in lines]
    return keras.utils.pad_sequences(numbers, maxlen=LENGTH, padding="post", truncating="post")


x_train, x_test = tokens(train), tokens(test)
y_train, y_test = (np.array([book for _, book in lines]) for lines in (train, test))
model = keras.Sequential([keras.Input((LENGTH,), dtype="int32"), layers.Embedding(WORDS, 32, mask_zero=True),
                          layers.Bidirectional(layers.GRU(16)), layers.Dropout(0.3),
                          layers.Dense(1, activation="sigmoid")])
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=64, epochs=3, verbose=2)
accuracy = model.evaluate(x_test, y_test, verbose=0, return_dict=True)["accuracy"]
model.save("text.keras")
loaded = keras.models.load_model("text.keras").evaluate(x_test, y_test, verbose=0, return_dict=True)["accuracy"]
print(f"{len(train)} lines to learn from, test accuracy {accuracy:.4f}, loaded from the file {loaded:.4f}")
