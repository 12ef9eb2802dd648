/**
 * Counts bytes over the orchestrator's port by node, direction and purpose, and per token over a stage boundary.
 *
 * Messages count with their framing, blobs when their request ends, even if it failed. Not counted: HTTP headers,
 * heartbeats, TCP retransmissions, bodies refused unread, traffic between nodes.
 */

import { type ByteKind, byteKinds, noBytes } from "../../core/view/curves.ts";
import type { RunConfig } from "../../core/config/config.ts";
import type { NodeId } from "../../core/ids.ts";
import type { HubMessage, NodeMessage } from "../../core/protocol/message.ts";
import type { BlobMove, Way } from "../../net/blobs/blob_routes.ts";

type TrafficSums = Readonly<Record<Way, Readonly<Record<ByteKind, number>>>>;

interface Flow {
  bytes: number;
  tokens: number;
}

type Sums = Record<Way, Record<ByteKind, number>>;

const noSums = (): Sums => ({ received: noBytes(), sent: noBytes() });

export class Traffic {
  readonly forward: Flow = { bytes: 0, tokens: 0 };
  readonly backward: Flow = { bytes: 0, tokens: 0 };
  readonly #nodes = new Map<NodeId, Sums>();
  readonly #total = noSums();
  readonly #taken = noBytes();
  readonly #tokensPerMicrobatch: number;

  constructor(config: RunConfig) {
    this.#tokensPerMicrobatch = config.train.sequencesPerMicrobatch * config.model.contextLength;
  }

  /** A forward's result is a wire, any other a wire's gradient. */
  received(
    event: { peer: NodeId; message: NodeMessage; segments: readonly Uint8Array[]; bytes: number },
  ): void {
    const { peer: node, message, segments, bytes } = event;
    this.#book("received", { node, kind: kindOf(message, segments.length), bytes });
    if (message.type !== "taskDone" || segments.length === 0) return;
    const flow = message.task.includes(".forward.") ? this.forward : this.backward;
    flow.bytes += bytes;
    flow.tokens += this.#tokensPerMicrobatch;
  }

  sent(
    { node, message, segments, bytes }: { node: NodeId; message: HubMessage; segments: number; bytes: number },
  ): void {
    this.#book("sent", { node, kind: kindOf(message, segments), bytes });
  }

  moved({ node, way, bytes }: BlobMove, kind: ByteKind): void {
    this.#book(way, { node, kind, bytes });
  }

  get nodes(): ReadonlyMap<NodeId, TrafficSums> {
    return this.#nodes;
  }

  get total(): TrafficSums {
    return this.#total;
  }

  get byKind(): Record<ByteKind, number> {
    const moved = noBytes();
    for (const kind of byteKinds) moved[kind] = bytesOf(this.#total, kind);
    return moved;
  }

  takeMoved(): Record<ByteKind, number> {
    const [all, moved] = [this.byKind, noBytes()];
    for (const kind of byteKinds) moved[kind] = all[kind] - this.#taken[kind];
    Object.assign(this.#taken, all);
    return moved;
  }

  bytesPerToken(direction: "forward" | "backward"): number | null {
    const { bytes, tokens } = this[direction];
    return tokens === 0 ? null : bytes / tokens;
  }

  #book(way: Way, { node, kind, bytes }: { node: NodeId; kind: ByteKind; bytes: number }): void {
    const sums = this.#nodes.get(node) ?? noSums();
    sums[way][kind] += bytes;
    this.#total[way][kind] += bytes;
    this.#nodes.set(node, sums);
  }
}

function kindOf({ type }: NodeMessage | HubMessage, segments: number): ByteKind {
  if (segments === 0) return "control";
  return type === "runTask" || type === "taskDone" ? "wires" : "parameters";
}

export function bytesOf({ received, sent }: TrafficSums, kind: ByteKind): number {
  return received[kind] + sent[kind];
}

export function bf16BytesPerToken(config: RunConfig): number {
  return 2 * config.model.width;
}
