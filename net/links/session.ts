/**
 * Exactly-once, ordered delivery over links that break: one side's numbers, acknowledgements and outbox.
 *
 * Sequences start at 1 and have no gaps. At most `windowBytes` plus one frame are sent and unacknowledged; the outbox
 * never holds more than `outboxBytes`. A frame's memory is reused only if a single link had it and has finished sending
 * it: otherwise a peer that acknowledges too early would be sent the memory's next content.
 */

import { assert } from "../../core/assert.ts";
import { type Parsed, parsed, refused } from "../../core/fault.ts";
import { encodeFrame, type Frame, type Segment, segmentBytes, setAcknowledged } from "../messages/frame.ts";
import type { FrameMemory } from "../messages/frame_memory.ts";
import type { NetLimits } from "../limits.ts";

type SessionLimits = Pick<
  NetLimits,
  "frameBytes" | "headerBytes" | "segments" | "outboxBytes" | "windowBytes" | "ackEveryBytes" | "ackEveryMessages"
>;

interface SessionOptions {
  readonly limits: SessionLimits;
  readonly memory: FrameMemory;
  readonly bufferedBytes: () => number;
}

/** `repeated`: seen before. */
export type Receipt = "delivered" | "repeated" | "acknowledgement";

const lastSequence = 0xffff_ffff;

export class Session {
  #limits: SessionLimits;
  readonly #memory: FrameMemory;
  readonly #bufferedBytes: () => number;
  /** Frames acknowledged+1 … next-1, oldest first; those before `#unsent` are on the link. */
  #outbox: Uint8Array[] = [];
  #outboxBytes = 0;
  #unsent = 0;
  #inFlightBytes = 0;
  #acknowledged = 0; // ours, by the other side
  #sent = 0; // our highest ever given to a link
  #sentBefore = 0; // our highest given to an earlier link
  #received = 0;
  #overflowed = false;
  #owedBytes = 0; // received since the last acknowledgement was sent
  #owedMessages = 0;

  constructor({ limits, memory, bufferedBytes }: SessionOptions) {
    this.#limits = limits;
    this.#memory = memory;
    this.#bufferedBytes = bufferedBytes;
  }

  get received(): number {
    return this.#received;
  }

  get overflowed(): boolean {
    return this.#overflowed;
  }

  get outboxBytes(): number {
    return this.#outboxBytes;
  }

  lowerLimits(limits: Pick<SessionLimits, "frameBytes" | "headerBytes">): void {
    this.#limits = { ...this.#limits, ...limits };
  }

