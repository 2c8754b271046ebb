"""What pooling histories or projections changes."""

from fractions import Fraction as Q
from itertools import product as pairs

from certificate_numbers import (
    any_of, apply, demand, dot, exact, index, integer, integers, matrices, matrix, mean, mean_row, minus,
    times, transposed, vector)  # fmt: skip


def group(c):
    keys, values = matrices(c["keys"]), matrices(c["values"])
    demand(len(keys) == len(values) and len(keys[0]) == len(values[0]), "keys and values do not fit")
    return keys, values


def pooled_differences(keys, values, head, positions):
    sums = {}
    pooled_keys, pooled_values = mean(keys), mean(values)
    for j, l in pairs(range(positions), repeat=2):
        at = tuple(x + y for x, y in zip(keys[head][j], pooled_keys[l]))
        change = minus(values[head][j], pooled_values[l])
        sums[at] = [x + y for x, y in zip(sums.get(at, [0] * len(change)), change)]
    return sums


def pooling_loss(c):
    keys, values = group(c)
    difference = vector(c["difference"])
    sums = pooled_differences(keys, values, index(c["head"], len(keys)), len(keys[0]))
    demand(sums.get(tuple(vector(c["key_sum"]))) == difference and any_of(difference), "no such difference")


def pooling_lossless(c):
    keys, values = group(c)
    demand(isinstance(c["causal"], bool))
    for n in range(1 if c["causal"] else len(keys[0]), len(keys[0]) + 1):
        for head in range(len(keys)):
            demand(not any(any_of(d) for d in pooled_differences(keys, values, head, n).values()), "something is lost")


class Layer:
    """What stands between projections and scores."""

    FIELDS = ("planes", "rotations", "query_biases", "key_biases", "value_biases", "query_norm", "key_norm", "norm_epsilon")

    def __init__(self, stated, heads=None, key_size=None):
        fields = stated if stated is not None else dict.fromkeys(self.FIELDS)
        demand(isinstance(fields, dict) and set(fields) == set(self.FIELDS), "the layer's fields are others")
        flat = [] if fields["planes"] is None else integers(fields["planes"])
        demand(len(set(flat)) == len(flat) and len(flat) % 2 == 0 and min(flat, default=0) >= 0, "no planes")
        self.planes = list(zip(flat[::2], flat[1::2]))
        self.rotations = None if fields["rotations"] is None else matrix(fields["rotations"])
        if self.rotations is not None:
            demand(len(self.rotations) == len(self.planes))
            demand(all(len(r) == 2 and dot(r, r) == 1 for r in self.rotations), "no rotation")
        self.query_biases, self.key_biases, self.value_biases = (
            None if fields[name] is None else matrix(fields[name]) for name in self.FIELDS[2:5])
        self.query_norm, self.key_norm = (None if fields[name] is None else vector(fields[name]) for name in self.FIELDS[5:7])
        normalised = self.query_norm is not None or self.key_norm is not None
        demand(normalised == (fields["norm_epsilon"] is not None))
        self.epsilon = exact(fields["norm_epsilon"]) if normalised else None
        demand(not normalised or self.epsilon > 0)
        demand(self.key_norm is None or self.key_biases is None, "normalised keys with biases")
        if key_size is None:
            return
        demand(all(x < key_size for x in flat), "a plane lies outside")
        for biases in (self.query_biases, self.key_biases):
            demand(biases is None or (len(biases) == heads and len(biases[0]) == key_size))
        for norm in (self.query_norm, self.key_norm):
            demand(norm is None or len(norm) == key_size)

    @property
    def angles_are_distinct(self):
        return bool(self.planes) and self.rotations is None

    def turn(self, x, positions):
        """By the rotation matrix's power, computed as a power of one complex number for each plane."""
        x = list(x)
        for (a, b), (cosine, sine) in zip(self.planes, self.rotations or []):
            c, s = Q(1), Q(0)
            for _ in range(positions):
                c, s = c * cosine - s * sine, c * sine + s * cosine
            x[a], x[b] = c * x[a] - s * x[b], s * x[a] + c * x[b]
        return x

    def part(self, x, plane):
        turning = {c for p in self.planes for c in p}
        kept = self.planes[plane] if plane is not None else set(range(len(x))) - turning
        return [v if c in kept else Q(0) for c, v in enumerate(x)]


