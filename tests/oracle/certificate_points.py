"""Which outputs a query can reach, and equal ones."""

from fractions import Fraction as Q
from itertools import product as pairs
from math import gcd, lcm

from certificate_numbers import (
    HIGHEST_DEGREE, Room, any_of, apply, demand, dot, exact, matrix, times, transposed, vector,
    weights_reach, with_ones)  # fmt: skip


def attainable_point(c):
    weights_reach(vector(c["weights"]), matrix(c["values"]), vector(c["point"]))


def separating_hyperplane(c):
    normal, offset = vector(c["normal"]), exact(c["offset"])
    sides = [dot(normal, value) + offset for value in matrix(c["values"])]
    side = dot(normal, vector(c["point"])) + offset
    demand(sides == vector(c["value_sides"]) and side == exact(c["point_side"]), "sides are not as stated")
    demand(min(sides) >= 0 >= side and (side < 0 or any_of(sides)), "nothing is separated")


def reachable_with_keys(c):
    values, keys, weights = matrix(c["values"]), matrix(c["keys"]), vector(c["weights"])
    demand(len(keys) == len(values))
    weights_reach(weights, values, vector(c["point"]))
    room = Room()
    for j, row in enumerate(times(with_ones(keys), matrix(c["inverse"]))):
        demand(len(row) == len(weights))
        row[j] -= 1
        scale = lcm(*(x.denominator for x in row))
        demand(room.power_product(weights, [x * scale for x in row]) == 1, "the logarithms do not fit")


def reachable_between_weights(c):
    values, keys, point = matrix(c["values"]), matrix(c["keys"]), vector(c["point"])
    lower, upper = vector(c["lower_weights"]), vector(c["upper_weights"])
    relation, remainder = vector(c["relation"]), vector(c["remainder"])
    demand(len(keys) == len(values) == len(remainder))
    for weights in (lower, upper):
        weights_reach(weights, values, point)
    room = Room()
    demand(room.power_product(lower, relation) <= 1 <= room.power_product(upper, relation), "not between")
    for j, row in enumerate(times(with_ones(keys), matrix(c["inverse"]))):
        expected = [(1 if j == k else 0) - remainder[j] * r for k, r in enumerate(relation)]
        demand(row == expected, "the query does not give the weights")


def unreachable_with_keys(c):
    values, keys, weights = matrix(c["values"]), matrix(c["keys"]), vector(c["weights"])
    weights_reach(weights, values, vector(c["point"]))
    identity = times(with_ones(values), matrix(c["inverse"]))
    demand(identity == [[Q(r == k) for k in range(len(values))] for r in range(len(values))], "weights are not unique")
    relation = vector(c["relation"])
    demand(len(relation) == len(keys) and not any_of(apply(transposed(with_ones(keys)), relation)), "no relation")
    demand(Room().power_product(weights, relation) != 1, "the weights obey it")


# Polynomials as ascending lists.
def trimmed(p):
    while p and p[-1] == 0:
        p = p[:-1]
    return p


def poly_times(a, b):
    result = [Q(0)] * max(len(a) + len(b) - 1, 0)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            result[i + j] += x * y
    return trimmed(result)


def poly_plus(a, b):
    longest = max(len(a), len(b))
    return trimmed([x + y for x, y in zip(a + [Q(0)] * (longest - len(a)), b + [Q(0)] * (longest - len(b)))])


def poly_at(p, y):
    value = Q(0)
    for x in reversed(p):
        value = value * y + x
    return value


def composed(p, inner_numerator, inner_denominator):
    """The numerator of p(a / b) for polynomials a, b of degree at most 1, by Horner's rule."""
    result, power = [], [Q(1)]
    for x in reversed(p):
        result = poly_plus(poly_times(result, inner_numerator), [x * y for y in power])
        power = poly_times(power, inner_denominator)
    return result


def line(values, keys, point, direction):
    """The equations in y = exp(a multiple of the query), one for each coordinate."""
    demand(len(keys) == len(values))
    places = apply(keys, direction)
    scale = lcm(*(t.denominator for t in places))
    steps = [int((t - min(places)) * scale) for t in places]
    divisor = gcd(*steps) or 1
    exponents = [step // divisor for step in steps]
    demand(max(exponents) <= HIGHEST_DEGREE, "the degree is too high")
    equations = []
    for c, p in enumerate(point):
        equation = [Q(0)] * (max(exponents) + 1)
        for value, exponent in zip(values, exponents):
            demand(len(value) == len(point))
            equation[exponent] += value[c] - p
        equations.append(trimmed(equation))
    return places, equations


def reachable_along_direction(c):
    _, equations = line(matrix(c["values"]), matrix(c["keys"]), vector(c["point"]), vector(c["direction"]))
    divisor, quotients = trimmed(vector(c["divisor"])), matrix(c["quotients"])
    demand(len(quotients) == len(equations))
    for quotient, equation in zip(quotients, equations):
        demand(poly_times(divisor, quotient) == equation, "the divisor does not divide")
    lower, upper = exact(c["lower"]), exact(c["upper"])
    demand(0 < lower <= upper and poly_at(divisor, lower) * poly_at(divisor, upper) <= 0, "no root is shown")


def unreachable_along_line(c):
    keys = matrix(c["keys"])
    places, equations = line(matrix(c["values"]), keys, vector(c["point"]), vector(c["direction"]))
    # On one line, with the direction not across it: every pair's steps are proportional.
    for a, b in pairs(range(len(keys)), repeat=2):
        demand((places[a] == places[b]) <= (keys[a] == keys[b]), "the keys are not on one line")
    end = next((j for j in range(len(keys)) if places[j] != places[0]), 0)
    for j in range(len(keys)):
        for x, y, z in zip(keys[0], keys[end], keys[j]):
            demand((z - x) * (places[end] - places[0]) == (y - x) * (places[j] - places[0]), "not on one line")
    cofactors, combined = matrix(c["cofactors"]), []
    demand(len(cofactors) == len(equations))
    for cofactor, equation in zip(cofactors, equations):
        combined = poly_plus(combined, poly_times(cofactor, equation))
    demand(combined, "the combination is zero")
    places = [Q(0), *vector(c["breaks"])]
    demand(all(a < b for a, b in zip(places, places[1:])), "breaks do not ascend")
    demand(all(poly_at(combined, y) != 0 for y in places[1:]), "a break is a root")
    for lower, upper in zip(places, places[1:]):
        signs = {x > 0 for x in composed(combined, [lower, upper], [Q(1), Q(1)]) if x != 0}
        demand(len(signs) == 1, "signs change")
    demand(len({x > 0 for x in composed(combined, [places[-1], Q(1)], [Q(1)]) if x != 0}) == 1, "signs change")


def reachable_by_moments(c):
    values, keys = matrix(c["values"]), matrix(c["keys"])
    weights_reach(vector(c["weights"]), values, vector(c["point"]))
    demand(len(keys) == len(values) and times(with_ones(keys), matrix(c["affine"])) == values, "not affine")


def equal_outputs(c):
    values, output = matrix(c["values"]), vector(c["output"])
    rows = [[x / sum(row) for x in row] for row in matrix(c["strengths"]) if all(x > 0 for x in row) or demand(False)]
    demand(len(rows) >= 2 and len({tuple(row) for row in rows}) == len(rows), "rows weigh alike")
    for row in rows:
        weights_reach(row, values, output)
