/**
 * The orchestrator's link around a miner's or validator's runtime (node_runtime.ts). `finished` rejects when the
 * orchestrator refuses this node for good or our own code fails.
 */

import { present } from "../../core/assert.ts";
import { type Fault, type Parsed, parsed } from "../../core/fault.ts";
import type { Machine } from "../../core/protocol/machine.ts";
import type { HubMessage, NodeMessage, Role } from "../../core/protocol/message.ts";
import { statementText } from "../../core/statements/statement.ts";
import { type ClockDifference, isAlike } from "../../net/auth/clocks.ts";
import { nodeClockText } from "../roles/clock_watch.ts";
import type { Challenger, NodeIdentity, Signer, Verify } from "../../net/auth/hello.ts";
import type { NetLimits } from "../../net/limits.ts";
import { Node } from "../../net/links/node.ts";
import type { HeldTicket } from "../../net/auth/ticket.ts";
import type { Segment } from "../../net/messages/frame.ts";
import { readHubMessage } from "../../net/messages/schema_hub.ts";
import type { Cancel, Random, Timers } from "../../net/timers.ts";
import type { NodeEvent } from "../../net/links/transport.ts";
import type { Dial } from "../../net/links/wire.ts";
import {
  type Finished,
  type NodeEdges,
  type NodeEffect,
  type NodeMachineEvent,
  NodeRuntime,
  type Perform,
  type Report,
} from "./node_runtime.ts";
import type { Pinned } from "../address/hub_pin.ts";
import { HubWait, type Waiting } from "./hub_wait.ts";
import {
  gaveUpError,
  inNodeWords,
  type NodeWallet,
  otherRunCure,
  refusedError,
  rivalCure,
  sessionLostText,
} from "./link_errors.ts";
import { byteSegments } from "../roles/segments.ts";

export interface NodeLink {
  readonly url: string;
  readonly signer: Signer;
  readonly verify: Verify;
  readonly dial: Dial;
  readonly limits: NetLimits;
  readonly timers: Timers;
  readonly random: Random;
  /** Null: never. */
  readonly giveUpAfterMs: number | null;
  /** None: the first one met. */
  readonly pin?: Pinned;
  /** The file that demands another orchestrator or run; null: the command line or an announcement does. */
  readonly rememberedIn?: (found: Challenger) => string | null;
  /** For commands in messages. @default the wallet called default */
  readonly wallet?: Omit<NodeWallet, "address">;
  readonly onOffline: (text: string) => void;
  readonly onWaiting: (waiting: Waiting) => void;
  readonly traces?: { received(message: HubMessage): void; sent(message: NodeMessage): void } | undefined;
  readonly meter?: { sent(bytes: number): void; received(bytes: number): void };
  /** Requests are stamped in the orchestrator's time. */
  readonly onConnected: (ticket: HeldTicket, clock: ClockDifference) => void;
}

export const newRunReason = "its orchestrator has begun another run";

interface NodeRoleOptions<State, Event, Effect, Result> {
  readonly role: Role;
  readonly link: NodeLink;
  readonly machine: Machine<State, Event | NodeMachineEvent<Result>, Effect>;
  readonly state: State;
  readonly work: (effect: Perform<Effect>) => Promise<Result>;
  /** An error ends the role, a fault goes to the machine. */
  readonly failureOf: (effect: Perform<Effect>, error: unknown) => Error | Fault;
  readonly report: (effect: Report<Effect>) => void;
}

export class NodeRole<State, Event, Effect extends NodeEffect, Result> {
  readonly segments = byteSegments();
  readonly finished: Promise<Finished>;
  readonly #runtime: NodeRuntime<State, Event, Effect, Result, Uint8Array, Segment>;
  readonly #node: Node<HubMessage, NodeMessage>;
  readonly #link: NodeLink;
  readonly #role: Role;
  #resolve!: (finished: Finished) => void;
  #reject!: (error: unknown) => void;
  readonly #wait: HubWait;
  #keepTrying: Cancel = () => {};
  #run: string | null = null;
  #saidClock: ClockDifference | null = null;