class Weights:
    def __init__(self, c):
        self.keys, self.values = matrices(c["key_weights"]), matrices(c["value_weights"])
        demand(len(self.keys) == len(self.values) and len(self.keys[0][0]) == len(self.values[0][0]))
        self.heads, self.size, self.width = len(self.keys), len(self.keys[0]), len(self.keys[0][0])
        self.layer = Layer(c["layer"], self.heads, self.size)
        demand(all(v == self.values[0] for v in self.values), "value projections differ")
        biases = self.layer.value_biases
        if biases is not None:
            demand(len(biases) == self.heads and len(biases[0]) == len(self.values[0]))
            demand(all(b == biases[0] for b in biases), "value biases differ")

    def key(self, weights, biases, x):
        return [a + b for a, b in zip(apply(weights, x), biases)]

    def own_key(self, h, x):
        return self.key(self.keys[h], (self.layer.key_biases or [[Q(0)] * self.size] * self.heads)[h], x)

    def mean_key(self, x):
        return self.key(mean(self.keys), mean_row(self.layer.key_biases or [[Q(0)] * self.size]), x)

    def change(self, h, x):
        return minus(self.own_key(h, x), self.mean_key(x))

    def agree(self, h, probe, x):
        """probe.g n(k) is the same of the own and the mean key: squares and signs of irrational numbers."""
        scaled = [p * g for p, g in zip(probe, self.layer.key_norm)]
        own, pooled = self.own_key(h, x), self.mean_key(x)
        a, b = dot(scaled, own), dot(scaled, pooled)
        squares = [dot(k, k) / self.size + self.layer.epsilon for k in (own, pooled)]
        return (a > 0) - (a < 0) == (b > 0) - (b < 0) and a * a / squares[0] == b * b / squares[1]

    def value_step(self, h, a, b):
        return apply(self.values[h], minus(a, b))

    def query(self, c, h, x):
        stated = vector(c["query"])
        demand(len(stated) == self.size)
        if c["query_weight"] is None:
            demand(self.layer.query_biases is None and self.layer.query_norm is None)
            return stated
        made = apply(matrix(c["query_weight"]), x)
        demand(len(made) == self.size)
        if self.layer.query_biases is not None:
            made = [a + b for a, b in zip(made, self.layer.query_biases[h])]
        if self.layer.query_norm is not None:
            made = [a * b for a, b in zip(made, self.layer.query_norm)]
        demand(made == stated, "the query is another")
        return stated


