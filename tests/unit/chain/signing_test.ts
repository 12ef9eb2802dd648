/** Signed requests: what the SDK signed is accepted, what we sign has its bytes, and every change is refused. */

import { assert, assertEquals } from "@std/assert";
import type { ChainSigner } from "../../../chain/call.ts";
import { btauthPayload, signBtauth, verifyBtauth } from "../../../chain/signing/btauth.ts";
import { epistulaMessage, pythonJson, signEpistula, verifyEpistula } from "../../../chain/signing/epistula.ts";
import { ReplayCache } from "../../../chain/signing/replay_cache.ts";
import { hotkeyOfMiniSecret, verifySignature } from "../../../chain/wallet/hotkey.ts";
import vectors from "../../vectors/chain/signing.json" with { type: "json" };

const signer: ChainSigner = hotkeyOfMiniSecret(new Uint8Array(32).fill(7));
const other: ChainSigner = hotkeyOfMiniSecret(new Uint8Array(32).fill(8));
const nowMs = 1_750_000_000_123;
const nonceNs = BigInt(nowMs) * 1_000_000n + 456_789n;
const request = { method: "POST", target: "/generate?top=1", body: new TextEncoder().encode('{"a": 1}') };
const window = (entriesMax = 100) => new ReplayCache({ keepMs: 12_000, entriesMax });
const check = (changes: Partial<Parameters<typeof verifyBtauth>[2]> = {}) => ({
  ...{ self: other.address, nowMs, verify: verifySignature, replays: window() },
  ...changes,
});
const detailOf = (found: { ok: true } | { ok: false; fault: { detail: string } }) => found.ok ? "" : found.fault.detail;

Deno.test("btauth: requests signed by the SDK are accepted, byte for byte the same text", () => {
  for (const { method, path, body, headers, payload } of vectors.cases) {
    const sent = { method, target: path, body: Uint8Array.fromHex(body) };
    const all = new Headers(Object.entries<string>(headers));
    const receiver = all.get("X-Bittensor-Receiver");
    const nonce = BigInt(headers["X-Bittensor-Nonce"]);
    assertEquals(btauthPayload(sent, { nonceNs: nonce, sender: vectors.sender, receiver }), payload);
    const isReceiverRequired = receiver !== null;
    const found = verifyBtauth(sent, all, check({ self: vectors.receiver, isReceiverRequired }));
    assertEquals(found, { ok: true, value: { hotkey: vectors.sender, nonceNs: nonce } });
  }
});

Deno.test("btauth: a request of ours is taken once", () => {
  const headers = new Headers(signBtauth(request, { signer, receiver: other.address, nonceNs }));
  const options = check();
  assertEquals(verifyBtauth(request, headers, options), { ok: true, value: { hotkey: signer.address, nonceNs } });
  assert(detailOf(verifyBtauth(request, headers, options)).includes("accepted before"));
});

Deno.test("btauth: whatever is changed on the way, the request is refused", () => {
  const signed = signBtauth(request, { signer, receiver: other.address, nonceNs });
  const wrong = (name: string, value: string | null) => {
    const headers = new Headers(signed);
    value === null ? headers.delete(name) : headers.set(name, value);
    return verifyBtauth(request, headers, check());
  };
  assert(!verifyBtauth({ ...request, method: "PUT" }, new Headers(signed), check()).ok);
  assert(!verifyBtauth({ ...request, target: "/generate?top=2" }, new Headers(signed), check()).ok);
  assert(!verifyBtauth({ ...request, body: request.body.with(0, 0) }, new Headers(signed), check()).ok);
  for (const name of Object.keys(signed)) assert(!wrong(name, null).ok, name);
  assert(!wrong("X-Bittensor-Hotkey", other.address).ok);
  assert(!wrong("X-Bittensor-Hotkey", "no address").ok);
  assert(!wrong("X-Bittensor-Receiver", signer.address).ok);
  assert(!wrong("X-Bittensor-Nonce", String(nonceNs + 1n)).ok);
  assert(!wrong("X-Bittensor-Nonce", "-1").ok && !wrong("X-Bittensor-Nonce", "9".repeat(30)).ok);
  assert(!wrong("X-Bittensor-Crypto", "ed25519").ok);
  assert(!wrong("X-Bittensor-Signature", "0x12").ok && !wrong("X-Bittensor-Signature", "0x" + "00".repeat(64)).ok);
});

