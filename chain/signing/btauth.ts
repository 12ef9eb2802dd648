/**
 * btauth/1: an HTTP request that proves "sent by hotkey X, to hotkey Y, with exactly this body, just now".
 *
 * Eight lines are signed: protocol, scheme, method, target, sha256 of the body, nonce (unix time in nanoseconds), sender, receiver.
 * Stricter than the protocol asks: sr25519 only, and a receiver is required unless the server says otherwise. Checks run in
 * the order shape, receiver, freshness, signature, replay, so only genuine requests reach the replay cache.
 */

import { assert } from "../../core/assert.ts";
import { type Parsed, parsed, refused } from "../../core/fault.ts";
import type { Address, ChainSigner } from "../call.ts";
import type { ReplayCache } from "./replay_cache.ts";
import {
  bytesOf,
  type HeaderSource,
  type HttpRequest,
  sha256Hex,
  signatureOf,
  signedHex,
  type VerifySignature,
} from "./signed_text.ts";

export const btauthPastMs = 10_000;
export const btauthFutureMs = 2_000;

const nsPerMs = 1_000_000n;
const nonceText = /^[0-9]{1,20}$/;

export interface BtauthCaller {
  readonly hotkey: Address;
  readonly nonceNs: bigint;
}

/** The signed text. */
export function btauthPayload(
  request: HttpRequest,
  signed: { nonceNs: bigint; sender: Address; receiver: Address | null },
): string {
  const { nonceNs, sender, receiver } = signed;
  const { method, target, body } = request;
  return ["btauth/1", "sr25519", method.toUpperCase(), target, sha256Hex(body), nonceNs, sender, receiver ?? "-"]
    .join("\n");
}

/** The headers of a request. Every try needs its own nonce: sign again before sending again. */
export function signBtauth(
  request: HttpRequest,
  options: { signer: ChainSigner; receiver: Address | null; nonceNs: bigint },
): Record<string, string> {
  const { signer, receiver, nonceNs } = options;
  const payload = btauthPayload(request, { nonceNs, sender: signer.address, receiver });
  return {
    "X-Bittensor-Version": "1",
    "X-Bittensor-Hotkey": signer.address,
    ...(receiver === null ? {} : { "X-Bittensor-Receiver": receiver }),
    "X-Bittensor-Nonce": String(nonceNs),
    "X-Bittensor-Signature": signedHex(signer, payload),
  };
}

export interface BtauthCheck {
  readonly self: Address;
  readonly isReceiverRequired?: boolean; // default true
  readonly nowMs: number; // wall clock
  readonly verify: VerifySignature;
  readonly replays: ReplayCache;
}

/** Who sent a request, or what is wrong with it. Fault texts name no part of the signature. */
export function verifyBtauth(request: HttpRequest, headers: HeaderSource, check: BtauthCheck): Parsed<BtauthCaller> {
  assert(
    check.replays.keepMs >= btauthPastMs + btauthFutureMs,
    `Cannot verify as the replay cache must keep entries for the whole window: current value is ${check.replays.keepMs} ms`,
  );
  const hotkey = headers.get("X-Bittensor-Hotkey");
  const nonce = headers.get("X-Bittensor-Nonce") ?? "";
  const signature = signatureOf(headers.get("X-Bittensor-Signature"));
  const scheme = headers.get("X-Bittensor-Crypto") ?? "sr25519";
  if (headers.get("X-Bittensor-Version") !== "1") return deny("X-Bittensor-Version must be 1");
  if (hotkey === null) return deny("X-Bittensor-Hotkey is missing");
  if (!nonceText.test(nonce)) return deny("X-Bittensor-Nonce must be a decimal number");
  if (scheme !== "sr25519") return deny("X-Bittensor-Crypto must be sr25519");
  if (signature === null) return deny("X-Bittensor-Signature must be 64 bytes as hex");

  const receiver = headers.get("X-Bittensor-Receiver");
  if (receiver === null && check.isReceiverRequired !== false) return deny("X-Bittensor-Receiver is missing");
  if (receiver !== null && receiver !== check.self) return deny("The request was signed for another receiver");

  const nonceNs = BigInt(nonce);
  const ageNs = BigInt(check.nowMs) * nsPerMs - nonceNs;
  if (ageNs > BigInt(btauthPastMs) * nsPerMs) return deny("The request is too old: check the sender's clock");
  if (-ageNs > BigInt(btauthFutureMs) * nsPerMs) return deny("The request is from the future: check both clocks");

  const message = bytesOf(btauthPayload(request, { nonceNs, sender: hotkey, receiver }));
  if (!check.verify({ address: hotkey, message, signature })) return deny("The signature does not match");
  const replay = check.replays.accept(`${hotkey}.${nonceNs}`, check.nowMs);
  if (replay === "replayed") return deny("This request was accepted before: sign every try anew");
  if (replay === "full") return refused("limitExceeded", "Too many requests at once: try again in some seconds");
  return parsed({ hotkey, nonceNs });
}

const deny = (detail: string) => refused("unauthenticated", detail);
