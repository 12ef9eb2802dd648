"""Makes the golden vectors of wallets: files, accounts and signatures as Bittensor's own Python package writes them.

All secrets here are public: Substrate's development phrase, its account Alice, a seed of thirty-two 0x11. The key of `sealed`
is computed once more with PyNaCl, and its box opened, before anything is written.

Run, from this folder, in a virtual environment; it takes half a minute and 512 MiB:
    pip install bittensor-wallet==4.1.1 pynacl==1.6.2
    python make_vectors.py && deno fmt wallet.json
"""

import base64
import json
import os
import tempfile

import nacl.bindings
from bittensor_wallet import Keypair, Wallet
from bittensor_wallet import keyfile as keyfiles

PHRASE = "bottom drive obey lake curtain smoke basket hold race lonely fit walk"
ALICE_SEED = "0xe5be9a5092b81bca64be81d212e7f2f9eba183bb7a90954f7b76361f6edb5c0a"
ALICE_PRIVATE_KEY = (
    "0x33a6f3093f158a7109f679410bef1a0c54168145e0cecb4df006c1c2fffb1f09"
    "925a225d97aa00682d6a59b95b18780c10d7032336e88f3442b42361f4a66011"
)
PASSWORD = "correct horse battery staple"
SALT = bytes.fromhex("137183dff15a09bc9c90b5518739e9b1")
MESSAGE = "one microbatch through one stage"
URIS = [
    "//Alice",
    "//Alice//stash",
    "//Bob",
    "/soft",
    "//1",
    "//+7",
    "//18446744073709551615",
    "//18446744073709551616",
    "//a junction of more than thirty-two bytes",
    "//" + "long " * 20,
    PHRASE,
    PHRASE + "//a/b",
    PHRASE + "///password",
    PHRASE + "//a/b///password",
    ALICE_SEED,
    ALICE_SEED + "//x",
]


def plain_files(folder):
    """Each way Python writes a file without a password; the name says what is in it."""
    wallet = Wallet(name="w", hotkey="h", path=folder)

    def read(path):
        with open(os.path.join(folder, "w", path)) as file:
            return file.read()

    wallet.regenerate_coldkey(mnemonic=PHRASE, use_password=False, overwrite=True, suppress=True)
    wallet.regenerate_hotkey(mnemonic=PHRASE, use_password=False, overwrite=True, suppress=True)
    files = {
        "coldkey of a phrase": read("coldkey"),
        "hotkey of a phrase": read("hotkeys/h"),
        "coldkeypub.txt": read("coldkeypub.txt"),
        "hpub.txt": read("hotkeys/hpub.txt"),
    }
    wallet.create_hotkey_from_uri("//Alice", use_password=False, overwrite=True, suppress=True)
    files["hotkey of a URI"] = read("hotkeys/h")
    wallet.set_hotkey(Keypair.create_from_seed(ALICE_SEED), encrypt=False, overwrite=True)
    files["hotkey of a seed"] = read("hotkeys/h")
    wallet.set_hotkey(Keypair.create_from_private_key(ALICE_PRIVATE_KEY), encrypt=False, overwrite=True)
    files["hotkey of a private key"] = read("hotkeys/h")
    # Bytes that happen to be UTF-8 are written under secretSeed as that text: only privateKey is of use.
    wallet.regenerate_hotkey(seed="0x" + "11" * 32, use_password=False, overwrite=True, suppress=True)
    files["hotkey with a mangled seed"] = read("hotkeys/h")
    return files


def sealed_file(text):
    sealed = keyfiles.encrypt_keyfile_data(text.encode(), PASSWORD)
    key = nacl.bindings.crypto_pwhash_alg(
        32, PASSWORD.encode(), SALT, 8, 512 * 1024 * 1024, nacl.bindings.crypto_pwhash_ALG_ARGON2I13
    )
    head = len("$NACL")
    opened = nacl.bindings.crypto_secretbox_open(sealed[head + 24 :], sealed[head : head + 24], key)
    assert opened.decode() == text
    return {"file": base64.b64encode(sealed).decode(), "key": key.hex(), "password": PASSWORD}


def main():
    alice = Keypair.create_from_uri("//Alice")
    ed25519 = Keypair.create_from_uri("//Alice", crypto_type=0)
    with tempfile.TemporaryDirectory() as folder:
        files = plain_files(folder)
    addresses = {name: json.loads(text)["ss58Address"] for name, text in files.items()}
    vectors = {
        "files": [{"name": name, "text": text, "address": addresses[name]} for name, text in files.items()],
        "sealed": {**sealed_file(files["coldkey of a phrase"]), "address": addresses["coldkey of a phrase"]},
        "ansible": base64.b64encode(
            keyfiles.legacy_encrypt_keyfile_data(files["hotkey of a URI"].encode(), PASSWORD)
        ).decode(),
        "ed25519": keyfiles.serialized_keypair_to_keyfile_data(ed25519).decode(),
        "uris": [{"uri": uri, "address": Keypair.create_from_uri(uri).ss58_address} for uri in URIS],
        "signature": {"address": alice.ss58_address, "message": MESSAGE, "signature": alice.sign(MESSAGE.encode()).hex()},
    }
    with open("wallet.json", "w") as file:
        json.dump(vectors, file, indent=2)


main()
