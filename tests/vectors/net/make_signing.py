"""Makes signing.json with the SDK's own functions: pip install bittensor==11.3.0; python make_signing.py

Signed requests of btauth/1. sr25519 signatures are randomised, so ours are checked by verifying these and by signing the same bytes.
"""

import json
import pathlib

from bittensor import http_auth
from bittensor.keyfiles import Keypair

alice, bob = (Keypair.create_from_uri(name) for name in ("//Alice", "//Bob"))


def case(sender, receiver, method, path, body, nonce_ns):
    options = dict(method=method, path=path, body=body, receiver_ss58=receiver, nonce_ns=nonce_ns)
    headers = http_auth.sign(sender, **options)
    http_auth.verify(headers, body, method=method, path=path, self_hotkey_ss58=bob.ss58_address, now_ns=nonce_ns,
                     require_receiver=receiver is not None)
    payload = http_auth.build_payload(scheme="sr25519", method=method, path=path, body=body, nonce_ns=nonce_ns,
                                      sender_ss58=sender.ss58_address, receiver_ss58=receiver)
    return {"method": method, "path": path, "body": body.hex(), "headers": headers, "payload": payload.decode()}


cases = [
    case(alice, bob.ss58_address, "POST", "/generate?top=1&name=%C3%A4", b'{"prompt": "hello"}', 1750000000123456789),
    case(alice, bob.ss58_address, "get", "/", b"", 1750000000123456790),
    case(alice, None, "PUT", "/blob", bytes(range(256)), 1750000000123456791),
]
vectors = {"sender": alice.ss58_address, "receiver": bob.ss58_address, "cases": cases}
pathlib.Path(__file__).with_name("signing.json").write_text(json.dumps(vectors) + "\n")
