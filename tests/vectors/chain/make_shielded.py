"""
Extrinsics encrypted by Bittensor's own SDK to the local chain's key: makes shielded.json beside this file.

    pip install bittensor==11.3.0
    python3 tests/vectors/chain/make_shielded.py > tests/vectors/chain/shielded.json

Each run makes other ciphertexts, as the SDK draws its own randomness; what they open to stays the same. The key's layout is told
in chain/local/rpc/shield.ts. The last one is for another key, whose vector t is not zero.
"""

import json

import bittensor_core

key = bytes(1152) + b"\xff" * 32
other_key = b"\x01" + bytes(1151) + b"\xff" * 32


def shielded(plaintext, pk=key):
    return {"plaintext": plaintext.hex(), "ciphertext": bittensor_core.encrypt_mlkem768(pk, plaintext, True).hex()}


cases = [shielded(bytes(range(256))[:length]) for length in (0, 1, 31, 142, 256)]
print(json.dumps({"key": key.hex(), "shielded": cases, "foreign": shielded(b"not for us", other_key)}, indent=2))
