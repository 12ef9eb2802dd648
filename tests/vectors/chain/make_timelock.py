"""Makes timelock.json with the official Rust implementation: pip install bittensor-drand==2.0.0; python make_timelock.py

Ciphertexts for quicknet round 1000 (whose pulse is public) and reveal rounds of many epoch states. The library takes the time
from the system clock, so each case uses blocks of 3,000 s: 1,000 rounds each, which shows the number of blocks exactly.
"""

import json
import pathlib
import random
import time

import bittensor_drand as drand

PULSE = "b44679b9a59af2ec876b1a6b1ad52ea9b1615fc3982b19576350f93447cb1125e342b73a8dd2bacbe47e4b6b63ed5e39"
GENESIS, PERIOD, BLOCK_SECONDS, SECURITY_BLOCKS = 1692803367, 3, 3000, 3


def sealed(plaintext):
    envelope, round_ = drand.encrypt_at_round(plaintext, 1000)
    assert round_ == 1000 and drand.decrypt_with_signature(envelope, PULSE) == plaintext
    return {"plaintext": plaintext.hex(), "envelope": bytes(envelope).hex()}


def opened_here():
    """What our own encryption made (random bytes 0..75): the official library must open it."""
    own = json.loads(pathlib.Path(__file__).with_name("timelock_own.json").read_text())
    envelope = scale_bytes(bytes.fromhex(own["ciphertext"])) + (1000).to_bytes(8, "little")
    assert drand.decrypt_with_signature(envelope, PULSE).hex() == own["plaintext"]


def scale_bytes(data):
    assert 64 <= len(data) < 2**14
    return (len(data) << 2 | 1).to_bytes(2, "little") + data


def commit_to_round_1000():
    """The SDK's own weights commit; blocks of negative length put its reveal round into the past."""
    state = dict(last_epoch_block=100, pending_epoch_at=0, subnet_epoch_index=0, tempo=50, blocks_since_last_step=20,
                 current_block=120)
    hotkey, uids, values = bytes(range(32)), [0, 7, 255], [65535, 1, 300]
    blocks = 150 - 120 + SECURITY_BLOCKS
    block_time = (GENESIS + 1000 * PERIOD + 1.5 - time.time()) / blocks
    commit, round_ = drand.get_encrypted_commit_v2(uids=uids, weights=values, version_key=1234567890123,
                                                   subnet_reveal_period_epochs=1, block_time=block_time, hotkey=hotkey,
                                                   **state)
    assert round_ == 1000
    return {"hotkey": hotkey.hex(), "uids": uids, "values": values, "versionKey": "1234567890123",
            "commit": bytes(commit).hex()}


def reveal(state, period):
    for _ in range(5):
        before = int((time.time() - GENESIS) / PERIOD)
        try:
            _, round_ = drand.get_encrypted_commit_v2(uids=[0], weights=[1], version_key=0,
                                                      subnet_reveal_period_epochs=period, block_time=BLOCK_SECONDS,
                                                      hotkey=bytes(32), **state)
        except ValueError as error:
            assert "tempo is zero" in str(error)
            return {"error": "tempoIsZero"}
        blocks, rest = divmod(round_ - before, BLOCK_SECONDS // PERIOD)
        if rest <= 1:
            return {"block": state["current_block"] + blocks - SECURITY_BLOCKS}
    raise RuntimeError("clock went wild")


def states():
    dice = random.Random(9)
    base = dict(last_epoch_block=100, pending_epoch_at=0, subnet_epoch_index=0, tempo=50, blocks_since_last_step=20,
                current_block=120)
    yield base, 1
    yield {**base, "tempo": 0}, 1
    yield {**base, "pending_epoch_at": 121}, 1
    yield {**base, "current_block": 149, "blocks_since_last_step": 49}, 1
    yield {**base, "current_block": 150, "blocks_since_last_step": 50}, 1
    yield {**base, "blocks_since_last_step": 50390, "tempo": 50000}, 1
    yield {**base, "blocks_since_last_step": 50401, "tempo": 50000}, 2
    yield {**base, "blocks_since_last_step": 50400, "tempo": 50000}, 2
    for _ in range(120):
        tempo = dice.choice([1, 2, 10, 99, 360, 361, 1000])
        last = dice.randrange(0, 5_000_000)
        since = dice.randrange(0, tempo + (3 if dice.random() < 0.1 else 0))
        block = last + since
        pending = 0 if dice.random() < 0.6 else block + dice.randrange(-2, 2 * tempo + 2)
        yield dict(last_epoch_block=last, pending_epoch_at=max(0, pending), subnet_epoch_index=dice.randrange(100000),
                   tempo=tempo, blocks_since_last_step=since, current_block=block), dice.choice([0, 1, 1, 1, 2, 3])


opened_here()
vectors = {
    "pulse": PULSE,
    "sealed": [sealed(b""), sealed(b"hello"), sealed(bytes(range(256)) * 5)],
    "commit": commit_to_round_1000(),
    "reveals": [{"state": state, "period": period, **reveal(state, period)} for state, period in states()],
}
pathlib.Path(__file__).with_name("timelock.json").write_text(json.dumps(vectors) + "\n")
