/** Wallets against Bittensor's own Python package and polkadot-js: we read what they wrote. See tests/vectors/wallet. */

import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { xsalsa20poly1305 } from "@noble/ciphers/salsa.js";
import { scrypt } from "@noble/hashes/scrypt.js";
import { Keyring } from "@polkadot/keyring";
import { cryptoWaitReady } from "@polkadot/util-crypto";
import {
  decryptKeyfile,
  deriveArgon2iKey,
  encryptionOf,
  encryptKeyfile,
} from "../../../chain/wallet/encrypted_keyfile.ts";
import { verifySignature } from "../../../chain/wallet/hotkey.ts";
import { openKeyFile, readPlainKeyFile } from "../../../chain/wallet/key_files.ts";
import { KeyMaterial } from "../../../chain/wallet/key_material.ts";
import { keyfileText, keyOfKeyfile, publicKeyOfKeyfile } from "../../../chain/wallet/keyfile.ts";
import { openPolkadotExport, parsePolkadotExport, type PolkadotExport } from "../../../chain/wallet/polkadot_json.ts";
import { keyOfSecretUri } from "../../../chain/wallet/secret_uri.ts";
import { encodeAddress } from "../../../chain/wallet/ss58.ts";
import { WalletError } from "../../../chain/wallet/wallet_error.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";
import { slowTest } from "../../support/whole.ts";

interface Vectors {
  readonly files: readonly { readonly name: string; readonly text: string; readonly address: string }[];
  readonly sealed: {
    readonly file: string; // base64
    readonly key: string; // hex, by PyNaCl
    readonly password: string;
    readonly address: string;
  };
  readonly ansible: string; // base64
  readonly ed25519: string;
  readonly uris: readonly { readonly uri: string; readonly address: string }[];
  readonly signature: { readonly address: string; readonly message: string; readonly signature: string };
}

const vectors = JSON.parse(
  await Deno.readTextFile(new URL("../../vectors/wallet/wallet.json", import.meta.url)),
) as Vectors;
const { sealed } = vectors;
const sealedFile = Uint8Array.fromBase64(sealed.file);
const knownKey = (password: string) =>
  Promise.resolve(password === sealed.password ? Uint8Array.fromHex(sealed.key) : new Uint8Array(32));

Deno.test("Wallet vectors: every plain file of Python's gives the address it gives there", () => {
  assertEquals(vectors.files.length, 8);
  for (const { name, text, address } of vectors.files) {
    assertEquals<string>(encodeAddress(publicKeyOfKeyfile(text, name)), address, name);
    if (!name.endsWith("pub.txt")) assertEquals<string>(keyOfKeyfile(text, name).pair.address, address, name);
    else assertThrows(() => keyOfKeyfile(text, name), WalletError, "it holds no valid secretPhrase");
  }
});

Deno.test("Wallet vectors: what we write of Python's files holds the same fields", () => {
  for (const { name, text } of vectors.files) {
    if (name.endsWith("pub.txt") || name.includes("mangled")) continue;
    assertEquals(JSON.parse(keyfileText(keyOfKeyfile(text, name))), JSON.parse(text), name);
  }
});

Deno.test("Wallet vectors: an ed25519 key is refused by its type", () => {
  assertThrows(() => keyOfKeyfile(vectors.ed25519, "file"), WalletError, "must be sr25519: current value is ed25519");
});

Deno.test("Wallet vectors: secret URIs give Python's accounts", () => {
  for (const { uri, address } of vectors.uris) {
    const key = keyOfSecretUri(uri);
    assertEquals(key?.pair.address as string | undefined, address, uri);
    assertEquals<string>(keyOfKeyfile(keyfileText(key!), uri).pair.address, address, "other tools load the file, too");
  }
});

Deno.test("Wallet vectors: an invalid URI gives no key", () => {
  for (const uri of ["", "/", "//", "///", "///password", "//Alice/", "nobody//Alice", `0x${"11".repeat(31)}`]) {
    assertEquals(keyOfSecretUri(uri), null, uri);
  }
});

Deno.test("Wallet vectors: Python's signature verifies here", () => {
  const { address, message, signature } = vectors.signature;
  const bytes = new TextEncoder().encode(message);
  assert(verifySignature({ address, message: bytes, signature: Uint8Array.fromHex(signature) }));
});

// The only test with the real parameters: 6 to 8 s and 512 MiB.
slowTest("Sealed key: argon2i with Bittensor's parameters gives PyNaCl's key", async () => {
  assertEquals((await deriveArgon2iKey(sealed.password)).toHex(), sealed.key);
});

Deno.test("Sealed key: Python's file opens with its password and with no other", async () => {
  assertEquals(encryptionOf(sealedFile), "nacl");
  const open = (file: Uint8Array, password: string) => decryptKeyfile(file, { password, deriveKey: knownKey });
  const text = await open(sealedFile, sealed.password);
  assertEquals<string>(keyOfKeyfile(text!, "file").pair.address, sealed.address);
  assertEquals(await open(sealedFile, "another"), null);
  for (const at of [5, 29, sealedFile.length - 1]) {
    const damaged = sealedFile.slice();
    damaged[at]! ^= 1;
    assertEquals(await open(damaged, sealed.password), null, `byte ${at}`);
  }
  for (const length of [5, 28, 29, 44]) assertEquals(await open(sealedFile.slice(0, length), sealed.password), null);
});

