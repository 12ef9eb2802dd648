"""
Yuma consensus in exact fractions, written from its definition and not from the TypeScript: makes yuma.json beside this file.

    python3 tests/vectors/chain/make_yuma.py > tests/vectors/chain/yuma.json

Definition of consensus weight used here: the largest w such that validators with at least kappa of the voting stake give w or more
(chain/local walks up a sorted list instead). Standard library only. Numbers come from a small congruential generator, so the
output is the same everywhere.
"""

import json
from fractions import Fraction

U16 = 65535
state = 20_260_101


def draw(limit):
    global state
    state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
    return (state >> 33) % limit


def share(values):
    total = sum(values)
    return [Fraction(value, 1) / total if total else Fraction(0) for value in values]


def transpose(matrix):
    return [list(column) for column in zip(*matrix)]


def by_column(matrix, change):
    return transpose([change(column) for column in transpose(matrix)])


def dense(rows, n):
    matrix = [[Fraction(0)] * n for _ in range(n)]
    for i, row in enumerate(rows):
        for j, value in row:
            matrix[i][j] = Fraction(value)
    return matrix


def consensus_weight(column, voting, kappa):
    candidates = [w for w in column] + [Fraction(0)]
    backed = [w for w in candidates if sum(s for w_i, s in zip(column, voting) if w_i >= w) >= kappa]
    return max(backed, default=Fraction(0))


def yuma(case):
    n = len(case["stakeRao"])
    kappa = Fraction(case["kappa"], U16)
    penalty = Fraction(case["bondsPenalty"], U16)
    kept = Fraction(case["bondsMovingAverage"], 10**6)
    stake = share(case["stakeRao"])
    voting = share([s if votes else 0 for s, votes in zip(stake, case["isVoting"])])
    weights = [share(row) for row in dense(case["weights"], n)]
    clip = [consensus_weight(column, voting, kappa) if any(voting) else Fraction(0) for column in transpose(weights)]
    clipped = [[min(w, c) for w, c in zip(row, clip)] for row in weights]
    incentive = share([sum(clipped[i][j] * voting[i] for i in range(n)) for j in range(n)])
    growth = [
        [((1 - penalty) * weights[i][j] + penalty * clipped[i][j]) * voting[i] for j in range(n)] for i in range(n)
    ]
    old = by_column(dense(case["bonds"], n), share)
    new = by_column(growth, share)
    bonds = by_column([[(1 - kept) * a + kept * b for a, b in zip(x, y)] for x, y in zip(new, old)], share)
    dividends = share([sum(bonds[i][j] * incentive[j] for j in range(n)) for i in range(n)])
    ranked = sorted(range(n), key=lambda uid: (-stake[uid], -uid))[: case["maxValidators"]]
    permits = [(uid in ranked and stake[uid] > 0) or uid == case["ownerUid"] for uid in range(n)]
    upscaled = by_column(bonds, lambda column: [b / max(column) if max(column) else b for b in column])
    return {
        "consensus": [float(c) for c in clip],
        "validatorTrust": [float(sum(row)) for row in clipped],
        "incentive": [float(x) for x in incentive],
        "dividends": [float(x) for x in dividends],
        "permits": permits,
        "bonds": [
            [[j, int(b * U16)] for j, b in enumerate(row) if b > 0] if permits[i] else [] for i, row in enumerate(upscaled)
        ],
    }


def case(name, **given):
    n = len(given["stakeRao"])
    usual = {
        "isVoting": [rao > 0 for rao in given["stakeRao"]],
        "bonds": [[] for _ in range(n)],
        "ownerUid": None,
        "maxValidators": 64,
        "kappa": 32767,
        "bondsPenalty": U16,
        "bondsMovingAverage": 900_000,
    }
    whole = {"name": name, **usual, **given}
    return {**whole, "expected": yuma(whole)}


def random_case(name, validators, miners, **given):
    n = validators + miners
    stakes = [10**9 * (1 + draw(10**6)) for _ in range(validators)] + [0] * miners
    targets = range(validators, n)
    weights = [[[j, 1 + draw(U16)] for j in targets if draw(4) > 0] for _ in range(validators)] + [[]] * miners
    bonds = [[[j, draw(U16 + 1)] for j in targets if draw(3) > 0] for _ in range(validators)] + [[]] * miners
    return case(name, stakeRao=stakes, weights=weights, bonds=bonds, **given)


CASES = [
    case("one validator, two miners", stakeRao=[10**12, 0, 0], weights=[[[1, 21845], [2, 65535]], [], []]),
    case(
        "a minority lifts its own miner in vain",
        stakeRao=[70 * 10**9, 30 * 10**9, 0, 0],
        weights=[[[2, 65535]], [[3, 65535]], [], []],
    ),
    case(
        "two validators of equal stake: half of it is a majority",
        stakeRao=[10**9, 10**9, 0, 0],
        weights=[[[2, 65535], [3, 65535]], [[2, 65535]], [], []],
    ),
    case("nobody votes", stakeRao=[10**9, 3 * 10**9], weights=[[], []]),
    random_case("three validators, five miners, old bonds", 3, 5),
    random_case("half of the penalty", 4, 6, bondsPenalty=32768),
    random_case("a majority of 80 %", 5, 7, kappa=52428),
    random_case("bonds without memory", 3, 4, bondsMovingAverage=0),
    random_case("two permits among six validators", 6, 10, maxValidators=2, ownerUid=3),
    random_case("twelve validators, twenty miners", 12, 20),
]

if __name__ == "__main__":
    print("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in CASES) + "\n]")
