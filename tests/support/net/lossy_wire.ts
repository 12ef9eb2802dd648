/**
 * A network that misbehaves in virtual time: wires between nodes and one orchestrator, for simulations.
 *
 * Owns: latency, jitter and bandwidth; what may happen to a frame (lost, repeated, overtaken, damaged) and to a link (broken,
 * half-open, deaf one way, stalled, refused), and the time the orchestrator's one thread needs. A real socket never loses frames in
 * silence: those faults ask whether damage is noticed. Invariants: the wire's contract (net/links/wire.ts): no handler is called from
 * inside a call on its wire, `closed` comes once and last; everything is drawn from one stream, so a seed replays it.
 */

import { assert } from "../../../core/assert.ts";
import { nextBelow, nextUint32, type Stream } from "../../../core/prng.ts";
import type { Timers } from "../../../net/timers.ts";
import type { Dial, Wire, WireHandler } from "../../../net/links/wire.ts";

/** Shares of all frames. */
export interface FrameFaults {
  readonly lost: number;
  readonly repeated: number;
  readonly overtaken: number;
  readonly damaged: number;
}

export const noFaults: FrameFaults = { lost: 0, repeated: 0, overtaken: 0, damaged: 0 };

export interface NetworkOptions {
  readonly timers: Timers;
  readonly stream: Stream;
  readonly latencyMs: number; // one way
  readonly jitterMs: number; // on top, at most
  readonly bytesPerMs: number; // of one direction of one link
  /** Null while no orchestrator listens. */
  readonly accept: (wire: Wire) => WireHandler | null;
  /** What the orchestrator's thread works for a new connection and for a frame. */
  readonly hubWork?: { readonly connectionMs: number; readonly frameMs: (bytes: Uint8Array) => number };
}

type Arrival = { readonly bytes: Uint8Array } | { readonly end: string };

const readPastPause = 2; // frames that a paused socket had already taken from the kernel

export class LossyNetwork {
  readonly #options: NetworkOptions;
  readonly links = new Set<Link>();
  faults: FrameFaults = noFaults;
  refusing = false; // dials fail
  dials = 0;
  refusals = 0; // connections that found no orchestrator
  #hubFreeAtMs = 0;

  constructor(options: NetworkOptions) {
    this.#options = options;
  }

  get latencyAtMostMs(): number {
    return this.#options.latencyMs + this.#options.jitterMs;
  }