Deno.test("Sealed key: a sealed key opens again, with a new nonce each time", async () => {
  const unlocking = { password: sealed.password, deriveKey: knownKey };
  const [one, two] = [await encryptKeyfile("text", unlocking), await encryptKeyfile("text", unlocking)];
  assert(one.toHex() !== two.toHex());
  for (const file of [one, two]) assertEquals(await decryptKeyfile(file, unlocking), "text");
});

Deno.test("Key files: Bittensor's older encryptions are refused by name", async () => {
  await withScratchFolder(async (folder) => {
    const check = async (bytes: Uint8Array, says: RegExp) => {
      const path = `${folder}/key`;
      await Deno.writeFile(path, bytes);
      for (
        const open of [() => openKeyFile(path, { password: () => Promise.resolve("p") }), () => readPlainKeyFile(path)]
      ) {
        const error = await assertRejects(open, WalletError);
        assertEquals(error.code, "oldEncryption");
        assertMatch(error.message, says);
      }
    };
    await check(Uint8Array.fromBase64(vectors.ansible), /is \$ANSIBLE_VAULT, an older format/);
    await check(new TextEncoder().encode("gAAAAABf0123"), /is Fernet/);
  });
});

const exportPassword = "a password of the browser";
await cryptoWaitReady();
const account = new Keyring({ type: "sr25519" }).addFromUri("//Alice");

slowTest("polkadot-js: its export gives the same account", async () => {
  await withScratchFolder(async (folder) => {
    const path = `${folder}/account.json`;
    await Deno.writeTextFile(path, JSON.stringify(account.toJson(exportPassword)));
    const { key, password } = await openKeyFile(path, { password: () => Promise.resolve(exportPassword) });
    assertEquals<string>(key.pair.address, vectors.signature.address);
    assertEquals(password, exportPassword);
  });
});

/** What polkadot-js seals, sealed as it does but with the cheapest parameters. */
function sealedExport(wrapped: Uint8Array): PolkadotExport {
  const [N, p, r] = [16, 1, 8];
  const salt = new Uint8Array(32).fill(7);
  const nonce = new Uint8Array(24).fill(9);
  const box = xsalsa20poly1305(scrypt(exportPassword, salt, { N, p, r, dkLen: 64 }).subarray(0, 32), nonce).encrypt(
    wrapped,
  );
  const parameters = new Uint8Array(Uint32Array.of(N, p, r).buffer);
  const encoded = new Uint8Array([...salt, ...parameters, ...nonce, ...box]);
  return { encoded, content: ["pkcs8", "sr25519"], type: ["scrypt", "xsalsa20-poly1305"], version: "3" };
}

Deno.test("polkadot-js: wrong passwords, key types, versions and greedy scrypt parameters are refused", async () => {
  const wrapped = account.encodePkcs8();
  const file = sealedExport(wrapped);
  const open = (change: Partial<PolkadotExport>, password = exportPassword) =>
    openPolkadotExport({ ...file, ...change }, { password, path: "file" });
  assertEquals<string>((await open({})).pair.address, account.address);
  const check = async (opening: () => Promise<unknown>, says: string) => {
    await assertRejects(opening, WalletError, says);
  };
  await check(() => open({}, "another"), "the password is not");
  await check(() => open({ content: ["pkcs8", "ed25519"] }), "of an sr25519 account; its content is pkcs8,ed25519");
  await check(() => open({ version: "4" }), "only version 3 exports");
  await check(() => open({ type: ["none"] }), "encrypted");
  await check(() => open({ encoded: file.encoded.slice(0, 60) }), "the password is not");
  for (const [at, value] of [[32, 2 ** 24], [32, 3], [36, 0], [36, 100], [40, 1_000]] as const) {
    const greedy = file.encoded.slice();
    new DataView(greedy.buffer).setUint32(at, value, true);
    await check(() => open({ encoded: greedy }), "its scrypt must have N up to 131072");
  }
  const otherKey = wrapped.slice();
  otherKey[20]! ^= 1;
  for (const inside of [wrapped.slice(1), wrapped.slice(0, -1), otherKey]) {
    await check(() => open({ encoded: sealedExport(inside).encoded }), "is not an sr25519 pair");
  }
});

Deno.test("polkadot-js: other texts are not an export", () => {
  for (const other of ["", "{}", '{"encoded":1,"encoding":{}}', "[]", "words of a phrase"]) {
    assertEquals(parsePolkadotExport(other), null, other);
  }
});

Deno.test("Key material: neither inspection nor JSON shows a secret", () => {
  const { text } = vectors.files[0]!;
  const key = keyOfKeyfile(text, "file");
  assert(key instanceof KeyMaterial);
  const shown = Deno.inspect(key, { depth: 9, showHidden: true, getters: true }) + JSON.stringify(key) +
    String(key) + Object.entries(key).join();
  const { secretPhrase, secretSeed, privateKey } = JSON.parse(text) as Record<string, string>;
  const seedBytes = Uint8Array.fromHex(secretSeed!.slice(2));
  for (const secret of [secretPhrase!, "curtain", secretSeed!.slice(2), privateKey!.slice(2), seedBytes.join(", ")]) {
    assert(!shown.includes(secret), "no secret in what is shown");
  }
});
