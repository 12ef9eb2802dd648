/**
 * Shared by miner and validator: a link to the hub that feeds events to a machine, which ends the role.
 *
 * Owns the translation between transport and machine events, holding received segments, and the end: `finished`
 * resolves when the machine finishes and rejects when the hub permanently refuses this node or our own code fails.
 */

import type { BlobRef } from "../../core/ids.ts";
import type { Machine } from "../../core/protocol/machine.ts";
import type { HubMessage, NodeMessage, Role } from "../../core/protocol/message.ts";
import type { Challenger, NodeIdentity, Signer, Verify } from "../../net/auth/hello.ts";
import type { NetLimits } from "../../net/limits.ts";
import { Node } from "../../net/links/node.ts";
import type { HeldTicket } from "../../net/auth/ticket.ts";
import { readHubMessage } from "../../net/messages/schema_hub.ts";
import type { Random, Timers } from "../../net/timers.ts";
import type { NodeEvent } from "../../net/links/transport.ts";
import type { Dial } from "../../net/links/wire.ts";
import { Driver } from "../roles/driver.ts";
import type { Pinned } from "./hub_pin.ts";
import { HubWait, type Waiting } from "./hub_wait.ts";
import { gaveUpError, type NodeWallet, refusedError, sessionLostText, withWallet } from "./link_errors.ts";
import { Segments } from "../roles/segments.ts";

export interface NodeLink {
  readonly url: string; // ws://host:port
  readonly signer: Signer;
  readonly verify: Verify;
  readonly dial: Dial;
  readonly limits: NetLimits;
  readonly timers: Timers;
  readonly random: Random;
  /** After this long without a link, the role ends at the next failed attempt; null: it never gives up. */
  readonly giveUpAfterMs: number | null;
  /** The only hub and run to accept; none: the first met. */
  readonly pin?: Pinned;
  /** The file that demands a different hub or run; null: the typed or announced one does. */
  readonly rememberedIn?: (found: Challenger) => string | null;
  /** For commands in messages. Default: the wallet called default. */
  readonly wallet?: Omit<NodeWallet, "address">;
  readonly onOffline: (text: string) => void;
  /** Called at intervals while there is no link. */
  readonly onWaiting: (waiting: Waiting) => void;
  /** Gets the hub's identity and the authorization for requests to it. */
  readonly onConnected: (ticket: HeldTicket) => void;
}

/** Events of both node machines. */
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
  readonly #role: Role;
  #resolve!: (finished: Finished) => void;
  #reject!: (error: unknown) => void;
  readonly #wait: HubWait;
  #hasLink = false;
  #hasSession = false; // nothing may be sent between losing a session and joining the next

  constructor({ role, link, machine, state, perform }: NodeRoleOptions<State, Event, Effect>) {
    this.#link = link;
    this.#role = role;
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

  /** The machine is done: sent messages are still delivered, no more are taken. */
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
          segments: this.segments.take(event),
        });
      case "refused":
        return this.#onRefused(event);
      case "sessionLost":
        this.#hasSession = false;
        return this.#link.onOffline(`${sessionLostText(event.fault)}; joining again`);
      case "fault":
        return this.#link.onOffline(`Rejected a message from the orchestrator: ${event.fault.detail}`);
    }
  }

  #onRefused({ fault, found }: Extract<NodeEvent<HubMessage>, { type: "refused" }>): void {
    const { url, rememberedIn } = this.#link;
    const wallet = this.#wallet;
    const file = found === null ? null : rememberedIn?.(found) ?? null;
    this.fail(refusedError({ url, role: this.#role, fault, found, rememberedIn: file, wallet }));
  }

  get #wallet(): NodeWallet {
    const { signer: { address }, wallet } = this.#link;
    return { address, ...wallet ?? { wallet: "default", hotkey: null, walletPath: null } };
  }

  #onDisconnected({ reason: said, cure }: { reason: string; cure: string | null }): void {
    const reason = withWallet(said, this.#wallet);
    const { url, timers, onOffline, onWaiting } = this.#link;
    const nowMs = timers.steadyMs();
    if (this.#hasLink) {
      this.#hasLink = false;
      this.#wait.begin(nowMs);
      onOffline(`The link to ${url} is lost (${reason}); reconnecting`);
      return this.#driver.enqueue({ type: "disconnected" });
    }
    const { waiting, isWorthSaying, isOver } = this.#wait.failed(cure === null ? reason : `${reason}; ${cure}`, nowMs);
    if (isOver) {
      const { waitedMs } = waiting;
      return this.fail(gaveUpError({ url, giveUpAfterMs: this.#link.giveUpAfterMs ?? 0, reason, cure, waitedMs }));
    }
    if (isWorthSaying) onWaiting(waiting);
  }
}
