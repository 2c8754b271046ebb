"""Exact numbers and matrices of certificates: what is malformed proves nothing."""

from fractions import Fraction as Q

LARGEST_BITS = 1 << 21  # of one product of powers; both checkers refuse what is larger
HIGHEST_DEGREE = 1024


class Rejected(Exception):
    """Well-formed or not: the statement is not proved."""


def demand(holds, reason="it does not hold"):
    if not holds:
        raise Rejected(reason)


def exact(text):
    demand(isinstance(text, str), "an exact number is no string")
    demand(len(text) <= 2_000_000 and text.isascii())
    for part in text.split("e", 1)[1:] if "/" not in text else []:
        demand(part.lstrip("+-").isdigit() and abs(int(part)) <= 20_000, "an exponent is too large")
    sign_free = text[1:] if text[:1] == "-" else text
    demand(sign_free[:1].isdigit() and "_" not in text and " " not in text, f"{text[:20]!r} is no exact number")
    try:
        return Q(text)
    except (ValueError, ZeroDivisionError) as error:
        raise Rejected(f"{text[:20]!r} is no exact number") from error


def entries(value, read):
    demand(isinstance(value, list) and value, "a list is missing or empty")
    return [read(entry) for entry in value]


def vector(value):
    return entries(value, exact)


def matrix(value):
    rows = entries(value, vector)
    demand(len({len(row) for row in rows}) == 1, "rows have different lengths")
    return rows


def matrices(value):
    all_of_them = entries(value, matrix)
    demand(len({(len(m), len(m[0])) for m in all_of_them}) == 1, "matrices have different shapes")
    return all_of_them


def integer(value):
    demand(isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63, "no integer")
    return value


def integers(value):
    return entries(value, integer)


def index(value, size):
    demand(0 <= integer(value) < size, "an index is out of range")
    return value


def dot(a, b):
    demand(len(a) == len(b), "lengths differ")
    return sum((x * y for x, y in zip(a, b)), Q(0))


def transposed(m):
    return [list(column) for column in zip(*m)]


def times(a, b):
    demand(len(a[0]) == len(b), "shapes do not fit")
    columns = transposed(b)
    return [[dot(row, column) for column in columns] for row in a]


def apply(m, x):
    return [dot(row, x) for row in m]


def mean(all_of_them):
    return [[sum(x, Q(0)) / len(all_of_them) for x in zip(*rows)] for rows in zip(*all_of_them)]


def mean_row(rows):
    return [sum(column, Q(0)) / len(rows) for column in zip(*rows)]


def minus(a, b):
    demand(len(a) == len(b), "lengths differ")
    return [x - y for x, y in zip(a, b)]


def any_of(x):
    return any(c != 0 for c in x)


class Room:
    """Sizes of powers are added up before any is computed."""

    def __init__(self):
        self.left = 1 << 26

    def power_product(self, bases, exponents):
        demand(len(bases) == len(exponents), "lengths differ")
        result, room = Q(1), min(self.left, LARGEST_BITS)
        for base, exponent in zip(bases, exponents):
            demand(exponent.denominator == 1, "an exponent is no integer")
            size = sum(n.bit_length() for n in (base.numerator, base.denominator) if n != 1)
            room -= size * abs(exponent.numerator)
            self.left -= size * abs(exponent.numerator)
            demand(room >= 0, "a power is too large")
        for base, exponent in zip(bases, exponents):
            result *= base ** exponent.numerator
        return result


def weights_reach(weights, values, point):
    demand(all(w > 0 for w in weights) and sum(weights) == 1, "no positive weights of sum 1")
    demand(len(weights) == len(values) and apply(transposed(values), weights) == point, "the point is not reached")


def with_ones(rows):
    return [[*row, Q(1)] for row in rows]