def weight_pooling_loss(c):
    if c["loss"] == "values_differ":
        layer, values, x = Layer(c["layer"]), matrices(c["value_weights"]), vector(c["input"])
        h = index(c["head"], len(values))
        biases = layer.value_biases or [[Q(0)] * len(values[0])] * len(values)
        demand(len(biases) == len(values) and len(biases[0]) == len(values[0]))
        outputs = [[a + b for a, b in zip(apply(v, x), bias)] for v, bias in zip(values, biases)]
        demand(outputs[h] == vector(c["output"]) != mean_row(outputs) == vector(c["pooled_output"]), "outputs")
        return
    demand(c["loss"] in ("scores_differ", "normalised_scores_differ", "some_distance"), "unknown loss")
    w, x = Weights(c), vector(c["input"])
    h = index(c["head"], w.heads)
    query = w.query(c, h, x)
    if c["loss"] == "some_distance":
        demand(w.layer.angles_are_distinct and any(any_of(row) for row in w.values[h]), "angles or values")
        plane = None if c["plane"] is None else index(c["plane"], len(w.layer.planes))
        seen, y = w.layer.part(query, plane), vector(c["key_input"])
        demand(any_of(seen), "the query is zero there")
        if w.layer.key_norm is not None:
            units = [[Q(i == k) for k in range(w.size)] for i in (w.layer.planes[plane] if plane is not None else ())]
            demand(not all(w.agree(h, u, y) for u in units or [seen]), "no score changes")
        elif plane is not None:
            demand(any_of(w.layer.part(w.change(h, y), plane)), "no score changes")
        else:
            demand(dot(seen, w.change(h, y)) != dot(seen, w.change(h, [Q(0)] * len(y))), "no score changes")
        return
    demand(not w.layer.angles_are_distinct)
    normalised = c["loss"] == "normalised_scores_differ"
    demand(normalised == (w.layer.key_norm is not None))
    earlier, distance = vector(c["earlier_input"]), integer(c["distance"])
    demand(1 <= distance <= w.size + 1 and any_of(w.value_step(h, earlier, x)), "distance or values")
    for t in range(0 if distance > 1 else 1, distance):
        probe = w.layer.turn(query, t)
        demand(w.agree(h, probe, x) if normalised else dot(minus(probe, query), w.change(h, x)) == 0, "between")
    probe = w.layer.turn(query, distance)
    if normalised:
        demand(any_of(apply(w.values[h], x)) and not w.agree(h, probe, earlier), "no score changes")
        return
    own = dot(probe, w.own_key(h, earlier)) - dot(query, w.own_key(h, x))
    pooled = dot(probe, w.mean_key(earlier)) - dot(query, w.mean_key(x))
    demand((own, pooled) == (exact(c["score_difference"]), exact(c["pooled_score_difference"])) and own != pooled)


def weight_pooling_lossless(c):
    w = Weights(c)
    queries = None if c["query_weights"] is None else matrices(c["query_weights"])
    if queries is None:
        demand(w.layer.query_biases is None and w.layer.query_norm is None)
    else:
        demand(len(queries) == w.heads and len(queries[0]) == w.size)
    if not any(any_of(row) for row in w.values[0]):
        return
    pooled = mean(w.keys)
    for h in range(w.heads):
        span = [[Q(i == k) for k in range(w.size)] for i in range(w.size)]
        if queries is not None:
            span = transposed(queries[h]) + ([w.layer.query_biases[h]] if w.layer.query_biases else [])
            if w.layer.query_norm is not None:
                span = [[a * b for a, b in zip(q, w.layer.query_norm)] for q in span]
        bias = minus(w.own_key(h, [Q(0)] * w.width), w.mean_key([Q(0)] * w.width))
        if w.layer.angles_are_distinct:
            probes = [w.layer.part(q, None) for q in span]
            for plane, coordinates in enumerate(w.layer.planes):
                if any(any_of(w.layer.part(q, plane)) for q in span):
                    probes += [[Q(i == k) for k in range(w.size)] for i in coordinates]
                    demand(not any_of(w.layer.part(bias, plane)), "a bias turns")
        else:
            turns = range(1, w.size + 1) if w.layer.planes else (1,)
            probes = [w.layer.turn(q, t) for q in span for t in turns]
            if w.layer.planes:
                demand(all(dot(minus(w.layer.turn(q, t), q), bias) == 0 for q in span for t in turns), "a bias turns")
        gains = w.layer.key_norm or [Q(1)] * w.size
        own = times([[p * g for p, g in zip(row, gains)] for row in probes], w.keys[h])
        demand(own == times([[p * g for p, g in zip(row, gains)] for row in probes], pooled), "scores change")
        if w.layer.key_norm is not None and any(any_of(row) for row in own):
            demand(times(transposed(w.keys[h]), w.keys[h]) == times(transposed(pooled), pooled), "norms change")
