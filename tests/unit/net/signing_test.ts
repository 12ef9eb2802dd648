/** Signed requests: those signed by the SDK are accepted, ours have the same bytes, and every change is refused. */

import { assert, assertEquals } from "@std/assert";
import { nodeId } from "../../../core/ids.ts";
import { btauthText, signBtauth, verifyBtauth } from "../../../net/auth/btauth.ts";
import { epistulaMessage, signEpistula, verifyEpistula } from "../../../net/auth/epistula.ts";
import { defaultTimeWindow, sha256Hex } from "../../../net/auth/signed_headers.ts";
import { hotkeyOfMiniSecret, verifySignature } from "../../../chain/wallet/hotkey.ts";
import vectors from "../../vectors/net/signing.json" with { type: "json" };

const signer = hotkeyOfMiniSecret(new Uint8Array(32).fill(7));
const other = hotkeyOfMiniSecret(new Uint8Array(32).fill(8));
const nowMs = 1_750_000_000_123;
const nonceNs = BigInt(nowMs) * 1_000_000n + 456_789n;
const body = new TextEncoder().encode('{"a": 1}');
const request = { method: "POST", target: "/generate?top=1", bodyHash: sha256Hex(body) };
const check = (changes: Partial<Parameters<typeof verifyBtauth>[2]> = {}) => ({
  ...{ self: other.address, nowMs, verify: verifySignature, window: defaultTimeWindow },
  ...changes,
});
const detailOf = (found: { ok: true } | { ok: false; fault: { detail: string } }) => found.ok ? "" : found.fault.detail;

Deno.test("btauth: requests signed by the SDK are accepted, byte for byte the same text", () => {
  for (const { method, path, body, headers, payload } of vectors.cases) {
    const sent = { method, target: path, bodyHash: sha256Hex(Uint8Array.fromHex(body)) };
    const all = new Headers(Object.entries<string>(headers));
    const receiver = all.has("X-Bittensor-Receiver") ? nodeId(vectors.receiver) : null;
    const nonce = BigInt(headers["X-Bittensor-Nonce"]);
    const claim = { sender: nodeId(vectors.sender), receiver, nonceNs: nonce };
    assertEquals(btauthText(sent, { claim, scheme: "sr25519" }), payload);
    const isReceiverRequired = receiver !== null;
    const found = verifyBtauth(sent, all, check({ self: nodeId(vectors.receiver), isReceiverRequired }));
    assertEquals(found, { ok: true, value: claim });
  }
});

Deno.test("btauth: a request of ours is read back; whether it came before is for its server to know", () => {
  const headers = new Headers(signBtauth(request, { signer, receiver: other.address, nonceNs }));
  const claim = { sender: signer.address, receiver: other.address, nonceNs };
  for (let time = 0; time < 2; time++) {
    assertEquals(verifyBtauth(request, headers, check()), { ok: true, value: claim });
  }
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
  assert(!verifyBtauth({ ...request, bodyHash: sha256Hex(body.with(0, 0)) }, new Headers(signed), check()).ok);
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
  assert(at(-10_000_000_001n).includes("in the past"));
  assertEquals(at(2_000_000_000n), "");
  assert(at(2_000_000_001n).includes("in the future"));
});

Deno.test("Epistula: both variants sign the text of their protocol", () => {
  const empty = new TextEncoder().encode("{}");
  const hash = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
  const plain = { timestampMs: nowMs, uuid: null, signedFor: null };
  assertEquals(epistulaMessage(empty, plain), `${hash}.${nowMs}.`);
  assertEquals(epistulaMessage(empty, { ...plain, uuid: "u-1", signedFor: nodeId("5F") }), `${hash}.u-1.${nowMs}.5F`);
});

Deno.test("Epistula: a request is taken for its receiver, in its window", () => {
  for (const uuid of [null, "0b2c"]) {
    for (const signedFor of [null, other.address]) {
      const headers = new Headers(signEpistula(body, { timestampMs: nowMs, uuid, signedFor }, signer));
      const stamp = { timestampMs: nowMs, uuid, signedFor };
      assertEquals(verifyEpistula(body, headers, check()), { ok: true, value: { sender: signer.address, stamp } });
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
  const headers = signEpistula(body, { timestampMs: nowMs, uuid: "u", signedFor: other.address }, signer);
  for (const [i, time] of ["1750000009999.0", "1750000010000.0", "1750000010001.0"].entries()) {
    const signature = Uint8Array.fromHex(headers[`Epistula-Secret-Signature-${i}`]!.slice(2));
    const message = new TextEncoder().encode(`${time}.${other.address}`);
    assert(verifySignature({ address: signer.address, message, signature }), time);
  }
});