Deno.test("btauth: ten seconds of age and two of haste, no more", () => {
  const at = (shiftNs: bigint) => {
    const nonce = BigInt(nowMs) * 1_000_000n + shiftNs;
    const headers = new Headers(signBtauth(request, { signer, receiver: other.address, nonceNs: nonce }));
    return detailOf(verifyBtauth(request, headers, check()));
  };
  assertEquals(at(-10_000_000_000n), "");
  assert(at(-10_000_000_001n).includes("too old"));
  assertEquals(at(2_000_000_000n), "");
  assert(at(2_000_000_001n).includes("future"));
});

Deno.test("Replays: entries live for their window; a full cache refuses and forgets nothing", () => {
  const replays = new ReplayCache({ keepMs: 100, entriesMax: 2 });
  assertEquals(["a", "b", "c", "a"].map((key) => replays.accept(key, 0)), ["new", "new", "full", "replayed"]);
  assertEquals(replays.accept("a", 99), "replayed");
  assertEquals(replays.accept("c", 100), "new");
  const headers = new Headers(signBtauth(request, { signer, receiver: other.address, nonceNs }));
  const found = verifyBtauth(request, headers, check({ replays: window(0) }));
  assertEquals(found.ok ? null : found.fault.code, "limitExceeded");
});

Deno.test("Epistula: both variants sign the text of their protocol", () => {
  const body = new TextEncoder().encode("{}");
  const hash = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
  const plain = { timestampMs: nowMs, uuid: null, signedFor: null };
  assertEquals(epistulaMessage(body, plain), `${hash}.${nowMs}.`);
  assertEquals(epistulaMessage(body, { ...plain, uuid: "u-1", signedFor: "5F" }), `${hash}.u-1.${nowMs}.5F`);
});

Deno.test("Epistula: a request is taken once, for its receiver, in its window", () => {
  const { body } = request;
  for (const uuid of [null, "0b2c"]) {
    for (const signedFor of [null, other.address]) {
      const headers = new Headers(signEpistula(body, { timestampMs: nowMs, uuid, signedFor }, signer));
      const options = check();
      assertEquals(verifyEpistula(body, headers, options), { ok: true, value: signer.address });
      assert(!verifyEpistula(body, headers, options).ok);
      assert(!verifyEpistula(body.with(0, 0), headers, check()).ok);
      assertEquals(verifyEpistula(body, headers, check({ self: signer.address })).ok, signedFor === null);
      assert(!verifyEpistula(body, headers, check({ nowMs: nowMs + 10_001 })).ok);
      assert(!verifyEpistula(body, headers, check({ nowMs: nowMs - 2_001 })).ok);
      headers.delete(uuid === null ? "Epistula-Timestamp" : "Epistula-Version");
      assert(!verifyEpistula(body, headers, check()).ok);
    }
  }
});

Deno.test("Epistula: the interval of the secret signatures is written as Python writes a float", () => {
  const headers = signEpistula(request.body, { timestampMs: nowMs, uuid: "u", signedFor: other.address }, signer);
  for (const [i, time] of ["1750000009999.0", "1750000010000.0", "1750000010001.0"].entries()) {
    const signature = Uint8Array.fromHex(headers[`Epistula-Secret-Signature-${i}`]!.slice(2));
    const message = new TextEncoder().encode(`${time}.${other.address}`);
    assert(verifySignature({ address: signer.address, message, signature }), time);
  }
});

Deno.test("Epistula: bodies are written as Python's json.dumps writes them", () => {
  assertEquals(pythonJson({}), "{}");
  const value = { b: [1, null, true], a: "é\u{1f600}\n", "\u{1f600}": {}, "\uffee": -3, "x\x7f": 1 };
  const expected =
    '{"a": "\\u00e9\\ud83d\\ude00\\n", "b": [1, null, true], "x\\u007f": 1, "\\uffee": -3, "\\ud83d\\ude00": {}}';
  assertEquals(pythonJson(value), expected);
});
