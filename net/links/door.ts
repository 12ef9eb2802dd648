/**
 * What a connection may cost before it has proven a node: little memory, little time, and its place is anybody's.
 *
 * Owns: the table of strangers. A connection is one from its first byte until its hello is proven, or, over HTTP, at all times
 * but while a proven request is being answered. A stranger has `helloMs` for each thing it begins (a request's head, an upgrade
 * with its hello, an answer), may send a hello's bytes on a WebSocket and no more, and few requests at once. Refuses: proofs
 * (hub.ts, request_auth.ts say `trust`), HTTP and WebSockets. Invariants: at most `strangers` of them, shared out by
 * `Crowd`; whom there is no room for is told so and closed, never left waiting.
 */

import type { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Crowd, originOf } from "./crowd.ts";
import type { NetLimits } from "../limits.ts";
import type { Cancel, Timers } from "../timers.ts";

export type DoorLimits = Pick<
  NetLimits,
  "strangers" | "crowdedMs" | "helloMs" | "helloBytes" | "strangerReads" | "requestsAtOnce"
>;

interface Caller {
  readonly socket: Socket;
  readonly origin: string;
  cancel: Cancel; // of its patience; runs while it is a stranger
  requests: number; // begun and not answered
  isTurnedAway: boolean;
}

const busy = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

/** Two hellos, as the second one answers a ticket that is of no use; each with WebSocket's own bytes; a ping or two. */
const helloRoom = (limits: DoorLimits): number => 2 * limits.helloBytes + 1024;

function sayBusy(socket: Socket): void {
  socket.end(busy);
  socket.destroySoon();
}

/** Of those there is no room for: how many wait to be told, and how long. */
const mostTurnedAway = 64;
const turnedAwayMs = 500;

/** However few descriptors there are. */
const fewestStrangers = 16;

/** For whoever was refused: the time to hear why. */
const goodbyeMs = 2_500;

export class Door {
  readonly #limits: DoorLimits;
  readonly #timers: Timers;
  readonly #strangers: Crowd<Caller>;
  readonly #callers = new Map<Socket, Caller>();
  readonly #mostConnections: number; // of strangers and nodes together
  #turnedAway = 0; // and not closed yet
  #mostStrangers: number; // fewer than the limit after descriptors ran out

  constructor(options: { limits: DoorLimits; timers: Timers; mostConnections: number }) {
    const { limits, timers, mostConnections } = options;
    this.#limits = limits;
    this.#timers = timers;
    this.#mostConnections = mostConnections;
    this.#mostStrangers = limits.strangers;
    this.#strangers = new Crowd({ most: limits.strangers, shortestMs: limits.crowdedMs });
  }

  get connections(): number {
    return this.#callers.size;
  }

  get strangers(): number {
    return this.#strangers.size;
  }

