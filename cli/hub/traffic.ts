/**
 * Bytes on the socket for each token that crosses a stage boundary, framing included, as measured by the hub.
 *
 * A message counts once, when it arrives: results of forward tasks in one direction, wire gradients in the other.
 */

import type { RunConfig } from "../../core/config/config.ts";
import type { NodeMessage } from "../../core/protocol/message.ts";

interface Flow {
  bytes: number;
  tokens: number;
}

export class Traffic {
  readonly forward: Flow = { bytes: 0, tokens: 0 };
  readonly backward: Flow = { bytes: 0, tokens: 0 };
  readonly #tokensPerMicrobatch: number;

  constructor(config: RunConfig) {
    this.#tokensPerMicrobatch = config.train.sequencesPerMicrobatch * config.model.contextLength;
  }

  count(event: { message: NodeMessage; segments: readonly Uint8Array[]; bytes: number }): void {
    const { message, segments, bytes } = event;
    if (message.type !== "taskDone" || segments.length === 0) return;
    const flow = message.task.includes(".forward.") ? this.forward : this.backward;
    flow.bytes += bytes;
    flow.tokens += this.#tokensPerMicrobatch;
  }

  bytesPerToken(direction: "forward" | "backward"): number | null {
    const { bytes, tokens } = this[direction];
    return tokens === 0 ? null : bytes / tokens;
  }
}

/** What a boundary would cost with uncompressed bf16 activations. */
export function bf16BytesPerToken(config: RunConfig): number {
  return 2 * config.model.width;
}
