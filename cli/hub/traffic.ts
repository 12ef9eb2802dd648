/**
 * Bytes that cross the hub's port, as measured by the hub: per node, direction and purpose; and for each token that crosses a
 * stage boundary.
 *
 * Messages count once, with their framing, when they arrive or are queued; blobs with their content. Out of scope: headers of
 * HTTP, beats of a link, what is sent again, and what nodes send each other.
 */

import { type ByteKind, byteKinds, noBytes } from "../../core/view/curves.ts";
import type { RunConfig } from "../../core/config/config.ts";
import type { NodeId } from "../../core/ids.ts";
import type { NodeMessage } from "../../core/protocol/message.ts";
import type { BlobMove, Way } from "../../net/blobs/blob_routes.ts";

export type TrafficSums = Readonly<Record<Way, Readonly<Record<ByteKind, number>>>>;

interface Flow {
  bytes: number;
  tokens: number;
}

type Sums = Record<Way, Record<ByteKind, number>>;

const noSums = (): Sums => ({ received: noBytes(), sent: noBytes() });

export class Traffic {
  readonly forward: Flow = { bytes: 0, tokens: 0 };
  readonly backward: Flow = { bytes: 0, tokens: 0 };
  readonly #nodes = new Map<NodeId, Sums>(); // as many as ever joined
  readonly #total = noSums();
  readonly #taken = noBytes();
  readonly #tokensPerMicrobatch: number;

  constructor(config: RunConfig) {
    this.#tokensPerMicrobatch = config.train.sequencesPerMicrobatch * config.model.contextLength;
  }

  /** A message has arrived. A result of a forward is a wire, another one a gradient on a wire. */
  received(
    event: { peer: NodeId; message: NodeMessage; segments: readonly Uint8Array[]; bytes: number },
  ): void {
    const { peer: node, message, segments, bytes } = event;
    this.#book("received", { node, kind: segments.length > 0 ? "wires" : "control", bytes });
    if (message.type !== "taskDone" || segments.length === 0) return;
    const flow = message.task.includes(".forward.") ? this.forward : this.backward;
    flow.bytes += bytes;
    flow.tokens += this.#tokensPerMicrobatch;
  }

  sent({ node, segments, bytes }: { node: NodeId; segments: number; bytes: number }): void {
    this.#book("sent", { node, kind: segments > 0 ? "wires" : "control", bytes });
  }

  moved({ node, way, bytes }: BlobMove, kind: ByteKind): void {
    this.#book(way, { node, kind, bytes });
  }

  get nodes(): ReadonlyMap<NodeId, TrafficSums> {
    return this.#nodes;
  }

  /** Of all nodes. */
  get total(): TrafficSums {
    return this.#total;
  }

  /** Both ways, since it was last asked. */
  takeMoved(): Record<ByteKind, number> {
    const moved = noBytes();
    for (const kind of byteKinds) {
      const all = bytesOf(this.#total, kind);
      moved[kind] = all - this.#taken[kind];
      this.#taken[kind] = all;
    }
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

/** Both directions. */
export function bytesOf({ received, sent }: TrafficSums, kind: ByteKind): number {
  return received[kind] + sent[kind];
}

/** What a boundary would cost with uncompressed bf16 activations. */
export function bf16BytesPerToken(config: RunConfig): number {
  return 2 * config.model.width;
}
