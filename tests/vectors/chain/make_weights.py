"""Makes weights.json with the SDK's own functions: pip install bittensor==11.3.0; python make_weights.py

Scores conformed to a subnet's limits and rounded to u16, or the reason why they are refused. Run with Python 3.11: from 3.12 on
sum() compensates, which may differ in the last bit before rounding.
"""

import json
import pathlib
import random

from bittensor.intents.weights import _conform, _Preflight


def case(uids, weights, own=0, low=1, limit=65535):
    preflight = _Preflight(uid=own, commit_reveal=False, min_allowed_weights=low, max_weight_limit=limit)
    given = {"uids": " ".join(map(str, uids)), "weights": " ".join(map(repr, weights)), "ownUid": own, "minAllowedWeights": low,
             "maxWeightsLimit": limit}
    try:
        uids_out, values = _conform(list(uids), list(weights), preflight, 9)
    except Exception as error:
        return {**given, "refusal": str(error)}
    return {**given, "row": " ".join(f"{uid}:{value}" for uid, value in zip(uids_out, values))}


def drawn(dice):
    n = dice.choice([1, 2, 3, 5, 8, 20, 64])
    shape = dice.choice(["flat", "steep", "sparse", "equal", "tiny", "halves"])
    draw = {
        "flat": lambda: dice.random(),
        "steep": lambda: dice.random() ** 12 * 1e6,
        "sparse": lambda: dice.random() if dice.random() < 0.2 else 0.0,
        "equal": lambda: 0.25,
        "tiny": lambda: dice.random() * 1e-300,
        "halves": lambda: dice.randrange(0, 131071) / 131070,  # rounds from exactly one half
    }[shape]
    weights = [draw() for _ in range(n)]
    if shape == "halves":
        weights[0] = 1.0
    uids = dice.sample(range(256), n)
    own = dice.choice([*uids, 255])
    limit = dice.choice([65535, 65535, 32767, 6553, 655, 300])
    return case(uids, weights, own, dice.choice([0, 1, 8]), limit)


dice = random.Random(11)
cases = [
    case([], []),
    case([3], [0.0]),
    case([3, 4], [1.0, 3.0]),
    case([3, 4], [1.0, -3.0]),
    case([3, 4], [1.0, float("nan")]),
    case([3, 4], [1.0, float("inf")]),
    case([0], [0.2], own=0, low=8, limit=655),  # a single self-weight
    case([1], [0.2], own=0, low=1, limit=655),
    case([1, 2, 3], [1.0, 1e-9, 1.0], low=3),
    *(drawn(dice) for _ in range(70)),
]
pathlib.Path(__file__).with_name("weights.json").write_text(json.dumps(cases) + "\n")