  /** As many as there are let in now. */
  get mostStrangers(): number {
    const nodes = this.#callers.size - this.#strangers.size;
    return Math.max(fewestStrangers, Math.min(this.#mostStrangers, this.#mostConnections - nodes));
  }

  /** A new connection. */
  enter(socket: Socket): void {
    const origin = originOf(socket.remoteAddress);
    const caller: Caller = { socket, origin, cancel: () => {}, requests: 0, isTurnedAway: false };
    this.#callers.set(socket, caller);
    socket.on("close", () => {
      this.#callers.delete(socket);
      this.#leaveCrowd(caller);
    });
    socket.on("error", () => socket.destroy());
    this.#joinCrowd(caller);
  }

  /** False: not to be answered; its connection is closed. */
  takesRequest(request: IncomingMessage, response: ServerResponse): boolean {
    const caller = this.#callers.get(request.socket);
    if (caller?.isTurnedAway) {
      sayBusy(caller.socket);
      return false;
    }
    if (caller === undefined || ++caller.requests > this.#limits.requestsAtOnce) {
      request.socket.destroy();
      return false;
    }
    this.#waitFor(caller, this.#limits.helloMs);
    response.on("close", () => {
      caller.requests--;
      if (!request.complete) return this.#sendOff(caller);
      if (this.#strangers.has(caller)) this.#waitFor(caller, this.#limits.helloMs);
      else if (this.#callers.has(caller.socket)) this.#joinCrowd(caller);
    });
    return true;
  }

  /** The request under way on this connection is a node's. */
  trust(socket: Socket): void {
    const caller = this.#callers.get(socket);
    if (caller !== undefined && !caller.isTurnedAway) this.#leaveCrowd(caller);
  }

  /** A connection that becomes a WebSocket: null if it may not and was closed, else its origin and the end of the limits for strangers. */
  takesUpgrade(socket: Socket): { readonly origin: string; readonly trust: () => void } | null {
    const caller = this.#callers.get(socket);
    if (caller === undefined || caller.isTurnedAway || caller.requests > 0) {
      sayBusy(socket);
      return null;
    }
    this.#waitFor(caller, this.#limits.helloMs + goodbyeMs);
    const stopCounting = this.#countBytes(socket);
    const trust = () => {
      stopCounting();
      this.#leaveCrowd(caller);
    };
    return { origin: caller.origin, trust };
  }

  /** There are no descriptors left: a quarter of the strangers go, and so many fewer are let in for now. How many went. */
  shed(): number {
    const gone = this.#strangers.take(Math.ceil(this.#strangers.size / 4));
    this.#mostStrangers = Math.max(fewestStrangers, this.#strangers.size);
    for (const caller of gone) this.#close(caller);
    return gone.length;
  }

  /** Lets more strangers in again, after `shed`. */
  ease(): void {
    this.#mostStrangers = Math.min(this.#limits.strangers, this.#mostStrangers + Math.ceil(this.#mostStrangers / 32));
  }

  close(): void {
    for (const caller of this.#callers.values()) this.#close(caller);
  }

  #joinCrowd(caller: Caller): void {
    this.#strangers.most = this.mostStrangers;
    const entry = this.#strangers.add(caller, { origin: caller.origin, nowMs: this.#timers.steadyMs() });
    if (entry.type === "refused") return this.#turnAway(caller);
    if (entry.dropped !== null) this.#close(entry.dropped);
    this.#waitFor(caller, this.#limits.helloMs);
  }

  #leaveCrowd(caller: Caller): void {
    caller.cancel();
    this.#strangers.remove(caller);
  }

  #waitFor(caller: Caller, patienceMs: number): void {
    caller.cancel();
    caller.cancel = this.#timers.after(patienceMs, () => this.#close(caller));
  }

  /** Its request was answered before its body had come. The rest is not read, and to close at once would take the answer back. */
  #sendOff(caller: Caller): void {
    if (!this.#callers.has(caller.socket)) return;
    caller.isTurnedAway = true;
    caller.socket.pause();
    this.#waitFor(caller, goodbyeMs);
  }

  /** It is told so when it asks, as what is sent before that may be lost with the connection. */
  #turnAway(caller: Caller): void {
    caller.isTurnedAway = true;
    const isShort = this.#mostStrangers < this.#limits.strangers; // of descriptors: no word is worth one
    if (isShort || this.#turnedAway >= mostTurnedAway) return this.#close(caller);
    this.#turnedAway++;
    caller.socket.on("close", () => this.#turnedAway--);
    this.#waitFor(caller, turnedAwayMs);
  }

  #close(caller: Caller): void {
    this.#leaveCrowd(caller);
    caller.socket.destroy();
  }

  /**
   * Below the WebSocket, which would keep what it needs to put together the largest message of a run. Pieces count too, as each
   * one costs some hundred bytes, however small.
   */
  #countBytes(socket: Socket): () => void {
    let bytes = 0;
    let reads = 0;
    const count = (chunk: Buffer) => {
      bytes += chunk.length;
      if (++reads > this.#limits.strangerReads || bytes > helloRoom(this.#limits)) socket.destroy();
    };
    socket.prependListener("data", count);
    return () => void socket.off("data", count);
  }
}
