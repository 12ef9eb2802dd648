/** Bittensor's hotkey files: every way they hold a secret, against vectors of Substrate and the polkadot libraries. */

import { assert, assertEquals, assertMatch, assertNotEquals, assertRejects, assertThrows } from "@std/assert";
import {
  cryptoWaitReady,
  encodeAddress as polkadotEncode,
  mnemonicToMiniSecret,
  sr25519PairFromSeed,
  sr25519Sign,
  sr25519Verify,
} from "@polkadot/util-crypto";
import { hotkeyOfCanonicalSecretKey, hotkeyOfMiniSecret, verifySignature } from "../../../chain/wallet/hotkey.ts";
import { createHotkey, hotkeyExists, loadHotkey, othersMayRead } from "../../../chain/wallet/hotkey_files.ts";
import { keyOfKeyfile, publicKeyfileText, publicKeyOfKeyfile } from "../../../chain/wallet/keyfile.ts";
import { miniSecretOfMnemonic, newMnemonic } from "../../../chain/wallet/key_material.ts";
import { decodeAddress, encodeAddress } from "../../../chain/wallet/ss58.ts";
import { WalletError, type WalletErrorCode } from "../../../chain/wallet/wallet_error.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";

await cryptoWaitReady();

// Substrate's development accounts, from its own documentation.
const alice = {
  address: "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY",
  publicKey: "d43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d",
  seed: "e5be9a5092b81bca64be81d212e7f2f9eba183bb7a90954f7b76361f6edb5c0a",
};
const developmentPhrase = "bottom drive obey lake curtain smoke basket hold race lonely fit walk";
const developmentSeed = "fac7959dbfe72f052e5a0c3c8d6530f202b02fd8f9f5ca3580ec8deb7797479e";
const developmentAddress = "5DfhGyQdFobKM8NsWvEeAKk5EQQgYe9AydgJ7rMB6E1EqRzV";

const message = new TextEncoder().encode("one microbatch through one stage");
const aliceKey = () => hotkeyOfMiniSecret(Uint8Array.fromHex(alice.seed));

Deno.test("ss58: Alice's address both ways, and the same bytes as polkadot's", () => {
  const publicKey = Uint8Array.fromHex(alice.publicKey);
  assertEquals<string>(encodeAddress(publicKey), alice.address);
  assertEquals(decodeAddress(alice.address), publicKey);
  for (let fill = 0; fill < 256; fill += 51) {
    const key = new Uint8Array(32).fill(fill);
    assertEquals<string>(encodeAddress(key), polkadotEncode(key, 42));
    assertEquals(decodeAddress(encodeAddress(key)), key);
  }
});

Deno.test("ss58: a text that is not an address of this chain gives null", () => {
  const polkadotPrefix = polkadotEncode(Uint8Array.fromHex(alice.publicKey), 0);
  const typo = alice.address.replace("GrwvaEF", "GrwvaEG");
  for (
    const text of ["", "5", typo, `1${alice.address}`, `${alice.address}1`, polkadotPrefix, "0OIl", "5".repeat(10_000)]
  ) {
    assertEquals(decodeAddress(text), null, text.slice(0, 60));
  }
});

Deno.test("Hotkey: a mini-secret gives Substrate's key, and signatures cross to polkadot's library and back", () => {
  const pair = aliceKey();
  assertEquals<string>(pair.address, alice.address);
  const polkadot = sr25519PairFromSeed(Uint8Array.fromHex(alice.seed));
  assertEquals(pair.publicKey, polkadot.publicKey);
  assert(sr25519Verify(message, pair.sign(message), polkadot.publicKey));
  assert(verifySignature({ address: alice.address, message, signature: sr25519Sign(message, polkadot) }));
});

