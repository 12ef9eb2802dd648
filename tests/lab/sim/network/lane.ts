/**
 * One direction of a session: messages that the other side does not have yet, oldest first, across the links that carry
 * them.
 *
 * Owns order and sizes. A message leaves the lane when it is delivered, so one lost on a broken link is still here for
 * the next link.
 */

import type { BlobRef } from "../../../../core/ids.ts";
import type { Received } from "../../../../net/links/transport.ts";
import type { HubMessage, NodeMessage } from "../../../../core/protocol/message.ts";

export interface Letter {
  readonly message: HubMessage | NodeMessage;
  readonly segments: readonly BlobRef[];
  readonly bytes: number;
}

/**
 * As a transport delivers it. The network puts only orchestrator messages on a lane to a node, and node messages on one
 * to the orchestrator.
 */
export function receivedOf<In extends HubMessage | NodeMessage>(
  { message, segments, bytes }: Letter,
): Received<In, BlobRef> {
  return { message: message as In, segments, names: segments.map(({ hash }) => hash), bytes };
}

const compactAt = 64; // delivered letters at the front

export class Lane {
  #letters: Letter[] = [];
  #first = 0;
  #bytes = 0;
  freeAtMs = 0; // when the link's last byte leaves
  lastArrivalMs = 0; // nothing overtakes it
  isHeld = false; // a one-way partition: nothing arrives until the link breaks

  get bytes(): number {
    return this.#bytes;
  }

  get letters(): readonly Letter[] {
    return this.#first === 0 ? this.#letters : this.#letters.slice(this.#first);
  }

  push(letter: Letter): void {
    this.#letters.push(letter);
    this.#bytes += letter.bytes;
  }

  take(): Letter | undefined {
    const letter = this.#letters[this.#first];
    if (letter === undefined) return undefined;
    this.#first += 1;
    this.#bytes -= letter.bytes;
    if (this.#first === this.#letters.length || this.#first === compactAt) {
      this.#letters.splice(0, this.#first);
      this.#first = 0;
    }
    return letter;
  }

  /** A new link starts empty. */
  relink(nowMs: number): void {
    this.freeAtMs = nowMs;
    this.lastArrivalMs = nowMs;
    this.isHeld = false;
  }
}

const headerBytes = 160;
const refBytes = 80;

/** A message's size on the link: its header, the references it lists, its segments. */
export function letterOf(message: HubMessage | NodeMessage, segments: readonly BlobRef[]): Letter {
  let bytes = headerBytes + refBytes * listedRefs(message);
  for (const segment of segments) bytes += segment.bytes;
  return { message, segments, bytes };
}

function listedRefs(message: HubMessage | NodeMessage): number {
  switch (message.type) {
    case "startMerge":
    case "applyMerge":
    case "payloadCommitted":
      return message.slices.length;
    case "reduceSlice":
      return message.inputs.length;
    case "sealStep":
    case "cancelTasks":
      return message.tasks.length / 2;
    case "evaluate":
      return message.sources.length;
    case "welcome":
      return 32;
    default:
      return 0;
  }
}
