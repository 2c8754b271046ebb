#include "gqa/theory/claims/instances.hpp"

#include "gqa/theory/rational_rank.hpp"

namespace gqa::claim_instances {
namespace {

std::int64_t count(std::size_t n) {
  return static_cast<std::int64_t>(n);
}

std::vector<Rational> flat(const std::vector<Matrix>& heads) {
  std::vector<Rational> data;
  for (const Matrix& head : heads) {
    for (const Row& row : head) data.insert(data.end(), row.begin(), row.end());
  }
  return data;
}

}  // namespace

Rational fraction(long numerator, long denominator) {
  return make_rational(mpz_class(numerator), mpz_class(denominator));
}

Tensor<Rational> to_tensor(const std::vector<Matrix>& heads) {
  return {{1, count(heads.size()), count(heads[0].size()), count(heads[0][0].size())}, flat(heads)};
}

Matrix to_matrix(MatrixView<const Rational> matrix) {
  Matrix rows;
  for (std::size_t r = 0; r < matrix.rows(); ++r) {
    rows.emplace_back(matrix.row(r).begin(), matrix.row(r).end());
  }
  return rows;
}

Problem<GmpNumbers> with_strengths(const std::vector<Matrix>& strengths,
                                   const std::vector<Matrix>& values) {
  Problem<GmpNumbers> problem;
  problem.strengths = to_tensor(strengths);
  problem.value = to_tensor(values);
  return problem;
}

Problem<GmpNumbers> with_queries(long base, const std::vector<Matrix>& queries,
                                 const std::vector<Matrix>& keys,
                                 const std::vector<Matrix>& values) {
  Problem<GmpNumbers> problem;
  const LogRational unit = LogRational::log_of(Rational(base));
  const Tensor<Rational> exponents = to_tensor(queries);
  problem.query = Tensor<LogRational>(exponents.shape());
  for (std::size_t i = 0; i < exponents.size(); ++i) {
    problem.query.data()[i] = unit * exponents.data()[i];
  }
  problem.key = to_tensor(keys);
  problem.value = to_tensor(values);
  return problem;
}

Row row_of(const Tensor<Rational>& tensor, std::int64_t head, std::size_t i) {
  const auto row = tensor.matrix(0, head).row(i);
  return {row.begin(), row.end()};
}

Matrix stacked_outputs(const Problem<GmpNumbers>& problem) {
  const Tensor<Rational> output = attention(problem, Wanted::output).output;
  Matrix stack(static_cast<std::size_t>(output.extent(2)));
  for (std::int64_t h = 0; h < output.extent(1); ++h) {
    for (std::size_t i = 0; i < stack.size(); ++i) {
      const Row row = row_of(output, h, i);
      stack[i].insert(stack[i].end(), row.begin(), row.end());
    }
  }
  return stack;
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix result(a.size(), Row(b[0].size()));
  for (std::size_t r = 0; r < a.size(); ++r) {
    for (std::size_t k = 0; k < b.size(); ++k) {
      for (std::size_t c = 0; c < b[k].size(); ++c) result[r][c] += a[r][k] * b[k][c];
    }
  }
  return result;
}

Matrix sum(Matrix a, const Matrix& b) {
  for (std::size_t r = 0; r < a.size(); ++r) {
    for (std::size_t c = 0; c < a[r].size(); ++c) a[r][c] += b[r][c];
  }
  return a;
}

std::size_t rank(const Matrix& matrix) {
  const std::vector<Rational> data = flat({matrix});
  return rational_rank(MatrixView<const Rational>(data.data(), matrix.size(), matrix[0].size()));
}

Matrix random_integers(std::mt19937_64& engine, std::size_t rows, std::size_t columns) {
  Matrix result(rows, Row(columns));
  for (Row& row : result) {
    for (Rational& x : row) x = static_cast<long>(engine() % 9) - 4;
  }
  return result;
}

std::string to_text(const Row& row) {
  std::string text = "(";
  for (const Rational& x : row) text += (text.size() > 1 ? ", " : "") + gqa::to_text(x);
  return text + ")";
}

}  // namespace gqa::claim_instances
