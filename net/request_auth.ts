/**
 * Signed HTTP requests: who asks, for this hub, this run, this method, path and body, and only once.
 *
 * Owns: the four headers, both sides. The time stamp bounds how long a nonce must be remembered, so both clocks must agree
 * to `clockSkewMs`. Refuses: keys and who is admitted (injected). Invariant: a nonce is remembered only after its signature
 * is proven, per node, so nobody can use up another node's nonces.
 */

import * as v from "valibot";
import { type Fault, type Parsed, parsed, refused } from "../core/fault.ts";
import type { NodeId } from "../core/ids.ts";
import { PROTOCOL_VERSION } from "../core/protocol/message.ts";
import { hex, type Signer, unhex, type Verify } from "./hello.ts";
import type { NetLimits } from "./limits.ts";
import { address, hex64, parseWith } from "./schema_values.ts";
import type { Random, Timers } from "./timers.ts";

/** What a signature covers. */
export interface SignedRequest {
  readonly method: string;
  readonly path: string; // with query
  readonly bodyHash: string; // SHA-256, empty string for a request without a body
}

export interface RequestScope {
  readonly run: string;
  readonly hub: NodeId;
}

export type Authorize = (request: SignedRequest) => Record<string, string>;

export function createAuthorize(from: RequestScope & { signer: Signer; timers: Timers; random: Random }): Authorize {
  return (request) => {
    const timeMs = from.timers.nowMs();
    const nonce = hex(from.random.bytes(32));
    const message = requestText(request, { ...from, node: from.signer.address, timeMs, nonce });
    return {
      "iota-node": from.signer.address,
      "iota-time": String(timeMs),
      "iota-nonce": nonce,
      "iota-signature": hex(from.signer.sign(message)),
    };
  };
}

export interface RequestGateOptions extends RequestScope {
  readonly verify: Verify;
  /** Null: may use the store now. */
  readonly admit: (node: NodeId) => Fault | null;
  readonly limits: Pick<NetLimits, "clockSkewMs" | "nonces" | "peers">;
  readonly timers: Timers;
}

const headersSchema = v.object({
  node: address,
  timeMs: v.pipe(v.string(), v.regex(/^\d{1,15}$/, "must be milliseconds"), v.transform(Number)),
  nonce: hex64,
  signature: v.pipe(v.string(), v.regex(/^[0-9a-f]{128}$/, "must be 128 lower-case hex digits")),
});

export class RequestGate {
  readonly #options: RequestGateOptions;
  /** Of each node, oldest first: nonce to the time after which its time stamp alone refuses it. */
  readonly #nonces = new Map<NodeId, Map<string, number>>();

  constructor(options: RequestGateOptions) {
    this.#options = options;
  }

  /** The node that asks, or why it may not. */
  check(request: SignedRequest, headers: Headers): Parsed<NodeId> {
    const { limits, timers, admit, verify } = this.#options;
    const claim = parseWith(headersSchema, {
      node: headers.get("iota-node") ?? undefined,
      timeMs: headers.get("iota-time") ?? undefined,
      nonce: headers.get("iota-nonce") ?? undefined,
      signature: headers.get("iota-signature") ?? undefined,
    }, "a request's signature");
    if (!claim.ok) return refused("unauthenticated", claim.fault.detail);
    const { node, timeMs, nonce, signature } = claim.value;
    const nowMs = timers.nowMs();
    const skewMs = Math.abs(nowMs - timeMs);
    if (skewMs > limits.clockSkewMs) {
      return refused(
        "unauthenticated",
        `Cannot take a request as its clock must agree to ${limits.clockSkewMs} ms: current value is ${skewMs}; set this machine's clock`,
      );
    }
    const fault = admit(node);
    if (fault !== null) return { ok: false, fault };
    const seen = this.#recent(node, nowMs);
    if (seen.has(nonce)) {
      return refused("unauthenticated", "Cannot take a request as its nonce must be new: it was used before");
    }
    if (seen.size >= limits.nonces) {
      return refused(
        "limitExceeded",
        `Cannot take a request as 'nonces' must be at most ${limits.nonces} within ${
          2 * limits.clockSkewMs
        } ms; slow down`,
      );
    }
    const message = requestText(request, { ...this.#options, node, timeMs, nonce });
    if (!verify({ address: node, message, signature: unhex(signature) })) {
      return refused(
        "unauthenticated",
        `Cannot take a request as its signature must be by ${node} over method, path and body`,
      );
    }
    seen.set(nonce, nowMs + 2 * limits.clockSkewMs);
    this.#nonces.set(node, seen);
    return parsed(node);
  }

  /** The node's nonces that still matter. Forgets nodes that have none when there are more than peers. */
  #recent(node: NodeId, nowMs: number): Map<string, number> {
    const seen = this.#nonces.get(node) ?? new Map<string, number>();
    forgetUntil(seen, nowMs);
    if (this.#nonces.size <= this.#options.limits.peers) return seen;
    for (const [other, nonces] of this.#nonces) {
      forgetUntil(nonces, nowMs);
      if (nonces.size === 0) this.#nonces.delete(other);
    }
    return seen;
  }
}

function forgetUntil(nonces: Map<string, number>, nowMs: number): void {
  for (const [nonce, untilMs] of nonces) {
    if (untilMs > nowMs) return;
    nonces.delete(nonce);
  }
}

function requestText(
  request: SignedRequest,
  by: RequestScope & { node: NodeId; timeMs: number; nonce: string },
): Uint8Array {
  const { method, path, bodyHash } = request;
  const values = [
    "iota request",
    PROTOCOL_VERSION,
    by.run,
    by.hub,
    by.node,
    by.timeMs,
    by.nonce,
    method,
    path,
    bodyHash,
  ];
  return new TextEncoder().encode(JSON.stringify(values));
}
