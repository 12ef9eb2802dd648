/** The files of a wallet as a whole: coldkeys, public halves, overwriting, listing, modes. Sealing uses a cheap key derivation. */

import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { sha256 } from "@noble/hashes/sha2.js";
import { openColdkey, saveColdkey, saveColdkeyAddress, viewColdkey } from "../../../chain/wallet/coldkey_files.ts";
import { verifySignature } from "../../../chain/wallet/hotkey.ts";
import { createHotkey, loadHotkey, saveHotkey } from "../../../chain/wallet/hotkey_files.ts";
import { writeKeyFile } from "../../../chain/wallet/key_disk.ts";
import { openKeyFile } from "../../../chain/wallet/key_files.ts";
import { newKeyMaterial } from "../../../chain/wallet/key_material.ts";
import { keyOfSecretUri } from "../../../chain/wallet/secret_uri.ts";
import { WalletError, type WalletErrorCode } from "../../../chain/wallet/wallet_error.ts";
import { hotkeyAddress, listHotkeys, listWallets, viewWallet } from "../../../chain/wallet/wallet_list.ts";
import { coldkeyPath } from "../../../chain/wallet/wallet_place.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";
import { testWhere } from "../../support/test_where.ts";

const deriveKey = (password: string) => Promise.resolve(sha256(new TextEncoder().encode(password)));
const password = () => Promise.resolve("correct horse");
const developmentPhrase = "bottom drive obey lake curtain smoke basket hold race lonely fit walk"; // public
const alice = keyOfSecretUri("//Alice")!;
const bob = keyOfSecretUri("//Bob")!;

async function rejection(body: () => Promise<unknown>, code: WalletErrorCode): Promise<string> {
  const error = await assertRejects(body, WalletError);
  assertEquals(error.code, code, error.message);
  return error.message;
}

async function namesIn(folder: string): Promise<string[]> {
  return (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name).sort();
}

async function modeOf(path: string): Promise<number> {
  return (await Deno.stat(path)).mode! & 0o777;
}

Deno.test("Coldkey files: a new coldkey is sealed, has a public half, and signs after its password", async () => {
  await withScratchFolder(async (folder) => {
    const place = { folder, wallet: "owner" };
    const key = newKeyMaterial();
    const path = await saveColdkey(place, { key, password, deriveKey });
    const bytes = await Deno.readFile(path);
    assertEquals(String.fromCharCode(...bytes.slice(0, 5)), "$NACL");
    assertEquals(await viewColdkey(place), { state: "encrypted", address: key.pair.address });
    assertEquals(await namesIn(`${folder}/owner`), ["coldkey", "coldkeypub.txt"]);
    const signer = await openColdkey(place, { password, deriveKey });
    const message = new TextEncoder().encode("a transfer");
    assert(verifySignature({ address: signer.address, message, signature: signer.sign(message) }));
    assertEquals(signer.publicKey, key.pair.publicKey);
    const says = await rejection(
      () => openColdkey(place, { password: () => Promise.resolve("wrong horse"), deriveKey }),
      "wrongPassword",
    );
    assert(!says.includes("horse"));
    const { key: opened } = await openKeyFile(path, { password, deriveKey });
    assertEquals(opened.revealMnemonic(), key.revealMnemonic());
  });
});

