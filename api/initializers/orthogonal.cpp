// Normal columns made orthonormal (Saxe et al. 2014). That is the Q of a QR decomposition with R's diagonal
// positive, as Keras takes it, uniform among all such matrices. O(rows * columns^2) in double, no library for
// linear algebra.
#include <algorithm>
#include <cmath>

#include <nyala/api/initializers/fill.h>
#include <nyala/api/initializers/orthogonal.h>
#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

void OrthogonalConfig::fields(FieldVisitor& v) {
  v.field("gain", gain);
  v.optional("seed", seed, -1);
}

namespace {

using Column = std::vector<double>;

/// In eight sums, which a processor adds at the same time.
double dot(const Column& a, const Column& b) {
  constexpr size_t kSums = 8;
  double sums[kSums] = {}, sum = 0.0;
  const size_t whole = a.size() / kSums * kSums;
  for (size_t i = 0; i < whole; i += kSums)
    for (size_t k = 0; k < kSums; ++k) sums[k] += a[i + k] * b[i + k];
  for (size_t i = whole; i < a.size(); ++i) sum += a[i] * b[i];
  for (const double one : sums) sum += one;
  return sum;
}

void add_scaled(Column& a, double factor, const Column& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] += factor * b[i];
}

/// The Q of a QR decomposition with positive diagonal of R. Gram-Schmidt, each column twice: once loses
/// digits.
std::vector<Column> orthonormal_columns(size_t length, size_t count, DrawStream& random) {
  std::vector<Column> columns(count, Column(length));
  for (Column& column : columns) {
    do {
      for (double& x : column) x = random.normal();
      for (int round = 0; round < 2; ++round)
        for (const Column* earlier = columns.data(); earlier != &column; ++earlier)
          add_scaled(column, -dot(*earlier, column), *earlier);
    } while (dot(column, column) == 0.0);
    const double norm = std::sqrt(dot(column, column));
    for (double& x : column) x /= norm;
  }
  return columns;
}

class OrthogonalNode final : public InitializerNode {
 public:
  explicit OrthogonalNode(const OrthogonalConfig& config) : config_(config) {}
  std::string class_name() const override { return "Orthogonal"; }
  void fields(FieldVisitor& v) const override {
    auto shown = config_;
    shown.fields(v);
  }
  int64_t seed() const override { return config_.seed; }

  void fill(const Tensor& value, DrawStream& random) const override {
    if (value.rank() < 2)
      throw ShapeError("Orthogonal initializer: expected a shape of rank 2 or more, received " +
                       value.shape().to_string());
    if (value.num_elements() == 0) return;
    const size_t columns = static_cast<size_t>(value.shape().back());
    const size_t rows = static_cast<size_t>(value.num_elements()) / columns;
    const bool tall = rows >= columns;
    const auto q = orthonormal_columns(std::max(rows, columns), std::min(rows, columns), random);
    size_t i = 0;
    fill_each(value, [&] {
      const size_t row = i / columns, column = i % columns;
      ++i;
      return config_.gain * (tall ? q[column][row] : q[row][column]);
    });
  }

 private:
  OrthogonalConfig config_;
};

}  // namespace

Orthogonal::Orthogonal(const Config& config) : Initializer(std::make_shared<OrthogonalNode>(config)) {}

}  // namespace nyala
