/**
 * A miner's or validator's end of its one link. It redials until the orchestrator permanently refuses it or `close` is
 * called; after that nothing is sent, dialled or reported.
 */

import { assert } from "../../core/assert.ts";
import { type Fault, fault, type FaultCode, type Parsed, refused } from "../../core/fault.ts";
import { Channel } from "./channel.ts";
import { decodeFrame, encodeFrame, type Segment } from "../messages/frame.ts";
import { compareClocks } from "../auth/clocks.ts";
import { linkMacs } from "../auth/frame_mac.ts";
import { FrameMemory } from "../messages/frame_memory.ts";
import {
  answerChallenge,
  type Challenger,
  challengerOf,
  checkAccept,
  type Greeting,
  isChallenge,
  type NodeIdentity,
  processOf,
  readRefusal,
} from "../auth/hello.ts";
import type { Accept } from "../auth/hello_records.ts";
import type { HeldTicket } from "../auth/ticket.ts";
import { type Cancel, every } from "../timers.ts";
import type { NodeEvent, NodeOptions, NodeTransport } from "./transport.ts";
import type { Dial, Wire } from "./wire.ts";

/**
 * The wait is drawn from the upper half of a bound that doubles from the first to the longest. The longest is 4 s,
 * because it decides when the last node is back after an orchestrator was away for a minute: 5,000 nodes in 4.3 s of
 * virtual time, against 5.2 s with 5 s and 30 s with 30 s (tests/sim/reconnect_sim_test.ts).
 */
const firstRetryMs = 500;
const longestRetryMs = 4_000;

/**
 * After a link this long (twice the longest wait) the waits start over. After a shorter one they keep growing, so that
 * a repeatedly dismissed node does not return at once each time.
 */
const lastingMs = 8_000;

/** After the first few dismissals by the orchestrator a node's waits grow to a minute. */
const freeExits = 3;
const longestRejoinMs = 60_000;

export const finalCodes: ReadonlySet<FaultCode> = new Set<FaultCode>([
  ...["versionMismatch", "unauthenticated", "notAdmitted", "tooLarge"] as const,
]);

type Phase =
  | { readonly type: "idle" }
  | { readonly type: "challenged" } // dialled; the orchestrator speaks first
  | { readonly type: "greeted"; readonly greeting: Greeting }
  | { readonly type: "connected" }
  | { readonly type: "closed" };

export class Node<In, Out> implements NodeTransport<Out> {
  readonly #options: NodeOptions<In>;
  #identity: NodeIdentity; // with the orchestrator of the first contact
  #hasMetHub = false;
  readonly #dial: Dial;
  readonly #memory = new FrameMemory();
  readonly #process: string;
  #phase: Phase = { type: "idle" };
  #wire: Wire | null = null;
  #session: string | null = null;
  #ticket: HeldTicket | null = null; // null: the next hello is signed
  #signAgainAtMs = Infinity; // monotonic
  #channel: Channel<In>;
  #paused = false;
  #attempt = 0;
  #waits = 0; // in a row without a link that lasted
  #exits = 0; // sessions that the orchestrator ended, in a row without a link that lasted
  #helloAtMs = 0; // monotonic
  #connectedAtMs: number | null = null;
  #cancelTimer: Cancel = () => {};

  constructor(options: NodeOptions<In>, dial: Dial) {
    this.#options = options;
    this.#identity = options.identity;
    this.#process = processOf(options.random);
    this.#dial = dial;
    this.#channel = this.#createChannel();
  }

