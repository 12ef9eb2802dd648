/** Signed requests: those signed by the SDK are accepted, ours have the same bytes, and every change is refused. */

import { assert, assertEquals } from "@std/assert";
import { type NodeId, nodeId } from "../../../core/ids.ts";
import {
  btauthText,
  checkClaim,
  checkSignature,
  readClaim,
  readSignature,
  signBtauth,
  type SignedRequest,
} from "../../../net/auth/btauth.ts";
import { type HeaderSource, sha256Hex } from "../../../net/auth/signed_headers.ts";
import { hotkeyOfMiniSecret, verifySignature } from "../../../chain/wallet/hotkey.ts";
import vectors from "../../vectors/net/signing.json" with { type: "json" };

const signer = hotkeyOfMiniSecret(new Uint8Array(32).fill(7));
const other = hotkeyOfMiniSecret(new Uint8Array(32).fill(8));
const nowMs = 1_750_000_000_123;
const nonceNs = BigInt(nowMs) * 1_000_000n + 456_789n;
const body = new TextEncoder().encode('{"a": 1}');
const request = { method: "POST", target: "/generate?top=1", bodyHash: sha256Hex(body) };
const window = { pastMs: 10_000, futureMs: 2_000 }; // the protocol's

/** A request's sender, or the fault. A request to nobody in particular is accepted only by `self` null. */
function verifyBtauth(request: SignedRequest, headers: HeaderSource, { self = other.address as NodeId | null } = {}) {
  const [claim, signature] = [readClaim(headers), readSignature(headers)];
  if (!claim.ok) return claim;
  if (!signature.ok) return signature;
  const late = self === null ? null : checkClaim(claim.value, { self, nowMs, window });
  const made = { claim: claim.value, signature: signature.value, verify: verifySignature };
  const fault = late ?? checkSignature(request, made);
  return fault === null ? claim : { ok: false as const, fault };
}

const detailOf = (found: { ok: true } | { ok: false; fault: { detail: string } }) => found.ok ? "" : found.fault.detail;

Deno.test("btauth: requests signed by the SDK are accepted, byte for byte the same text", () => {
  for (const { method, path, body, headers, payload } of vectors.cases) {
    const sent = { method, target: path, bodyHash: sha256Hex(Uint8Array.fromHex(body)) };
    const all = new Headers(Object.entries<string>(headers));
    const receiver = all.has("X-Bittensor-Receiver") ? nodeId(vectors.receiver) : null;
    const nonce = BigInt(headers["X-Bittensor-Nonce"]);
    const claim = { sender: nodeId(vectors.sender), receiver, nonceNs: nonce };
    assertEquals(btauthText(sent, { claim, scheme: "sr25519" }), payload);
    const found = verifyBtauth(sent, all, { self: receiver });
    assertEquals(found, { ok: true, value: claim });
  }
});

Deno.test("btauth: a request of ours is read back; whether it came before is for its server to know", () => {
  const headers = new Headers(signBtauth(request, { signer, receiver: other.address, nonceNs }));
  const claim = { sender: signer.address, receiver: other.address, nonceNs };
  for (let time = 0; time < 2; time++) {
    assertEquals(verifyBtauth(request, headers), { ok: true, value: claim });
  }
});

Deno.test("btauth: whatever is changed on the way, the request is refused", () => {
  const signed = signBtauth(request, { signer, receiver: other.address, nonceNs });
  const wrong = (name: string, value: string | null) => {
    const headers = new Headers(signed);
    value === null ? headers.delete(name) : headers.set(name, value);
    return verifyBtauth(request, headers);
  };
  assert(!verifyBtauth({ ...request, method: "PUT" }, new Headers(signed)).ok);
  assert(!verifyBtauth({ ...request, target: "/generate?top=2" }, new Headers(signed)).ok);
  assert(!verifyBtauth({ ...request, bodyHash: sha256Hex(body.with(0, 0)) }, new Headers(signed)).ok);
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
    return detailOf(verifyBtauth(request, headers));
  };
  assertEquals(at(-10_000_000_000n), "");
  assert(at(-10_000_000_001n).includes("in the past"));
  assertEquals(at(2_000_000_000n), "");
  assert(at(2_000_000_001n).includes("in the future"));
});