  /** What `owner` dials with. */
  dialFor(owner: number): Dial {
    return (_url, handler) => {
      this.dials++;
      const link = new Link(this, owner);
      link.nodeEnd.report(handler);
      this.after(this.delayMs(), () => this.#reach(link));
      return link.nodeEnd;
    };
  }

  linksOf(owner: number): Link[] {
    return [...this.links].filter((link) => link.owner === owner);
  }

  /** The processes of these ends are gone: there is no goodbye, and frames that still arrive are answered with a reset. */
  crash(ends: readonly LossyEnd[]): void {
    for (const end of ends) end.vanish();
  }

  after(delayMs: number, task: () => void): void {
    this.#options.timers.after(delayMs, task);
  }

  nowMs(): number {
    return this.#options.timers.nowMs();
  }

  delayMs(): number {
    return this.#options.latencyMs + this.#options.jitterMs * this.chance();
  }

  transmissionMs(bytes: number): number {
    return bytes / this.#options.bytesPerMs;
  }

  chance(): number {
    return nextUint32(this.#options.stream) / 2 ** 32;
  }

  below(count: number): number {
    return nextBelow(this.#options.stream, count);
  }

  /** Runs when the orchestrator's thread gets to it. */
  onHub(arrival: "connection" | Arrival, task: () => void): void {
    const work = this.#options.hubWork;
    if (work === undefined) return task();
    const costMs = arrival === "connection" ? work.connectionMs : "bytes" in arrival ? work.frameMs(arrival.bytes) : 0;
    this.#hubFreeAtMs = Math.max(this.#hubFreeAtMs, this.nowMs()) + costMs;
    this.after(this.#hubFreeAtMs - this.nowMs(), task);
  }

  #reach(link: Link): void {
    if (link.nodeEnd.isClosed) return;
    this.onHub("connection", () => {
      if (link.nodeEnd.isClosed) return;
      const handler = this.refusing ? null : this.#options.accept(link.hubEnd);
      if (handler === null) {
        this.refusals++;
        link.hubEnd.vanish();
        this.after(this.delayMs(), () => link.nodeEnd.hangUp("refused"));
        return;
      }
      this.links.add(link);
      link.hubEnd.report(handler);
    });
  }
}

export class Link {
  readonly owner: number;
  readonly nodeEnd: LossyEnd;
  readonly hubEnd: LossyEnd;

  constructor(network: LossyNetwork, owner: number) {
    this.owner = owner;
    this.nodeEnd = new LossyEnd(network, { isHub: false, onClosed: () => this.#forgetIn(network) });
    this.hubEnd = new LossyEnd(network, { isHub: true, onClosed: () => this.#forgetIn(network) });
    this.nodeEnd.join(this.hubEnd);
    this.hubEnd.join(this.nodeEnd);
  }

  get ends(): readonly LossyEnd[] {
    return [this.nodeEnd, this.hubEnd];
  }

  /** Both sides learn of it. */
  break(): void {
    for (const end of this.ends) end.hangUp("broken");
  }

  #forgetIn(network: LossyNetwork): void {
    if (this.ends.every((end) => end.isClosed)) network.links.delete(this);
  }
}

interface EndRole {
  readonly isHub: boolean;
  readonly onClosed: () => void;
}

export class LossyEnd implements Wire {
  readonly bufferedBytes = 0; // frames are copied
  readonly #network: LossyNetwork;
  readonly #role: EndRole;
  #other!: LossyEnd;
  #handler: WireHandler | null = null;
  #arrivals: Arrival[] = [];
  #freeAtMs = 0; // when the last frame we sent has left
  #arrivedAtMs = 0; // when the last frame towards us will have come
  #paused = false;
  #readWhilePaused = 0;
  #closed = false;
  /** Since when nothing arrives here any more, though the link looks healthy; null: it does. */
  deafSinceMs: number | null = null;

  constructor(network: LossyNetwork, role: EndRole) {
    this.#network = network;
    this.#role = role;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  get isPaused(): boolean {
    return this.#paused;
  }

  join(other: LossyEnd): void {
    this.#other = other;
  }

  report(handler: WireHandler): void {
    this.#handler = handler;
    this.#network.after(0, () => this.#deliver());
  }

  send(frame: Uint8Array): void {
    if (!this.#closed) this.#other.#approach({ bytes: frame.slice() }, this.#leave(frame.length));
  }

  close(reason: string): void {
    if (this.#closed) return;
    this.#other.#approach({ end: reason }, this.#leave(0));
    this.hangUp(reason);
  }

  pause(): void {
    this.#paused = true;
    this.#readWhilePaused = 0;
  }

  resume(): void {
    this.#paused = false;
    if (this.deafSinceMs !== null) this.deafSinceMs = this.#network.nowMs(); // it starts to listen now
    this.#network.after(0, () => this.#deliver());
  }

  /** This side learns that the link is over. */
  hangUp(reason: string): void {
    if (this.#closed) return;
    this.vanish();
    this.#network.after(0, () => this.#handler?.closed(reason));
  }

  /** This side ends without either side learning it. */
  vanish(): void {
    this.#closed = true;
    this.#arrivals = [];
    this.#role.onClosed();
  }

  /** From now on nothing arrives here; what is on the way is lost too. */
  deafen(): void {
    this.deafSinceMs ??= this.#network.nowMs();
  }

  /** What is sent from now on does not arrive before. */
  stallUntil(atMs: number): void {
    this.#arrivedAtMs = Math.max(this.#arrivedAtMs, atMs);
  }

  #leave(bytes: number): number {
    const network = this.#network;
    this.#freeAtMs = Math.max(this.#freeAtMs, network.nowMs()) + network.transmissionMs(bytes);
    return this.#freeAtMs;
  }

  /** Draws what happens to a frame between the ends; ends of links are never lost, only deaf ears miss them. */
  #approach(arrival: Arrival, leavesAtMs: number): void {
    const network = this.#network;
    const { lost, repeated, overtaken, damaged } = network.faults;
    if ("end" in arrival) return this.#schedule(arrival, leavesAtMs);
    if (network.chance() < lost) return;
    if (network.chance() < damaged) this.#damage(arrival.bytes);
    if (network.chance() < overtaken) {
      network.after(leavesAtMs + 4 * network.delayMs() - network.nowMs(), () => this.#arrive(arrival));
    } else this.#schedule(arrival, leavesAtMs);
    if (network.chance() < repeated) this.#schedule({ bytes: arrival.bytes.slice() }, leavesAtMs);
  }

  #schedule(arrival: Arrival, leavesAtMs: number): void {
    const network = this.#network;
    this.#arrivedAtMs = Math.max(this.#arrivedAtMs, leavesAtMs + network.delayMs());
    network.after(this.#arrivedAtMs - network.nowMs(), () => this.#arrive(arrival));
  }

  #damage(bytes: Uint8Array): void {
    for (let count = 1 + this.#network.below(3); count > 0; count--) {
      bytes[this.#network.below(bytes.length)]! ^= 1 + this.#network.below(255);
    }
  }

  #arrive(arrival: Arrival): void {
    if (this.deafSinceMs !== null) return;
    if (this.#closed) {
      if ("bytes" in arrival) this.#reset();
      return;
    }
    if (!this.#role.isHub) return this.#take(arrival);
    this.#network.onHub(arrival, () => this.#take(arrival));
  }

  #reset(): void {
    const other = this.#other;
    if (other.deafSinceMs === null) this.#network.after(this.#network.delayMs(), () => other.hangUp("reset"));
  }

  #take(arrival: Arrival): void {
    if (this.#closed) return;
    this.#arrivals.push(arrival);
    this.#deliver();
  }

  #deliver(): void {
    while (this.#handler !== null && this.#arrivals.length > 0) {
      if (this.#paused && this.#readWhilePaused++ >= readPastPause) return;
      const arrival = this.#arrivals.shift()!;
      if ("bytes" in arrival) this.#handler.frame(arrival.bytes);
      else {
        assert(!this.#closed, "A wire ends once");
        this.vanish();
        return this.#handler.closed(arrival.end);
      }
    }
  }
}