  constructor(options: NodeRoleOptions<State, Event, Effect, Result>) {
    const { role, link, machine, state, report } = options;
    this.#link = link;
    this.#role = role;
    this.#wait = new HubWait({ giveUpAfterMs: link.giveUpAfterMs, nowMs: link.timers.steadyMs() });
    this.finished = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    const edges: NodeEdges<Effect, Result, Uint8Array, Segment> = {
      timers: link.timers,
      links: {
        send: (message, segments) => {
          link.traces?.sent(message);
          const bytes = this.#node.send(message, segments);
          if (bytes.ok) link.meter?.sent(bytes.value);
          return bytes;
        },
        pause: () => this.#node.pause(),
        resume: () => this.#node.resume(),
      },
      segments: this.segments,
      sign: (statement) => {
        const run = present(this.#run, "a message is sent in a session");
        return link.signer.sign(new TextEncoder().encode(statementText(run, statement))).toHex();
      },
      attach: (ref) => this.segments.named(ref),
      work: (effect, done) => this.#work(options, { effect, done }),
      report,
      onFinish: (finished) => this.#finish(finished),
      onFailure: (error) => this.fail(error),
    };
    this.#runtime = new NodeRuntime({ machine, state, edges });
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

  enqueue(event: Event | NodeMachineEvent<Result>): void {
    this.#runtime.enqueue(event);
  }

  #work(
    { work, failureOf }: NodeRoleOptions<State, Event, Effect, Result>,
    { effect, done }: { effect: Perform<Effect>; done: (outcome: Parsed<Result>) => void },
  ): void {
    work(effect).then((result) => done(parsed(result)), (error) => {
      const failure = failureOf(effect, error);
      if (failure instanceof Error) this.fail(failure);
      else done({ ok: false, fault: failure });
    });
  }

  #finish(result: Finished): void {
    this.#keepTrying();
    this.#node.close(result.reason);
    this.#resolve(result);
  }

  fail(error: unknown): void {
    this.#keepTrying();
    this.#runtime.close();
    this.#node.close("this node failed");
    this.#reject(error);
  }

  #onNodeEvent(event: NodeEvent<HubMessage>): void {
    switch (event.type) {
      case "connected":
        this.#keepTrying();
        if (this.#run !== null && this.#run !== event.run) return this.#leaveFor(event.run);
        this.#run = event.run;
        this.#link.onConnected(event.ticket, event.clock);
        this.#sayClock(event.clock);
        return this.#runtime.take(event);
      case "disconnected":
        return this.#onDisconnected(event);
      case "message":
        this.#link.traces?.received(event.message);
        this.#link.meter?.received(event.bytes);
        return this.#runtime.take(event);
      case "refused":
        return this.#onRefused(event);
      case "sessionLost":
        this.#runtime.take(event);
        return this.#link.onOffline(`${sessionLostText(event.fault)}; joining again`);
      case "fault":
        return this.#link.onOffline(`Rejected a message from the orchestrator: ${event.fault.detail}`);
    }
  }

  #sayClock(clock: ClockDifference): void {
    if (this.#saidClock !== null && isAlike(this.#saidClock, clock)) return;
    const text = nodeClockText(clock, this.#link.timers.nowMs());
    this.#saidClock = text === null ? null : clock;
    if (text !== null) this.#link.onOffline(text);
  }

  #leaveFor(run: string): void {
    this.#link.onOffline(`The orchestrator serves run '${run}' now, no longer '${this.#run}': joining it`);
    this.#runtime.close();
    this.#finish({ finished: false, reason: newRunReason });
  }

  #onRefused({ fault, found }: Extract<NodeEvent<HubMessage>, { type: "refused" }>): void {
    const { url, rememberedIn } = this.#link;
    const wallet = this.#wallet;
    const file = found === null ? null : rememberedIn?.(found) ?? null;
    const isOtherRun = this.#isOtherRun(found);
    this.fail(refusedError({ url, role: this.#role, fault, found, rememberedIn: file, isOtherRun, wallet }));
  }

  #isOtherRun(found: Challenger | null): found is Challenger {
    const { hub, run } = this.#link.pin ?? { hub: null, run: null };
    return found !== null && (hub === null || hub === found.hub) && run !== null && run !== found.run;
  }

  get #wallet(): NodeWallet {
    const { signer: { address }, wallet } = this.#link;
    return { address, ...wallet ?? { wallet: "default", hotkey: null, walletPath: null, network: null } };
  }

  #onDisconnected(event: Extract<NodeEvent<HubMessage>, { type: "disconnected" }>): void {
    const { url, timers, onOffline, onWaiting } = this.#link;
    const { reason: said, found } = event;
    const cure = this.#isOtherRun(found)
      ? otherRunCure({ url, role: this.#role, found, wallet: this.#wallet })
      : event.cure ?? rivalCure(said, this.#wallet);
    const reason = inNodeWords(said, { wallet: this.#wallet, url });
    const nowMs = timers.steadyMs();
    if (this.#runtime.hasLink) {
      this.#wait.begin(nowMs);
      onOffline(`The link to ${url} is lost (${reason}); reconnecting`);
      return this.#runtime.take(event);
    }
    const { waiting, isWorthSaying, leftMs } = this.#wait.failed(cure === null ? reason : `${reason}; ${cure}`, nowMs);
    if (isWorthSaying && leftMs !== 0) onWaiting(waiting);
    if (leftMs === null) return;
    const giveUp = () => {
      const waitedMs = waiting.waitedMs + leftMs;
      this.fail(gaveUpError({ url, giveUpAfterMs: this.#link.giveUpAfterMs ?? 0, reason, cure, waitedMs }));
    };
    this.#keepTrying();
    if (leftMs === 0) giveUp();
    else this.#keepTrying = timers.after(leftMs, giveUp);
  }
}
