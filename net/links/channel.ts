/**
 * A session on its current wire, shared by both ends of a link. A frame without the other side's MAC leaves no trace.
 *
 * While paused, frames wait unread and unacknowledged, so the other side's window closes; more than a window of them is
 * a violation.
 */

import { assert } from "../../core/assert.ts";
import { type Fault, fault, type Parsed } from "../../core/fault.ts";
import { decodeFrame, encodeFrame, type FrameLimits, type Segment } from "../messages/frame.ts";
import type { LinkMacs } from "../auth/frame_mac.ts";
import type { FrameMemory } from "../messages/frame_memory.ts";
import type { AgreedLimits } from "../auth/hello_records.ts";
import type { NetLimits } from "../limits.ts";
import { Session } from "./session.ts";
import type { Read } from "../messages/schema_message.ts";
import type { Received } from "./transport.ts";
import type { Wire } from "./wire.ts";

interface ChannelOptions<In> {
  readonly limits: NetLimits;
  /** If lower than for outgoing ones. */
  readonly received?: Pick<FrameLimits, "headerBytes" | "headerValues">;
  readonly memory: FrameMemory;
  readonly read: Read<In>;
  onMessage(received: Received<In>): void;
  onRefusedMessage(fault: Fault): void;
  /** An unnumbered header, such as a refusal. */
  onControl(header: unknown): void;
  /** Frames were damaged or missing. Nothing more is read from this wire; the next one resumes the session. */
  onDamaged(fault: Fault): void;
  /** The other side violated the protocol: the session is over, and nothing more is read from it. */
  onBroken(fault: Fault): void;
}

const notTheirs = fault(
  "malformedFrame",
  "The frame's MAC is wrong: it was changed on the way or comes from someone else",
);

export class Channel<In> {
  readonly #options: ChannelOptions<In>;
  readonly #session: Session;
  #limits: NetLimits;
  #wire: Wire | null = null;
  #macs: LinkMacs | null = null;
  #inbox: Uint8Array[] = [];
  #inboxBytes = 0;
  #paused = false;
  #draining = false;
  #silentBeats = 0;
  #damagedLinks = 0; // in a row

  constructor(options: ChannelOptions<In>) {
    this.#options = options;
    this.#limits = options.limits;
    const { limits, memory } = options;
    this.#session = new Session({ limits, memory, bufferedBytes: () => this.#wire?.bufferedBytes ?? 0 });
  }

  get received(): number {
    return this.#session.received;
  }

  /** Whether the other side's claimed count is consistent with what was sent to it. */
  canResume(peerReceived: number): boolean {
    return this.#session.canResume(peerReceived);
  }

  get outboxBytes(): number {
    return this.#session.outboxBytes;
  }

  /** The session can no longer deliver everything. */
  get overflowed(): boolean {
    return this.#session.overflowed;
  }

  distrust(reason: Fault): void {
    this.#break(reason);
  }

  lowerLimits(agreed: AgreedLimits): void {
    const frameBytes = Math.min(this.#limits.frameBytes, agreed.frameBytes);
    const headerBytes = Math.min(this.#limits.headerBytes, agreed.headerBytes);
    this.#limits = { ...this.#limits, frameBytes, headerBytes };
    this.#session.lowerLimits({ frameBytes, headerBytes });
  }

  /** `canResume` must have returned true. `macs` are from this wire's hello. */
  attach(wire: Wire, { macs, peerReceived }: { macs: LinkMacs; peerReceived: number }): void {
    assert(this.#wire === null, "A channel is attached to one wire at a time");
    this.#session.resume(peerReceived);
    this.#wire = wire;
    this.#macs = macs;
    this.#silentBeats = 0;
    if (this.#paused) wire.pause();
    this.#pump();
  }

  /** Frames received but not handled will be sent again. */
  detach(): void {
    this.#wire = null;
    this.#macs = null;
    this.#inbox = [];
    this.#inboxBytes = 0;
  }

  send(message: unknown, segments: readonly Segment[]): Parsed<number> {
    const bytes = this.#session.enqueue(message, segments);
    if (bytes.ok) this.#pump();
    return bytes;
  }

  /** Sends an unnumbered header, which is never sent again. */
  sendControl(header: unknown): void {
    this.#put(encodeFrame({ header }));
  }

  pause(): void {
    this.#paused = true;
    this.#wire?.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#wire?.resume();
    this.#drain();
  }

  frame(bytes: Uint8Array): void {
    if (this.#macs === null) return; // from an abandoned wire
    if (!this.#macs.incoming.isSealed(bytes)) return this.#break(notTheirs);
    this.#silentBeats = 0;
    this.#inbox.push(bytes);
    this.#inboxBytes += bytes.length;
    const mostBytes = this.#limits.windowBytes + 2 * this.#limits.frameBytes;
    if (this.#inboxBytes > mostBytes) {
      const detail = `At most ${mostBytes} bytes may be sent without an acknowledgement`;
      this.#break(fault("limitExceeded", `${detail}, and ${this.#inboxBytes} were`));
    } else if (!this.#draining) this.#drain();
  }

  /** Once every `heartbeatMs`. False: the other side has been silent for too long. */
  beat(): boolean {
    if (this.#wire === null) return true;
    if (this.#paused) this.#silentBeats = 0; // a socket we do not read looks silent
    if (++this.#silentBeats > this.#limits.silentHeartbeats) return false;
    const acknowledgement = this.#session.takeAcknowledgement(true);
    if (acknowledgement !== null) this.#put(acknowledgement);
    return true;
  }

  /** Callbacks may pause, detach or send meanwhile. */
  #drain(): void {
    this.#draining = true;
    while (!this.#paused) {
      const bytes = this.#inbox.shift();
      if (bytes === undefined) break;
      this.#inboxBytes -= bytes.length;
      this.#handle(bytes);
    }
    this.#draining = false;
    this.#pump();
  }

  #handle(bytes: Uint8Array): void {
    const { read } = this.#options;
    const frame = decodeFrame(bytes, { ...this.#limits, ...this.#options.received });
    if (!frame.ok) return this.#break(frame.fault);
    const { header, segments, names, sequence } = frame.value;
    if (sequence === 0 && header !== null) return this.#options.onControl(header);
    const receipt = this.#session.receive(frame.value, bytes.length);
    if (!receipt.ok) return this.#break(receipt.fault);
    if (receipt.value !== "delivered") return;
    this.#damagedLinks = 0;
    const message = read(header, segments);
    if (message.ok) this.#options.onMessage({ message: message.value, segments, names, bytes: bytes.length });
    else this.#options.onRefusedMessage(message.fault);
  }

  /** A frame that is damaged on every link was damaged by the other side. */
  #break(reason: Fault): void {
    this.#inbox = [];
    this.#inboxBytes = 0;
    const isDamage = reason.code === "malformedFrame" && ++this.#damagedLinks < this.#limits.damagedLinks;
    if (!isDamage) this.#options.onBroken(reason); // the owner may still send the reason
    this.detach();
    if (isDamage) this.#options.onDamaged(reason);
  }

  #pump(): void {
    if (this.#wire === null) return;
    for (let frame = this.#session.takeFrame(); frame !== null; frame = this.#session.takeFrame()) {
      this.#put(frame);
    }
    const acknowledgement = this.#session.takeAcknowledgement();
    if (acknowledgement !== null) this.#put(acknowledgement);
  }

  #put(frame: Uint8Array): void {
    if (this.#wire === null || this.#macs === null) return;
    this.#macs.outgoing.seal(frame);
    this.#wire.send(frame);
  }
}
