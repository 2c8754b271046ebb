"""Polynomials and terms, read from text."""

from itertools import product as pairs

from certificate_numbers import (
    demand, entries, index, integers)  # fmt: skip


class Polynomial:
    """Sums and products of variables and integers, read by recursive descent and expanded."""

    def __init__(self, text):
        demand(isinstance(text, str) and len(text) <= 2000)
        self.tokens, at = [], 0
        while at < len(text):
            start = text[at]
            if start == " ":
                at += 1
                continue
            end = at + 1
            if start.isascii() and start.isalpha():
                while end < len(text) and text[end].isascii() and (text[end].isalnum() or text[end] == "_"):
                    end += 1
            elif start.isascii() and start.isdigit():
                while end < len(text) and text[end].isascii() and text[end].isdigit():
                    end += 1
            else:
                demand(start in "+-*()", "an unknown character")
            self.tokens.append(text[at:end])
            at = end
        self.terms = self.total(0)
        demand(not self.tokens, "something is left over")

    def take(self, token):
        if self.tokens[:1] == [token]:
            return self.tokens.pop(0)
        return None

    @staticmethod
    def plus(a, b, sign):
        result = dict(a)
        for monomial, x in b.items():
            result[monomial] = result.get(monomial, 0) + sign * x
            if not result[monomial]:
                del result[monomial]
        return result

    def total(self, depth):
        demand(depth <= 50)
        result = self.plus({}, self.multiplied(depth) if not self.take("-") else self.negated(depth), 1)
        while True:
            if self.take("+"):
                result = self.plus(result, self.multiplied(depth), 1)
            elif self.take("-"):
                result = self.plus(result, self.multiplied(depth), -1)
            else:
                return result

    def negated(self, depth):
        return self.plus({}, self.multiplied(depth), -1)

    def multiplied(self, depth):
        result = self.factor(depth)
        while self.take("*"):
            other, product = self.factor(depth), {}
            for (a, x), (b, y) in pairs(result.items(), other.items()):
                monomial = tuple(sorted(a + b))
                product[monomial] = product.get(monomial, 0) + x * y
                demand(len(product) <= 10_000)
            result = {m: x for m, x in product.items() if x}
        return result

    def factor(self, depth):
        if self.take("("):
            inner = self.total(depth + 1)
            demand(self.take(")"))
            return inner
        demand(self.tokens and self.tokens[0][0] not in "+-*()")
        token = self.tokens.pop(0)
        if token[0].isdigit():
            return {(): int(token)} if int(token) else {}
        return {(token,): 1}


def polynomial_identity(c):
    demand(Polynomial(c["left"]).terms == Polynomial(c["right"]).terms, "the polynomials differ")


def term(text):
    """An application as nested tuples: "f(g(x), y)"; one word for a variable or constant."""
    demand(isinstance(text, str) and len(text) <= 4000)

    def read(at, depth):
        demand(depth <= 50)
        end = at
        while end < len(text) and text[end].isascii() and (text[end].isalnum() or text[end] == "_"):
            end += 1
        demand(end > at)
        name, arguments = text[at:end], []
        if text[end : end + 1] != "(":
            return (name,), end
        while text[end : end + 1] in ("(", ","):
            end += 1
            while text[end : end + 1] == " ":
                end += 1
            argument, end = read(end, depth + 1)
            arguments.append(argument)
        demand(text[end : end + 1] == ")")
        return (name, *arguments), end + 1

    parsed, end = read(0, 0)
    demand(end == len(text), "a term goes on")
    return parsed


def is_variable(t):
    return len(t) == 1 and t[0][0].islower() and t[0][0].isalpha() and len(t[0]) == 1


def matched(pattern, t, bound):
    if is_variable(pattern):
        return bound.setdefault(pattern[0], t) == t
    return len(pattern) == len(t) and pattern[0] == t[0] and all(matched(p, s, bound) for p, s in zip(pattern[1:], t[1:]))


def filled(pattern, bound):
    if is_variable(pattern):
        demand(pattern[0] in bound, "an axiom's right side has a variable of its own")
        return bound[pattern[0]]
    return (pattern[0], *(filled(p, bound) for p in pattern[1:]))


def is_rewrite(axiom, before, after):
    bound = {}
    if matched(axiom[0], before, bound) and filled(axiom[1], bound) == after:
        return True
    if len(before) != len(after) or before[0] != after[0]:
        return False
    changed = [(a, b) for a, b in zip(before[1:], after[1:]) if a != b]
    return len(changed) == 1 and is_rewrite(axiom, *changed[0])


def equational_proof(c):
    axioms = []
    for stated in entries(c["axioms"], lambda x: x):
        demand(isinstance(stated, dict) and set(stated) == {"name", "left", "right"} and isinstance(stated["name"], str))
        axioms.append((term(stated["left"]), term(stated["right"])))
    for side in (0, 1):
        for axiom in axioms:
            demand(not is_variable(axiom[side]), "an axiom of a bare variable")
    chain = [term(t) for t in entries(c["chain"], lambda x: x)]
    uses = entries(c["uses"], lambda x: index(x, len(axioms)))
    demand(len(uses) == len(chain) - 1)
    for number, before, after in zip(uses, chain, chain[1:]):
        left, right = axioms[number]
        demand(is_rewrite((left, right), before, after) or is_rewrite((right, left), before, after), "no rewrite")