Deno.test("Hotkey: another message, signer, length or garbage does not verify, and never throws", () => {
  const signature = aliceKey().sign(message);
  const check = (change: Partial<Parameters<typeof verifySignature>[0]>) =>
    verifySignature({ address: alice.address, message, signature, ...change });
  assert(check({}));
  assertEquals(check({ message: message.slice(1) }), false);
  assertEquals(check({ address: developmentAddress }), false);
  assertEquals(check({ address: "nobody" }), false);
  assertEquals(check({ signature: signature.slice(1) }), false);
  for (let fill = 0; fill < 256; fill += 15) assertEquals(check({ signature: new Uint8Array(64).fill(fill) }), false);
  for (let i = 0; i < 64; i++) {
    const flipped = signature.slice();
    flipped[i]! ^= 1;
    assertEquals(check({ signature: flipped }), false, `byte ${i}`);
  }
});

Deno.test("Hotkey: the canonical secret key of a keyfile is not the library's form, and converts both ways", () => {
  const canonical = aliceKey().canonicalSecretKey();
  assertEquals(canonical.slice(0, 4).toHex(), "33a6f309");
  assertEquals(hotkeyOfCanonicalSecretKey(canonical)?.address as string, alice.address);
  for (const fill of [0, 31, 255]) assertEquals(hotkeyOfCanonicalSecretKey(new Uint8Array(64).fill(fill)), null);
});

Deno.test("Hotkey: neither inspection nor JSON shows the secret", () => {
  const pair = aliceKey();
  assertEquals(Reflect.ownKeys(pair), ["address", "publicKey"]);
  const shown = Deno.inspect(pair, { depth: 9, showHidden: true, iterableLimit: 1_000 }) + JSON.stringify(pair);
  const secret = pair.canonicalSecretKey();
  for (const text of [alice.seed, secret.toHex(), [...secret.slice(-8)].join(", "), [...secret.slice(-8)].join(",")]) {
    assert(!shown.includes(text));
  }
});

Deno.test("Mnemonic: Substrate's development phrase gives its mini-secret", () => {
  assertEquals(miniSecretOfMnemonic(developmentPhrase)?.toHex(), developmentSeed);
  assertEquals(miniSecretOfMnemonic(`  ${developmentPhrase.replaceAll(" ", "\n")} `)?.toHex(), developmentSeed);
});

Deno.test("Mnemonic: new phrases have 12 words, differ, and read as polkadot reads them", () => {
  const phrases = Array.from({ length: 5 }, () => newMnemonic());
  assertEquals(new Set(phrases).size, 5);
  for (const phrase of phrases) {
    assertEquals(phrase.split(" ").length, 12);
    assertEquals(miniSecretOfMnemonic(phrase), mnemonicToMiniSecret(phrase));
  }
});

Deno.test("Mnemonic: a wrong word or checksum is rejected", () => {
  assertEquals(miniSecretOfMnemonic(developmentPhrase.replace("walk", "walks")), null);
  assertEquals(miniSecretOfMnemonic(developmentPhrase.replace("walk", "lake")), null);
  assertEquals(miniSecretOfMnemonic(""), null);
});

const canonicalHex = `0x${aliceKey().canonicalSecretKey().toHex()}`;

Deno.test("Keyfile: each secret alone is enough, and so are the legacy forms", () => {
  const check = (text: string, address: string = alice.address) =>
    assertEquals<string>(keyOfKeyfile(text, "file").pair.address, address);
  check(JSON.stringify({ secretSeed: `0x${alice.seed}`, ss58Address: alice.address }));
  check(JSON.stringify({ privateKey: canonicalHex, ss58Address: alice.address }));
  check(JSON.stringify({ privateKey: canonicalHex, " ss58Address": alice.address, cryptoType: 1 }));
  check(JSON.stringify({ secretPhrase: developmentPhrase, ss58Address: developmentAddress }), developmentAddress);
  check(`0x${alice.seed}\n`);
  check(developmentPhrase, developmentAddress);
});

Deno.test("Keyfile: the secret that gives the file's own address counts, whatever else the file holds", () => {
  const text = JSON.stringify({
    secretPhrase: developmentPhrase,
    secretSeed: `0x${alice.seed}`,
    ss58Address: alice.address,
    cryptoType: "Sr25519",
  });
  assertEquals<string>(keyOfKeyfile(text, "file").pair.address, alice.address);
});