Deno.test("Coldkey files: a plain one is made only when asked for, and opens without a password", async () => {
  await withScratchFolder(async (folder) => {
    const place = { folder, wallet: "alice" };
    const path = await saveColdkey(place, { key: alice, password: null });
    assertMatch(await Deno.readTextFile(path), /^\{/);
    assertEquals(await viewColdkey(place), { state: "plain", address: alice.pair.address });
    const never = () => Promise.reject(new Error("no password is asked for"));
    assertEquals((await openColdkey(place, { password: never })).address, alice.pair.address);
    await Deno.remove(`${folder}/alice/coldkeypub.txt`);
    assertEquals(await viewColdkey(place), { state: "plain", address: alice.pair.address });
  });
});

Deno.test("Coldkey files: one that is another than its public file says does not sign", async () => {
  await withScratchFolder(async (folder) => {
    const place = { folder, wallet: "w" };
    await saveColdkey(place, { key: alice, password, deriveKey });
    await saveColdkeyAddress(place, { address: bob.pair.address, overwrite: true });
    const says = await rejection(() => openColdkey(place, { password, deriveKey }), "mismatch");
    assertMatch(says, new RegExp(`coldkeypub.txt names ${bob.pair.address}, but the coldkey is ${alice.pair.address}`));
  });
});

Deno.test("Coldkey files: a machine may know the public half alone", async () => {
  await withScratchFolder(async (folder) => {
    const place = { folder, wallet: "w" };
    assertEquals(await viewColdkey(place), { state: "absent", address: null });
    await saveColdkeyAddress(place, { address: alice.pair.address });
    await saveColdkeyAddress(place, { address: alice.pair.address }); // the same again is fine
    assertEquals(await viewColdkey(place), { state: "public only", address: alice.pair.address });
    await rejection(() => openColdkey(place, { password, deriveKey }), "missing");
    await rejection(() => saveColdkeyAddress(place, { address: bob.pair.address }), "exists");
    await rejection(() => saveColdkeyAddress(place, { address: "nobody" }), "malformed");
  });
});

Deno.test("Key files: nothing is overwritten unasked, and no password is asked for in vain", async () => {
  await withScratchFolder(async (folder) => {
    const place = { folder, wallet: "w" };
    const never = () => Promise.reject(new Error("no password is asked for"));
    await saveColdkeyAddress(place, { address: alice.pair.address });
    await rejection(() => saveColdkey(place, { key: bob, password: never }), "exists"); // its public file names Alice
    await saveColdkey(place, { key: alice, password, deriveKey }); // the key this public file names
    await rejection(() => saveColdkey(place, { key: alice, password: never }), "exists");
    await saveColdkey(place, { key: bob, password: null, overwrite: true });
    assertEquals(await viewColdkey(place), { state: "plain", address: bob.pair.address });
    const hot = { ...place, hotkey: "h" };
    await saveHotkey(hot, { key: alice });
    await rejection(() => saveHotkey(hot, { key: bob }), "exists");
    assertEquals((await loadHotkey(hot)).address, alice.pair.address);
    await saveHotkey(hot, { key: bob, overwrite: true });
    assertEquals([(await loadHotkey(hot)).address, await hotkeyAddress(hot)], [bob.pair.address, bob.pair.address]);
    assertEquals(await namesIn(`${folder}/w/hotkeys`), ["h", "hpub.txt"]);
    assertEquals(await namesIn(`${folder}/w`), ["coldkey", "coldkeypub.txt", "hotkeys"]);
  });
});

Deno.test("Key files: of two that are made at once one is made, whole", async () => {
  await withScratchFolder(async (folder) => {
    const write = (fill: number) =>
      writeKeyFile({ path: `${folder}/w/key`, bytes: new Uint8Array(1_000).fill(fill), overwrite: false });
    const results = await Promise.allSettled([write(1), write(2), write(3), write(4)]);
    const failed = results.filter((result) => result.status === "rejected");
    assertEquals(failed.map(({ reason }) => (reason as WalletError).code), ["exists", "exists", "exists"]);
    assertEquals(new Set(await Deno.readFile(`${folder}/w/key`)).size, 1);
    assertEquals(await namesIn(`${folder}/w`), ["key"], "no temporary file stays");
  });
});

const noModes = Deno.build.os === "windows" ? "Windows has no modes" : null;
testWhere(
  noModes,
  "Key files: folders are 0700 and files 0600, whatever the umask and whatever was there",
  async () => {
    await withScratchFolder(async (folder) => {
      const place = { folder: `${folder}/wallets`, wallet: "w" };
      await saveColdkey(place, { key: alice, password, deriveKey });
      await createHotkey({ ...place, hotkey: "h" });
      await Deno.chmod(coldkeyPath(place), 0o644);
      await saveColdkey(place, { key: alice, password, deriveKey, overwrite: true });
      for (const path of ["", "/w", "/w/hotkeys"]) assertEquals(await modeOf(place.folder + path), 0o700, path);
      for (const path of ["coldkey", "coldkeypub.txt", "hotkeys/h", "hotkeys/hpub.txt"]) {
        assertEquals(await modeOf(`${place.folder}/w/${path}`), 0o600, path);
      }
    });
  },
);

Deno.test("Wallet list: wallets by name with what their public files say, strays left out", async () => {
  await withScratchFolder(async (folder) => {
    assertEquals(await listWallets(`${folder}/none`), []);
    await saveColdkey({ folder, wallet: "b" }, { key: alice, password, deriveKey });
    await saveHotkey({ folder, wallet: "b", hotkey: "two" }, { key: bob });
    await saveHotkey({ folder, wallet: "b", hotkey: "one" }, { key: alice });
    await Deno.remove(`${folder}/b/hotkeys/onepub.txt`); // older tools wrote none
    await saveHotkey({ folder, wallet: "a", hotkey: "default" }, { key: bob });
    await Deno.writeTextFile(`${folder}/a/hotkeys/broken`, '{"secretPhrase":"hush"');
    await Deno.writeTextFile(`${folder}/a/hotkeys/words`, developmentPhrase); // older than the JSON form
    await Deno.mkdir(`${folder}/.hidden/hotkeys`, { recursive: true });
    await Deno.mkdir(`${folder}/empty`);
    await Deno.writeTextFile(`${folder}/notes.txt`, "");
    const [a, b, ...others] = await listWallets(folder);
    assertEquals(others, []);
    assertEquals([a?.name, a?.coldkey.state], ["a", "absent"]);
    assertEquals(a?.hotkeys.map(({ name, address }) => [name, address]), [
      ["broken", null],
      ["default", bob.pair.address],
      ["words", "5DfhGyQdFobKM8NsWvEeAKk5EQQgYe9AydgJ7rMB6E1EqRzV"],
    ]);
    assertMatch(a?.hotkeys[0]?.problem ?? "", /is not one JSON object/);
    assertEquals(b?.coldkey, { state: "encrypted", address: alice.pair.address, problem: null });
    assertEquals(b?.hotkeys.map(({ name, address }) => [name, address]), [
      ["one", alice.pair.address],
      ["two", bob.pair.address],
    ]);
    assertEquals(await listHotkeys({ folder, wallet: "b" }), ["one", "two"]);
    assertEquals(await viewWallet({ folder, wallet: "empty" }), null);
    assert(!JSON.stringify([a, b]).includes("hush"));
  });
});

Deno.test("Hotkey file: the wallet's coldkey among the hotkeys is refused, and listed with the reason", async () => {
  await withScratchFolder(async (folder) => {
    const place = { folder, wallet: "w", hotkey: "copy" };
    const key = newKeyMaterial();
    await saveColdkey(place, { key, password: null });
    await Deno.mkdir(`${folder}/w/hotkeys`);
    await Deno.copyFile(`${folder}/w/coldkey`, `${folder}/w/hotkeys/copy`);
    const says = /hotkeys\/copy as a hotkey: it is the coldkey of wallet w/;
    assertMatch((await assertRejects(() => loadHotkey(place), WalletError)).message, says);
    assertMatch(
      (await assertRejects(() => saveHotkey({ ...place, hotkey: "new" }, { key }), WalletError)).message,
      /coldkey of/,
    );
    const [listed] = (await viewWallet(place))?.hotkeys ?? [];
    assertEquals(listed?.address, null);
    assertMatch(listed?.problem ?? "", says);
    await saveHotkey({ ...place, hotkey: "own" }, { key: newKeyMaterial() });
    // The development accounts are public, and on a development chain they are both.
    await saveColdkey({ folder, wallet: "alice" }, { key: alice, password: null });
    await saveHotkey({ folder, wallet: "alice", hotkey: "owner" }, { key: alice });
  });
});

Deno.test("Wallet list: a coldkeypub.txt that cannot be read is said, and hides no other wallet", async () => {
  await withScratchFolder(async (folder) => {
    await Deno.mkdir(`${folder}/w`);
    await Deno.writeTextFile(`${folder}/w/coldkeypub.txt`, "nothing");
    await saveHotkey({ folder, wallet: "x", hotkey: "h" }, { key: alice });
    const [w, x] = await listWallets(folder);
    assertEquals([w?.coldkey.state, w?.coldkey.address], ["unreadable", null]);
    assertMatch(w?.coldkey.problem ?? "", /coldkeypub\.txt: it is not one JSON object/);
    assertEquals(x?.hotkeys.length, 1);
  });
});