  connect(): void {
    assert(this.#phase.type === "idle" && this.#wire === null, "A node connects once");
    this.#open();
  }

  send(message: Out, segments: readonly Segment[] = []): Parsed<number> {
    if (this.#phase.type === "closed") return refused("notAdmitted", "Cannot send a message: this link is closed");
    const bytes = this.#channel.send(message, segments);
    if (!bytes.ok && this.#channel.overflowed) this.#restart(bytes.fault);
    return bytes;
  }

  pause(): void {
    this.#paused = true;
    this.#channel.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#channel.resume();
  }

  outboxBytes(): number {
    return this.#channel.outboxBytes;
  }

  close(reason: string): void {
    this.#phase = { type: "closed" };
    this.#release(reason);
  }

  #emit(event: NodeEvent<In>): void {
    this.#options.onEvent(event);
  }

  #createChannel(): Channel<In> {
    const { limits, read } = this.#options;
    const channel: Channel<In> = new Channel<In>({
      limits,
      memory: this.#memory,
      read,
      onMessage: (received) => this.#emit({ type: "message", ...received }),
      onRefusedMessage: (reason) => this.#emit({ type: "fault", fault: reason }),
      onControl: (header) => this.#takeControl(header, channel),
      onDamaged: (reason) => this.#disconnected(reason.detail),
      onBroken: (reason) => this.#restart(reason),
    });
    if (this.#paused) channel.pause();
    return channel;
  }

  #open(): void {
    const { url, timers, limits } = this.#options;
    this.#phase = { type: "challenged" };
    const wire: Wire = this.#dial(url, {
      opened: () => {},
      frame: (bytes) => this.#wire === wire && this.#frame(bytes),
      closed: (reason, cure) => this.#wire === wire && this.#disconnected(reason, { cure: cure ?? null }),
    });
    this.#wire = wire;
    this.#cancelTimer = timers.after(limits.helloMs, () => {
      this.#disconnected(`no answer within ${limits.helloMs} ms`);
    });
  }

  #frame(bytes: Uint8Array): void {
    if (this.#phase.type === "connected") return this.#channel.frame(bytes);
    const { limits } = this.#options;
    const frame = decodeFrame(bytes, { ...limits, frameBytes: limits.helloBytes });
    if (!frame.ok) return this.#disconnected(frame.fault.detail);
    const header = frame.value.header;
    if (this.#phase.type === "challenged") this.#takeChallenge(header);
    else if (this.#phase.type === "greeted") this.#takeAnswer(header, this.#phase.greeting);
  }

  #takeChallenge(header: unknown): void {
    const { random, timers } = this.#options;
    const refusal = readRefusal(header);
    if (refusal !== null) return this.#refused(refusal);
    const resume = this.#session === null ? null : { session: this.#session, received: this.#channel.received };
    const nowMs = timers.nowMs();
    this.#helloAtMs = timers.steadyMs();
    const from = { identity: this.#identity, resume, ticket: this.#ticket, random, nowMs, process: this.#process };
    const greeting = answerChallenge(header, from);
    if (!greeting.ok) return this.#distrust(greeting.fault, challengerOf(header));
    this.#phase = { type: "greeted", greeting: greeting.value };
    this.#wire?.send(encodeFrame({ header: greeting.value.hello }));
  }

  /** Any answer that does not prove the ticket's secret invalidates the ticket, even if it is an impostor's. */
  #takeAnswer(header: unknown, greeting: Greeting): void {
    const isTicketRefused = greeting.hello.proof.type === "ticket" && isChallenge(header);
    const answer = isTicketRefused ? null : checkAccept(header, { greeting, verify: this.#options.verify });
    if (answer?.ok) return this.#takeAccept(answer.value, greeting);
    const isRefusal = readRefusal(header) !== null;
    if (!isRefusal) this.#ticket = null;
    if (answer === null) this.#takeChallenge(header);
    else if (isRefusal) this.#refused(answer.fault);
    else this.#distrust(answer.fault);
  }

  #takeAccept({ accept, ticket }: { accept: Accept; ticket: HeldTicket }, { hello }: Greeting): void {
    const { timers } = this.#options;
    const tookMs = timers.steadyMs() - this.#helloAtMs;
    const clock = compareClocks({ theirsMs: accept.timeMs, oursMs: timers.nowMs(), tookMs });
    this.#hold(ticket);
    const resumed = this.#fits(accept);
    if (accept.resumed && !resumed) {
      const detail = "Cannot resume the session: the orchestrator's count of messages does not match";
      return this.#restart(fault("malformedFrame", detail));
    }
    if (!resumed && this.#session !== null) {
      this.#forget(
        fault("staleResult", "The orchestrator started a new session, as after a restart"),
      );
    }
    if (this.#wire === null) return; // closed by the application
    this.#session = accept.session;
    this.#phase = { type: "connected" };
    this.#attempt = 0;
    this.#connectedAtMs = timers.steadyMs();
    this.#beatInstead();
    const { hub, run } = hello;
    this.#identity = { ...this.#identity, hub }; // it may start another run, unless one was named
    this.#hasMetHub = true;
    this.#channel.lowerLimits(accept.limits);
    const macs = linkMacs({ secret: ticket.secret, claim: hello, side: "node" });
    this.#channel.attach(this.#wire, { macs, peerReceived: resumed ? accept.received : 0 });
    this.#emit({ type: "connected", hub, run, resumed, ticket, clock });
  }

  /**
   * A new ticket is used for half to three quarters of its lifetime: nodes that joined together do not sign together.
   */
  #hold(ticket: HeldTicket): void {
    if (ticket === this.#ticket) return;
    const { timers, random, limits } = this.#options;
    this.#ticket = ticket;
    this.#signAgainAtMs = timers.steadyMs() + limits.ticketMs * (0.5 + 0.25 * random.unit());
  }

  /**
   * The session continues on the next link. Without this, expired tickets would make an orchestrator's restart slow.
   */
  #signAgain(): void {
    this.#ticket = null;
    this.#signAgainAtMs = Infinity;
    this.#disconnected("this node's ticket is about to expire; signing again");
  }

  #fits(accept: Accept): boolean {
    return accept.resumed && accept.session === this.#session && this.#channel.canResume(accept.received);
  }

  #beatInstead(): void {
    const { timers, limits } = this.#options;
    this.#cancelTimer();
    this.#cancelTimer = every(timers, limits.heartbeatMs, () => {
      if (timers.steadyMs() >= this.#signAgainAtMs) return this.#signAgain();
      if (this.#channel.beat()) return;
      this.#disconnected(`no heartbeat for ${limits.heartbeatMs * limits.silentHeartbeats} ms`);
    });
  }

  /** A refusal on an established link ends the session; its code decides whether permanently. */
  #takeControl(header: unknown, channel: Channel<In>): void {
    const refusal = readRefusal(header);
    if (refusal === null) {
      channel.distrust(fault("malformedFrame", "An unnumbered header arrived after the hello"));
    } else if (finalCodes.has(refusal.code)) this.#refused(refusal);
    else {
      this.#exits++;
      this.#restart(refusal);
    }
  }

  /** A node that has met its orchestrator keeps trying, so that an impostor cannot stop it. */
  #distrust(reason: Fault, found: Challenger | null = null): void {
    if (this.#hasMetHub && reason.code === "unauthenticated") this.#disconnected(reason.detail, { found });
    else this.#refused(reason, found);
  }

  #refused(reason: Fault, found: Challenger | null = null): void {
    if (!finalCodes.has(reason.code)) return this.#disconnected(reason.detail);
    this.close(reason.detail);
    this.#emit({ type: "refused", fault: reason, found });
  }

  #restart(reason: Fault): void {
    this.#forget(reason);
    if (this.#wire !== null) this.#disconnected(reason.detail);
  }

  #forget(reason: Fault): void {
    this.#channel.detach();
    this.#channel = this.#createChannel();
    this.#session = null;
    this.#emit({ type: "sessionLost", fault: reason });
  }

  #disconnected(
    reason: string,
    { cure = null, found = null }: { cure?: string | null; found?: Challenger | null } = {},
  ): void {
    if (this.#phase.type === "closed") return;
    this.#phase = { type: "idle" };
    this.#release(reason);
    const { timers, random } = this.#options;
    const heldMs = this.#connectedAtMs === null ? 0 : timers.steadyMs() - this.#connectedAtMs;
    this.#connectedAtMs = null;
    if (heldMs >= lastingMs) this.#waits = this.#exits = 0;
    this.#attempt++;
    const mostMs = this.#exits > freeExits ? longestRejoinMs : longestRetryMs;
    const longestMs = Math.min(mostMs, firstRetryMs * 2 ** Math.min(this.#waits++, 16));
    const retryMs = Math.round(longestMs * (0.5 + 0.5 * random.unit()));
    this.#cancelTimer = timers.after(retryMs, () => this.#open());
    this.#emit({ type: "disconnected", reason, cure, found, attempt: this.#attempt, retryMs });
  }

  #release(reason: string): void {
    this.#cancelTimer();
    this.#channel.detach();
    const wire = this.#wire;
    this.#wire = null;
    wire?.close(reason);
  }
}
