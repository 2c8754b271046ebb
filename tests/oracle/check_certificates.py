#!/usr/bin/env python3
"""Re-verifies certificates (docs/theory.md, "Certificates") in integers and fractions alone, sharing nothing with gqaverify:

    check_certificates.py CERTIFICATE...                                 says of each what holds
    check_certificates.py --against gqaverify [--mutations N] [--seed S] CERTIFICATE...
                                       asks `gqaverify check` the same, of every certificate and of N mutations of them

Exit status: 0 all verified (or, with --against, both always agree), 1 not.

Every kind is derived here from what its certificate must prove, not from the other checker's text."""

import argparse
import copy
import json
import random
import subprocess
import sys
import tempfile
from fractions import Fraction as Q
from pathlib import Path

import certificate_identities as identities
import certificate_points as points
import certificate_pooling as pooling
import certificate_ranks as ranks
import certificate_terms as terms
from certificate_numbers import Rejected, demand

KINDS = {rule.__name__: rule for rule in (
    points.attainable_point, points.separating_hyperplane, points.reachable_with_keys,
    points.reachable_between_weights, points.unreachable_with_keys, points.reachable_along_direction,
    points.unreachable_along_line, points.reachable_by_moments, points.equal_outputs, pooling.pooling_loss,
    pooling.pooling_lossless, pooling.weight_pooling_loss, pooling.weight_pooling_lossless, ranks.rank_lower_bound,
    ranks.rank_upper_bound, ranks.stacked_output_rank, ranks.enclosed_group_rank, identities.counterexample, identities.byte_ledger,
    terms.polynomial_identity, terms.equational_proof)}  # fmt: skip


class Fields(dict):
    """Remembers what was read: a field that nobody looked at is no part of a proof."""

    def __init__(self, document):
        super().__init__(document)
        self.read = set()

    def __getitem__(self, name):
        demand(name in self, f"{name} is missing")
        self.read.add(name)
        return super().__getitem__(name)


def verdict(document):
    """None if the certificate proves its statement, else why not."""
    try:
        demand(isinstance(document, dict))
        c = Fields(document)
        demand(c["schema"] == "gqaverify.certificate/1", "another schema")
        demand(isinstance(c["kind"], str) and c["kind"] in KINDS, "unknown kind")
        KINDS[c["kind"]](c)
        demand(set(c) == c.read, f"{sorted(set(c) - c.read)} was not read")
    except (Rejected, TypeError, IndexError, AttributeError) as error:
        return str(error) or "rejected"
    return None


def leaves(node, at=()):
    if isinstance(node, (dict, list)):
        for key in node if isinstance(node, dict) else range(len(node)):
            yield from leaves(node[key], (*at, key))
    else:
        yield at


def mutated(document, rng):
    """One leaf changed, or an entry of a list doubled, dropped or swapped."""
    copied = copy.deepcopy(document)
    at = rng.choice(list(leaves(copied)))
    *path, last = at
    parent = copied
    for step in path:
        parent = parent[step]
    old = parent[last]
    choice = rng.randrange(8)
    if choice == 0 and isinstance(parent, list):
        parent.append(copy.deepcopy(rng.choice(parent)))
    elif choice == 1 and isinstance(parent, list) and len(parent) > 1:
        parent.pop(last)
    elif choice == 2 and isinstance(parent, list):
        other = rng.randrange(len(parent))
        parent[last], parent[other] = parent[other], parent[last]
    elif isinstance(old, bool):
        parent[last] = not old
    elif isinstance(old, int):
        parent[last] = old + rng.choice((-1, 1, 2, -2 * old))
    elif old is None:
        parent[last] = rng.choice((1, "1", ["1"], [["1"]]))
    else:
        try:
            value = Q(old)
            new = rng.choice((value + 1, value - 1, -value, Q(0), value + Q(1, 7), 2 * value))
            parent[last] = str(new)
        except (ValueError, ZeroDivisionError):
            parent[last] = rng.choice((old + "0", old.replace("1", "2", 1), old.replace("a", "b", 1), old[:-1] or "x"))
    return copied


def asked(program, folder, documents):
    """What `gqaverify check` says of each: verified or not."""
    paths = []
    for number, document in enumerate(documents):
        paths.append(folder / f"{number}.json")
        paths[-1].write_text(json.dumps(document))
    command = [program, "check", "--json", "-", *map(str, paths)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode not in (0, 1, 3):
        sys.exit(f"gqaverify check ended with {result.returncode}: {result.stderr[:500]}")
    return [entry["verdict"] == "verified" for entry in json.loads(result.stdout)["certificates"]]


def compare(program, paths, mutations, seed):
    rng = random.Random(seed)
    originals = [json.loads(Path(path).read_text()) for path in paths]
    batch = [(path, document) for path, document in zip(paths, originals)]
    # Enclosures of a recorded group take seconds each: few of them.
    shares = [0.02 if document.get("kind") == "enclosed_group_rank" else 1 for document in originals]
    batch += [("a mutation of " + paths[k], mutated(originals[k], rng))
              for k in rng.choices(range(len(paths)), shares, k=mutations)]  # fmt: skip
    differ = survivors = 0
    with tempfile.TemporaryDirectory(prefix="gqa-certificates-") as folder:
        for start in range(0, len(batch), 500):
            part = batch[start : start + 500]
            theirs = asked(program, Path(folder), [document for _, document in part])
            for (name, document), verified in zip(part, theirs):
                reason = verdict(document)
                survivors += verified
                if (reason is None) != verified:
                    differ += 1
                    print(f"{name}: here {reason or 'verified'}, there {'verified' if verified else 'not'}")
                    print(json.dumps(document)[:2000])
    print(f"{len(batch)} certificates, {len(originals)} as written: {survivors} verified, {differ} disagreements")
    return differ == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("certificates", nargs="+")
    parser.add_argument("--against", help="the program whose check is asked, too")
    parser.add_argument("--mutations", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.against:
        sys.exit(not compare(options.against, options.certificates, options.mutations, options.seed))
    failed = False
    for path in options.certificates:
        reason = verdict(json.loads(Path(path).read_text()))
        failed |= reason is not None
        print(f"{path}: {'verified' if reason is None else 'rejected: ' + reason}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
