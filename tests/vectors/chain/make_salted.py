"""Makes salted.json with the SDK's own function: pip install bittensor==10.5.0; python make_salted.py"""

import json
import pathlib

from bittensor.utils.weight_utils import generate_weight_hash

ALICE = "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY"
cases = [
    dict(netuid=2, uids=[0, 1], values=[21845, 65535], version_key=0, salt=[7, 8, 9, 10, 11, 12, 13, 14]),
    dict(netuid=4096 + 9, uids=[], values=[], version_key=2**64 - 1, salt=[]),
    dict(netuid=9, uids=list(range(70)), values=list(range(65466, 65536)), version_key=1234567, salt=[65535] * 20),
]
vectors = [{**each, "version_key": str(each["version_key"]), "address": ALICE,
            "hash": generate_weight_hash(ALICE, **each)} for each in cases]
pathlib.Path(__file__).with_name("salted.json").write_text(json.dumps(vectors) + "\n")