Deno.test("Keyfile: cryptoType counts in every shape it was ever written in", () => {
  const check = (cryptoType: unknown, isFine: boolean) => {
    const read = () => keyOfKeyfile(JSON.stringify({ secretSeed: `0x${alice.seed}`, cryptoType }), "file");
    if (isFine) assertEquals<string>(read().pair.address, alice.address);
    else assertThrows(read, WalletError, "must be sr25519");
  };
  for (const fine of [1, "1", "sr25519", "Sr25519", "SR25519", { Sr25519: null }, { Sr25519: [] }, ["Sr25519"], null]) {
    check(fine, true);
  }
  for (const other of [0, 2, "0", "ed25519", "Ecdsa", { Ed25519: null }, {}, { Sr25519: 1, Ed25519: 1 }, [], true]) {
    check(other, false);
  }
});

Deno.test("Keyfile: a public file names one key by address, publicKey or accountId, and never two", () => {
  const publicKey = Uint8Array.fromHex(alice.publicKey);
  const hex = `0x${alice.publicKey}`;
  const check = (fields: Record<string, unknown>) =>
    assertEquals(publicKeyOfKeyfile(JSON.stringify(fields), "file"), publicKey);
  check(JSON.parse(publicKeyfileText(publicKey)) as Record<string, unknown>);
  check({ ss58Address: alice.address });
  check({ " ss58Address": alice.address });
  check({ publicKey: hex });
  check({ accountId: hex.toUpperCase().replace("0X", "0x") });
  const refused = (fields: Record<string, unknown>, says: string) =>
    assertThrows(() => publicKeyOfKeyfile(JSON.stringify(fields), "file"), WalletError, says);
  refused({}, "names no ss58Address");
  refused({ ss58Address: polkadotEncode(publicKey, 0) }, "prefix 42");
  refused({ ss58Address: developmentAddress, publicKey: hex }, "name different keys");
  refused({ publicKey: hex, accountId: `0x${developmentSeed}` }, "name different keys");
});

function checkRefused(text: string, code: WalletErrorCode, says: RegExp): void {
  const error = assertThrows(() => keyOfKeyfile(text, "/w/hot"), WalletError);
  assertEquals(error.code, code);
  assertMatch(error.message, says);
  for (const secret of [alice.seed, canonicalHex.slice(2), developmentPhrase, "curtain"]) {
    assert(!error.message.includes(secret), "no secret in an error");
  }
}

Deno.test("Keyfile: what cannot be used is refused by its reason, and no secret is in the text", () => {
  checkRefused(
    JSON.stringify({ secretSeed: `0x${alice.seed}`, ss58Address: developmentAddress }),
    "mismatch",
    /its secret and its address do not match: it names '5DfhG.*', the secret gives 5Grwva/,
  );
  checkRefused(
    JSON.stringify({ secretSeed: `0x${alice.seed}`, ss58Address: alice.address, publicKey: `0x${developmentSeed}` }),
    "mismatch",
    /its secret and its address do not match/,
  );
  checkRefused(
    JSON.stringify({ secretSeed: `0x${alice.seed}`, ss58Address: developmentPhrase }),
    "mismatch",
    /it names 'another key'/,
  );
  checkRefused(
    JSON.stringify({ secretSeed: `0x${alice.seed}`, cryptoType: 0 }),
    "malformed",
    /must be sr25519.*ed25519/,
  );
  checkRefused(`{"secretSeed": "0x${alice.seed}"`, "malformed", /one JSON object/);
  checkRefused(
    `{"secretPhrase": "${developmentPhrase} curtain"}`,
    "malformed",
    /valid secretPhrase, secretSeed or privateKey/,
  );
  checkRefused("", "malformed", /it holds no valid secretPhrase/);
  checkRefused("[]", "malformed", /it holds no valid secretPhrase/);
});

