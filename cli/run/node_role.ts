/**
 * What miner and validator share: a link to the hub whose events feed a machine, and whose machine ends the role.
 *
 * Owns the translation between transport and machine events, holding received segments, and the end: `finished` resolves when
 * the machine finishes and rejects when the hub refuses this node for good or something of ours fails.
 */

import type { Fault } from "../../core/fault.ts";
import type { BlobRef } from "../../core/ids.ts";
import type { Machine } from "../../core/protocol/machine.ts";
import type { HubMessage, NodeMessage, Role } from "../../core/protocol/message.ts";
import type { NodeIdentity, Signer, Verify } from "../../net/hello.ts";
import type { NetLimits } from "../../net/limits.ts";
import { Node } from "../../net/node.ts";
import type { HeldTicket } from "../../net/ticket.ts";
import { readHubMessage } from "../../net/schema_hub.ts";
import type { Random, Timers } from "../../net/timers.ts";
import type { NodeEvent } from "../../net/transport.ts";
import type { Dial } from "../../net/wire.ts";
import { UserError } from "../errors.ts";
import { duration } from "../screen/format.ts";
import { Driver } from "./driver.ts";
import type { Pinned } from "./hub_pin.ts";
import { HubWait, type Waiting } from "./hub_wait.ts";
import { Segments } from "./segments.ts";

export interface NodeLink {
  readonly url: string; // ws://host:port
  readonly signer: Signer;
  readonly verify: Verify;
  readonly dial: Dial;
  readonly limits: NetLimits;
  readonly timers: Timers;
  readonly random: Random;
  /** Without a link for so long, the role ends at the next failed attempt; null: it waits for ever. */
  readonly giveUpAfterMs: number | null;
  /** The only hub and run that count; none: whichever is met first. */
  readonly pin?: Pinned;
  readonly onOffline: (text: string) => void;
  /** Now and then while there is no link. */
  readonly onWaiting: (waiting: Waiting) => void;
  /** Gets what proves requests to the hub, and which hub that is. */
  readonly onConnected: (ticket: HeldTicket) => void;
}

/** Events both node machines know. */
type LinkEvent =
  | { readonly type: "connected"; readonly resumed: boolean }
  | { readonly type: "disconnected" }
  | { readonly type: "messageReceived"; readonly message: HubMessage; readonly segments: readonly BlobRef[] }
  | { readonly type: "stopRequested"; readonly reason: string };

export interface Finished {
  readonly finished: boolean;
  readonly reason: string;
}

export interface NodeRoleOptions<State, Event, Effect> {
  readonly role: Role;
  readonly link: NodeLink;
  readonly machine: Machine<State, Event | LinkEvent, Effect>;
  readonly state: State;
  readonly perform: (effect: Effect) => void;
}

const inboxMessages = 4096;

export class NodeRole<State, Event, Effect> {
  readonly segments = new Segments();
  readonly finished: Promise<Finished>;
  readonly #driver: Driver<State, Event | LinkEvent, Effect>;
  readonly #node: Node<HubMessage, NodeMessage>;
  readonly #link: NodeLink;
  #resolve!: (finished: Finished) => void;
  #reject!: (error: unknown) => void;
  readonly #wait: HubWait;
  #hasLink = false;
  #hasSession = false; // between the loss of one and the join of the next nothing may be sent

