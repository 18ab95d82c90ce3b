#include <nyala/api/layers/attention/attention_equations.h>

#include <algorithm>

#include <nyala/backend/core/shape.h>

namespace nyala {

namespace {

std::string letters(int first, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += static_cast<char>('a' + first + i);
  return out;
}

}  // namespace

ProjectionEquation detail::projection_equation(int free, int bound, const std::vector<int64_t>& sizes) {
  const int made = static_cast<int>(sizes.size());
  const std::string kept = letters(0, free), summed = letters(free, bound),
                    fresh = letters(free + bound, made);
  std::vector<int64_t> shape(static_cast<size_t>(free - 1), None);
  shape.insert(shape.end(), sizes.begin(), sizes.end());
  return {kept + summed + "," + summed + fresh + "->" + kept + fresh, fresh, shape};
}

AttentionEquations detail::attention_equations(int rank, const std::vector<int64_t>& axes) {
  const std::string target = letters(0, rank);
  std::string source = target, batch, of_query, of_key;
  int next = rank;
  for (int i = 0; i < rank - 1; ++i)
    if (std::find(axes.begin(), axes.end(), i) == axes.end())
      batch += target[static_cast<size_t>(i)];
    else
      source[static_cast<size_t>(i)] = static_cast<char>('a' + next++);
  for (const int64_t axis : axes) {
    of_query += target[static_cast<size_t>(axis)];
    of_key += source[static_cast<size_t>(axis)];
  }
  const std::string product = batch + of_query + of_key;
  return {source + "," + target + "->" + product, product + "," + source + "->" + target};
}

}  // namespace nyala