Deno.test("Hotkey files: a new hotkey is private, loads again, and is never overwritten", async () => {
  await withScratchFolder(async (folder) => {
    const place = { folder: `${folder}/wallets`, wallet: "miner", hotkey: "default" };
    assertEquals(await hotkeyExists(place), false);
    const { pair, path, mnemonic } = await createHotkey(place);
    assertEquals(path, `${folder}/wallets/miner/hotkeys/default`);
    const before = await Deno.readTextFile(path);
    if (Deno.build.os !== "windows") {
      assertEquals((await Deno.stat(path)).mode! & 0o777, 0o600);
      assertEquals((await Deno.stat(`${folder}/wallets/miner/hotkeys`)).mode! & 0o777, 0o700);
      assertEquals(await othersMayRead(place), false);
      await Deno.chmod(path, 0o640);
      assertEquals(await othersMayRead(place), true);
    }
    const loaded = await loadHotkey(place);
    assertEquals(loaded.address, pair.address);
    assert(verifySignature({ address: pair.address, message, signature: loaded.sign(message) }));
    assertEquals(keyOfKeyfile(mnemonic, "words").pair.address, pair.address);
    const again = await assertRejects(() => createHotkey(place), WalletError);
    assertEquals(again.code, "exists");
    assertEquals(await Deno.readTextFile(path), before);
  });
});

Deno.test("Hotkey files: the file holds what Bittensor's tools expect", async () => {
  await withScratchFolder(async (folder) => {
    const { pair, path, mnemonic } = await createHotkey({ folder, wallet: "w", hotkey: "h" });
    const fields = JSON.parse(await Deno.readTextFile(path)) as Record<string, string>;
    const polkadot = sr25519PairFromSeed(mnemonicToMiniSecret(mnemonic));
    assertEquals(Object.keys(fields).sort(), [
      "accountId",
      "cryptoType",
      "privateKey",
      "publicKey",
      "secretPhrase",
      "secretSeed",
      "ss58Address",
    ]);
    assertEquals<unknown>(fields["cryptoType"], 1);
    assertEquals(await Deno.readTextFile(`${path}pub.txt`), publicKeyfileText(pair.publicKey));
    assertEquals(fields["publicKey"], `0x${polkadot.publicKey.toHex()}`);
    assertEquals(fields["accountId"], fields["publicKey"]);
    assertEquals(fields["secretSeed"], `0x${mnemonicToMiniSecret(mnemonic).toHex()}`);
    assertEquals(fields["ss58Address"] as string, pair.address as string);
    assertNotEquals(fields["privateKey"], `0x${polkadot.secretKey.toHex()}`, "canonical, not half-ed25519");
    const alone = JSON.stringify({ privateKey: fields["privateKey"], ss58Address: pair.address });
    assertEquals(keyOfKeyfile(alone, "file").pair.address, pair.address);
  });
});

Deno.test("Hotkey files: a missing, a huge and an escaping name are refused by their reason", async () => {
  await withScratchFolder(async (folder) => {
    const check = async (place: { wallet: string; hotkey: string }, code: WalletErrorCode) => {
      const error = await assertRejects(() => loadHotkey({ folder, ...place }), WalletError);
      assertEquals(error.code, code);
    };
    await check({ wallet: "none", hotkey: "default" }, "missing");
    for (const name of ["", ".", "..", ".hidden", "../up", "a/b", "a\\b", "a\0b", "x".repeat(101)]) {
      const error = await loadHotkey({ folder, wallet: name, hotkey: "default" }).catch((error: unknown) => error);
      assertEquals((error as WalletError).code, "badName", name);
    }
    await check({ wallet: "w", hotkey: "apub.txt" }, "badName"); // hotkey a's public file
    await Deno.mkdir(`${folder}/w/hotkeys`, { recursive: true });
    await Deno.writeFile(`${folder}/w/hotkeys/huge`, new Uint8Array(65 * 1024));
    await check({ wallet: "w", hotkey: "huge" }, "malformed");
    await Deno.writeTextFile(`${folder}/w/hotkeys/empty`, "");
    await check({ wallet: "w", hotkey: "empty" }, "malformed");
  });
});