  constructor({ role, link, machine, state, perform }: NodeRoleOptions<State, Event, Effect>) {
    this.#link = link;
    this.#wait = new HubWait({ giveUpAfterMs: link.giveUpAfterMs, nowMs: link.timers.steadyMs() });
    this.finished = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#driver = new Driver({
      machine,
      state,
      perform,
      tick: null,
      timers: link.timers,
      inboxMessages,
      onPressure: (isFull) => isFull ? this.#node.pause() : this.#node.resume(),
      onFailure: (error) => this.fail(error),
    });
    const { hub, run } = link.pin ?? { hub: null, run: null };
    const identity: NodeIdentity = { signer: link.signer, role, run, hub };
    this.#node = new Node<HubMessage, NodeMessage>({
      url: link.url,
      identity,
      verify: link.verify,
      read: readHubMessage,
      limits: link.limits,
      timers: link.timers,
      random: link.random,
      onEvent: (event) => this.#onNodeEvent(event),
    }, link.dial);
  }

  start(): void {
    this.#node.connect();
  }

  enqueue(event: Event | LinkEvent): void {
    this.#driver.enqueue(event);
  }

  send(message: NodeMessage, attachments: readonly BlobRef[] = []): void {
    if (!this.#hasSession) return;
    this.#node.send(message, attachments.map((ref) => this.segments.named(ref)));
  }

  /** The machine's last word: what was sent is still delivered, nothing more is taken. */
  finish(result: Finished): void {
    this.#driver.close();
    this.#node.close(result.reason);
    this.#resolve(result);
  }

  fail(error: unknown): void {
    this.#driver.close();
    this.#node.close("this node failed");
    this.#reject(error);
  }

  #onNodeEvent(event: NodeEvent<HubMessage>): void {
    switch (event.type) {
      case "connected":
        this.#hasLink = true;
        this.#hasSession = true;
        this.#link.onConnected(event.ticket);
        return this.#driver.enqueue({ type: "connected", resumed: event.resumed });
      case "disconnected":
        return this.#onDisconnected(event);
      case "message":
        return this.#driver.enqueue({
          type: "messageReceived",
          message: event.message,
          segments: event.segments.map((bytes, index) => this.segments.hold(bytes, event.names[index])),
        });
      case "refused":
        return this.fail(refusedError(this.#link.url, event.fault));
      case "sessionLost":
        this.#hasSession = false;
        return this.#link.onOffline(`The orchestrator ended this session: ${event.fault.detail}; joining again`);
      case "fault":
        return this.#link.onOffline(`A message of the orchestrator was refused: ${event.fault.detail}`);
    }
  }

  #onDisconnected({ reason }: { reason: string }): void {
    const { url, timers, onOffline, onWaiting } = this.#link;
    const nowMs = timers.steadyMs();
    if (this.#hasLink) {
      this.#hasLink = false;
      this.#wait.begin(nowMs);
      onOffline(`No link to ${url} any more (${reason}); trying again until it is back`);
      return this.#driver.enqueue({ type: "disconnected" });
    }
    const { waiting, isWorthSaying, isOver } = this.#wait.failed(reason, nowMs);
    if (isOver) return this.fail(this.#gaveUp(waiting));
    if (isWorthSaying) onWaiting(waiting);
  }

  #gaveUp({ reason, waitedMs }: Waiting): UserError {
    const { url, giveUpAfterMs } = this.#link;
    const limit = giveUpAfterMs === 0 ? "at the first attempt" : `within ${duration(giveUpAfterMs ?? 0)}`;
    const passed = waitedMs < 1_000 ? "it did not" : `it has not for ${duration(waitedMs)}`;
    return new UserError(
      `Cannot go on as the orchestrator at '${url}' must let this node in ${limit} (--give-up-after): ${passed}. ${reason}`,
      { next: "Check the address, and that the orchestrator runs; without --give-up-after this node waits for it" },
    );
  }
}

/** Of a node whose device cannot hold what the run asks of it. */
export function tooLargeError(detail: string): UserError {
  return new UserError(`Cannot take part in this run with this device: ${detail}`, {
    next: "Use another adapter, or the slow reference, which has no such limits: --device reference",
  });
}

function refusedError(url: string, { code, detail }: Fault): UserError {
  if (code === "tooLarge") return tooLargeError(detail);
  const next = code === "versionMismatch"
    ? "Install the version of iota that the orchestrator runs"
    : code === "unauthenticated"
    ? "If its owner confirms that it changed, start once more with the invite that it prints: --orchestrator 'iota://…'"
    : "Ask the run's owner, or use another hotkey with --wallet NAME";
  const what = code === "unauthenticated"
    ? `The hello with the orchestrator at '${url}' failed`
    : `The orchestrator at '${url}' refused this node`;
  return new UserError(`${what} (${code}): ${detail}`, { next });
}
