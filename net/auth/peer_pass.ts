/**
 * The orchestrator's signed permission for a node to copy a stage from its replicas, which do not know who was
 * admitted.
 *
 * At most `passes` checked ones are remembered, so a signature is checked once for all parts of a vector.
 */

import { type BlobHash, blobHash, type NodeId } from "../../core/ids.ts";
import { PROTOCOL_VERSION } from "../../core/protocol/message.ts";
import { hex, type Signer, unhex, type Verify } from "./hello.ts";
import type { NetLimits } from "../limits.ts";
import type { Authorize } from "./request_auth.ts";
import { bytesOf } from "./signed_headers.ts";
import { passPattern } from "../messages/schema_hub.ts";
import type { Timers } from "../timers.ts";

export interface PassIssuer {
  readonly run: string;
  readonly hub: NodeId;
}

export interface PassTerms {
  readonly reader: NodeId;
  readonly blobs: readonly BlobHash[];
  readonly untilMs: number; // by the orchestrator's wall clock
}

const passHeader = "iota-pass";
const mostBlobs = 2; // parameters and outer momentum

export function createPass(terms: PassTerms, { run, signer }: { run: string; signer: Signer }): string {
  const signature = signer.sign(passText(terms, { run, hub: signer.address }));
  return [terms.untilMs, ...terms.blobs, hex(signature)].join(".");
}

export function showPass(authorize: Authorize, pass: string | null): Authorize {
  if (pass === null) return authorize;
  return (request, by) => ({ ...authorize(request, by), [passHeader]: pass });
}

function passText({ reader, blobs, untilMs }: PassTerms, { run, hub }: PassIssuer): Uint8Array {
  return bytesOf(JSON.stringify(["iota peer pass", PROTOCOL_VERSION, run, hub, reader, untilMs, ...blobs]));
}

interface PassCheckOptions {
  readonly verify: Verify;
  readonly limits: Pick<NetLimits, "passes" | "clockSkewMs">;
  readonly timers: Timers;
}

export class PassCheck {
  readonly #options: PassCheckOptions;
  readonly #checked = new Set<string>();
  #issuer: PassIssuer | null = null; // null: no pass is valid yet

  constructor(options: PassCheckOptions) {
    this.#options = options;
  }

  trust(issuer: PassIssuer): void {
    if (issuer.hub === this.#issuer?.hub && issuer.run === this.#issuer.run) return;
    this.#issuer = { run: issuer.run, hub: issuer.hub };
    this.#checked.clear();
  }

  opens({ node, hash, headers }: { node: NodeId; hash: BlobHash; headers: Headers }): boolean {
    const pass = headers.get(passHeader) ?? "";
    if (this.#issuer === null || !passPattern.test(pass)) return false;
    const [until = "", ...rest] = pass.split(".");
    const signature = unhex(rest.pop() ?? "");
    const terms = { reader: node, blobs: rest.slice(0, mostBlobs).map(blobHash), untilMs: Number(until) };
    const { limits, timers, verify } = this.#options;
    if (!terms.blobs.includes(hash) || terms.untilMs + limits.clockSkewMs < timers.nowMs()) return false;
    const key = `${node} ${pass}`;
    if (this.#checked.has(key)) return true;
    if (!verify({ address: this.#issuer.hub, message: passText(terms, this.#issuer), signature })) return false;
    const [oldest] = this.#checked;
    if (oldest !== undefined && this.#checked.size >= limits.passes) this.#checked.delete(oldest);
    this.#checked.add(key);
    return true;
  }
}
