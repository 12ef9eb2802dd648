/** The bytes of a message's attachments: held segments, and tokens generated from the dataset when sent. */

import { unreachable } from "../../core/assert.ts";
import type { RunConfig } from "../../core/config/config.ts";
import type { Attachment } from "../../core/orchestrator/event.ts";
import type { Segment } from "../../net/messages/frame.ts";
import type { Batch, BatchSource } from "../model/data/dataset.ts";
import type { ByteSegments } from "./segments.ts";

interface AttachmentsOptions {
  readonly config: RunConfig;
  readonly batches: BatchSource;
  readonly segments: ByteSegments;
}

export class Attachments {
  readonly #options: AttachmentsOptions;
  #heldOut: Batch | null = null;

  constructor(options: AttachmentsOptions) {
    this.#options = options;
  }

  segmentOf(attachment: Attachment): Segment {
    const { batches, segments } = this.#options;
    switch (attachment.type) {
      case "blob":
        return segments.named(attachment.ref);
      case "inputs":
        return bytesOfTokens(batches.tokensOf(attachment.microbatch).inputs);
      case "targets":
        return bytesOfTokens(batches.tokensOf(attachment.microbatch).targets);
      case "heldOutInputs":
        return bytesOfTokens(this.#heldOutBatch().inputs);
      case "heldOutTargets":
        return bytesOfTokens(this.#heldOutBatch().targets);
      default:
        return unreachable(attachment);
    }
  }

  #heldOutBatch(): Batch {
    const { batches, config } = this.#options;
    this.#heldOut ??= batches.heldOut(Math.min(config.validate.heldOutSequences, batches.heldOutWindows));
    return this.#heldOut;
  }
}

function bytesOfTokens(tokens: Uint32Array): Uint8Array {
  return new Uint8Array(tokens.buffer, tokens.byteOffset, tokens.byteLength);
}
