"""Exact numbers and exact logarithms from text, for the fixture oracle.

A logarithm is a dict {prime: Fraction coefficient}, standing for the sum of coefficient * ln(prime).
Unique factorisation makes the dict the value: two logarithms are equal exactly if the dicts are.
"""

import re
from fractions import Fraction

MAX_EXPONENT = 20000

_FRACTION = re.compile(r"([0-9]+)/([0-9]+)")
_DECIMAL = re.compile(r"([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?")
_HEXADECIMAL = re.compile(r"0[xX]([0-9a-fA-F]*)(?:\.([0-9a-fA-F]*))?(?:[pP]([+-]?[0-9]+))?")
_TERM = re.compile(r"(?:([0-9]+(?:/[0-9]+)?)\*)?ln\(([0-9]+(?:/[0-9]+)?)\)")
_JOIN = re.compile(r" *([+-]) *")


class FixtureError(Exception):
    """Input that breaks a stated rule: `code` for programs, `where` is a path in the document."""

    def __init__(self, code, where, message):
        super().__init__(f"{code} at {where}: {message}")
        self.code = code
        self.where = where


def parse_rational(text, where):
    """An integer, p/q, a decimal or a hexadecimal float, as a Fraction."""
    sign = -1 if text.startswith("-") else 1
    body = text[1:] if text[:1] in ("-", "+") else text
    if match := _FRACTION.fullmatch(body):
        if int(match[2]) == 0:
            raise FixtureError("rational.zero_denominator", where, f'"{text}"')
        return sign * Fraction(int(match[1]), int(match[2]))
    for pattern, digit_base, exponent_base in ((_DECIMAL, 10, 10), (_HEXADECIMAL, 16, 2)):
        match = pattern.fullmatch(body)
        if match and (match[1] or match[2]):
            return sign * _scaled(match, digit_base, exponent_base, where)
    raise FixtureError("rational.syntax", where, f'"{text}" is not an exact number')


def _scaled(match, digit_base, exponent_base, where):
    whole, fraction, exponent = match[1], match[2] or "", int(match[3] or "0")
    if abs(exponent) > MAX_EXPONENT:
        raise FixtureError("rational.exponent_out_of_range", where, f'"{match[0]}"')
    digits = Fraction(int(whole + fraction, digit_base), digit_base ** len(fraction))
    return digits * Fraction(exponent_base) ** exponent


def parse_canonical(text, where):
    """An expected number: p or p/q in lowest terms, or "nan", which becomes None."""
    if text == "nan":
        return None
    value = parse_rational(text, where)
    if canonical(value) != text:
        raise FixtureError("fixture.field_type", where, f'"{text}" should be "{canonical(value)}"')
    return value


def canonical(value):
    return "nan" if value is None else str(value)


def parse_log(text, where):
    """"0", or terms c*ln(p) joined by + and -, as {prime: coefficient}."""
    if text == "0":
        return {}
    rest, sign = (text[1:], -1) if text.startswith("-") else (text, 1)
    total = {}
    while True:
        match = _TERM.match(rest)
        if not match:
            raise FixtureError("log_rational.syntax", where, f'"{text}" is not an exact logarithm')
        coefficient = sign * parse_rational(match[1] or "1", where)
        total = log_add(total, log_scale(log_of(parse_rational(match[2], where), where),
                                         coefficient))
        rest = rest[match.end():]
        if not rest:
            return total
        join = _JOIN.match(rest)
        if not join:
            raise FixtureError("log_rational.syntax", where, f'"{text}" is not an exact logarithm')
        sign = -1 if join[1] == "-" else 1
        rest = rest[join.end():]


def parse_canonical_log(text, where):
    """An expected logarithm: terms c*ln(p) over ascending primes, c in lowest terms, 1* left out."""
    value = parse_log(text, where)
    if canonical_log(value) != text:
        raise FixtureError("fixture.field_type", where,
                           f'"{text}" should be "{canonical_log(value)}"')
    return value


def canonical_log(log):
    text = ""
    for prime in sorted(log):
        size = abs(log[prime])
        sign = "-" if log[prime] < 0 else "+"
        text += f" {sign} " if text else sign.replace("+", "")
        text += ("" if size == 1 else f"{size}*") + f"ln({prime})"
    return text or "0"


def log_of(value, where):
    if value <= 0:
        raise FixtureError("log_rational.syntax", where, f"ln({value}) does not exist")
    numerator = _factored(value.numerator)
    return log_add(numerator, log_scale(_factored(value.denominator), -1))


def _factored(number):
    result, divisor = {}, 2
    while number > 1:
        if divisor * divisor > number:
            divisor = number
        while number % divisor == 0:
            result[divisor] = result.get(divisor, Fraction(0)) + 1
            number //= divisor
        divisor += 1
    return result


def log_add(left, right):
    result = dict(left)
    for prime, coefficient in right.items():
        result[prime] = result.get(prime, Fraction(0)) + coefficient
    return {prime: coefficient for prime, coefficient in result.items() if coefficient != 0}


def log_scale(log, factor):
    return {prime: factor * coefficient for prime, coefficient in log.items() if factor != 0}


def log_exp(log, where):
    """exp of a logarithm; rational exactly if every coefficient is an integer."""
    result = Fraction(1)
    for prime, coefficient in log.items():
        if coefficient.denominator != 1:
            raise FixtureError("log_rational.exp_not_rational", where,
                               f"exp of {coefficient}*ln({prime}) + ... is irrational")
        result *= Fraction(prime) ** coefficient.numerator
    return result