  /** Returns the size on the wire. A refused message leaves no trace. */
  enqueue(header: unknown, segments: readonly Segment[]): Parsed<number> {
    const sequence = this.#acknowledged + this.#outbox.length + 1;
    const payloadBytes = segments.reduce((sum, segment) => sum + segmentBytes(segment).length, 0);
    if (payloadBytes > this.#limits.frameBytes) return this.#tooLarge(payloadBytes);
    if (segments.length > this.#limits.segments) {
      return refused(
        "limitExceeded",
        `Cannot send a message: 'segments' must be at most ${this.#limits.segments}, and is ${segments.length}`,
      );
    }
    if (sequence > lastSequence) {
      return refused("limitExceeded", "Cannot send a message: this session has used its 2^32 numbers");
    }
    const frame = encodeFrame({ header, segments, sequence }, (bytes) => this.#memory.take(bytes));
    if (frame.length > this.#limits.frameBytes) return this.#tooLarge(frame.length);
    const headerBytes = new DataView(frame.buffer, frame.byteOffset).getUint32(8, true);
    if (headerBytes > this.#limits.headerBytes) {
      return refused(
        "limitExceeded",
        `Cannot send a message: 'headerBytes' must be at most ${this.#limits.headerBytes}, and is ${headerBytes}`,
      );
    }
    if (this.#outboxBytes + frame.length > this.#limits.outboxBytes) {
      this.#overflowed = true;
      return refused(
        "limitExceeded",
        `Cannot keep a message: 'outboxBytes' must be at most ${this.#limits.outboxBytes}, and would be ${
          this.#outboxBytes + frame.length
        }; the other side reads too slowly or is away`,
      );
    }
    this.#outbox.push(frame);
    this.#outboxBytes += frame.length;
    return parsed(frame.length);
  }

  /** Null: nothing is left, or the window is full. */
  takeFrame(): Uint8Array | null {
    const frame = this.#outbox[this.#unsent];
    if (frame === undefined || this.#inFlightBytes >= this.#limits.windowBytes) return null;
    this.#unsent++;
    this.#sent = Math.max(this.#sent, this.#acknowledged + this.#unsent);
    this.#inFlightBytes += frame.length;
    setAcknowledged(frame, this.#received);
    this.#owedBytes = this.#owedMessages = 0;
    return frame;
  }

  /**
   * Null: too little was received; `always` at a heartbeat. It says how much was sent before it, so that a lost last
   * message is detected within a heartbeat.
   */
  takeAcknowledgement(always = false): Uint8Array | null {
    const due = this.#owedBytes >= this.#limits.ackEveryBytes || this.#owedMessages >= this.#limits.ackEveryMessages;
    if (!due && !always) return null;
    this.#owedBytes = this.#owedMessages = 0;
    return encodeFrame({ header: null, acknowledged: this.#received, sequence: this.#acknowledged + this.#unsent });
  }

  /** A fault means that the link cannot be trusted; resuming on a new one fixes a gap. */
  receive(frame: Pick<Frame, "header" | "sequence" | "acknowledged">, frameBytes: number): Parsed<Receipt> {
    const acknowledged = this.#acceptAcknowledged(frame.acknowledged);
    if (!acknowledged.ok) return acknowledged;
    if (frame.header === null) {
      if (frame.sequence <= this.#received) return parsed("acknowledgement");
      const detail = `${frame.sequence} messages were sent on this link, but ${this.#received} arrived`;
      return refused("malformedFrame", detail);
    }
    if (frame.sequence === 0) return refused("malformedFrame", "The message has no number");
    if (frame.sequence <= this.#received) return parsed("repeated");
    if (frame.sequence !== this.#received + 1) {
      return refused("malformedFrame", `Message ${frame.sequence} arrived instead of ${this.#received + 1}`);
    }
    this.#received++;
    this.#owedBytes += frameBytes;
    this.#owedMessages++;
    return parsed("delivered");
  }

  /** Whether the other side can have received that many of ours. */
  canResume(received: number): boolean {
    return received >= this.#acknowledged && received <= this.#sent;
  }

  /** On a new link: all frames after the other side's `received` are sent again. */
  resume(received: number): void {
    assert(this.canResume(received), "a session resumes at a count that both sides can have reached");
    this.#sentBefore = this.#sent;
    this.#unsent = this.#sent - this.#acknowledged; // the other side may have anything given to an earlier link
    this.#acceptAcknowledged(received);
    this.#unsent = 0;
    this.#inFlightBytes = 0;
  }

  assertInvariants(): void {
    const bytes = this.#outbox.reduce((sum, frame) => sum + frame.length, 0);
    assert(bytes === this.#outboxBytes, "outboxBytes is the sum of the frames");
    assert(bytes <= this.#limits.outboxBytes, "the outbox stays within its limit");
    assert(this.#unsent <= this.#outbox.length, "a session sends only frames that it holds");
    const inFlight = this.#outbox.slice(0, this.#unsent).reduce((sum, frame) => sum + frame.length, 0);
    assert(inFlight === this.#inFlightBytes, "inFlightBytes is the sum of the sent frames");
  }

  #tooLarge(bytes: number): Parsed<never> {
    return refused(
      "limitExceeded",
      `Cannot send a message: 'frameBytes' must be at most ${this.#limits.frameBytes}, and is ${bytes}; send it as a blob`,
    );
  }

  #acceptAcknowledged(acknowledged: number): Parsed<null> {
    const count = acknowledged - this.#acknowledged;
    if (count <= 0) return parsed(null); // older than the known count, as on a repeated frame
    if (count > this.#unsent) {
      return refused(
        "malformedFrame",
        `Message ${acknowledged} was acknowledged, but ${this.#acknowledged + this.#unsent} was the last one sent`,
      );
    }
    const frames = this.#outbox.splice(0, count);
    const bytes = frames.reduce((sum, frame) => sum + frame.length, 0);
    this.#outboxBytes -= bytes;
    this.#inFlightBytes -= bytes;
    const isFlushed = this.#bufferedBytes() <= this.#inFlightBytes; // the buffered bytes were sent after these
    for (const frame of frames) {
      if (++this.#acknowledged > this.#sentBefore && isFlushed) this.#memory.giveBack(frame);
    }
    this.#unsent -= count;
    return parsed(null);
  }
}
