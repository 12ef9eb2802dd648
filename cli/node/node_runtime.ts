/**
 * A node's runtime over replaceable edges: a role machine in its driver, its segments and effects. Nothing is sent
 * between the loss of a session and the next one. The simulator runs it too (tests/lab/sim/processes/node_process.ts).
 */

import type { Fault, Parsed } from "../../core/fault.ts";
import type { BlobRef } from "../../core/ids.ts";
import type { Machine } from "../../core/protocol/machine.ts";
import type { HubMessage, NodeMessage } from "../../core/protocol/message.ts";
import { statementOf, type Subject } from "../../core/statements/findings.ts";
import type { Statement } from "../../core/statements/statement.ts";
import type { NodeTransport, Received } from "../../net/links/transport.ts";
import type { Timers } from "../../net/timers.ts";
import { Driver } from "../roles/driver.ts";
import type { Segments } from "../roles/segments.ts";

export type LinkChange<Held> =
  | { readonly type: "connected"; readonly resumed: boolean }
  | { readonly type: "disconnected" } // or not established
  | { readonly type: "sessionLost" }
  | { readonly type: "message" } & Received<HubMessage, Held>;

export type NodeMachineEvent<Result> =
  | { readonly type: "connected"; readonly resumed: boolean }
  | { readonly type: "disconnected" }
  | { readonly type: "messageReceived"; readonly message: HubMessage; readonly segments: readonly BlobRef[] }
  | { readonly type: "workDone"; readonly job: number; readonly result: Result }
  | { readonly type: "workFailed"; readonly job: number; readonly fault: Fault }
  | { readonly type: "stopRequested"; readonly reason: string; readonly atOnce?: boolean }
  | { readonly type: "tick" };

export interface Finished {
  readonly finished: boolean;
  readonly reason: string;
}

export type NodeEffect =
  | {
    readonly type: "send";
    readonly message: NodeMessage;
    readonly attachments?: readonly BlobRef[];
    readonly signs?: Subject;
  }
  | { readonly type: "release"; readonly refs: readonly BlobRef[] }
  | { readonly type: "perform"; readonly job: number }
  | { readonly type: "finish" } & Finished
  | { readonly type: "record" | "score" };

export type Perform<Effect> = Extract<Effect, { type: "perform" }>;
export type Report<Effect> = Extract<Effect, { type: "record" | "score" }>;

export interface NodeEdges<Effect, Result, Held, Sent> {
  readonly timers: Timers;
  readonly links: Pick<NodeTransport<NodeMessage, Sent>, "send" | "pause" | "resume">;
  readonly segments: Segments<Held>;
  /** Returns 128 hexadecimal digits. */
  readonly sign: (statement: Statement) => string;
  readonly attach: (ref: BlobRef) => Sent;
  readonly work: (effect: Perform<Effect>, done: (outcome: Parsed<Result>) => void) => void;
  readonly report: (effect: Report<Effect>) => void;
  /** Sent messages must still be delivered. */
  readonly onFinish: (finished: Finished) => void;
  readonly onFailure: (error: unknown) => void;
}

interface NodeRuntimeOptions<State, Event, Effect, Result, Held, Sent> {
  readonly machine: Machine<State, Event | NodeMachineEvent<Result>, Effect>;
  readonly state: State;
  readonly edges: NodeEdges<Effect, Result, Held, Sent>;
}

const inboxMessages = 4096;

export class NodeRuntime<State, Event, Effect extends NodeEffect, Result, Held, Sent> {
  readonly #edges: NodeEdges<Effect, Result, Held, Sent>;
  readonly #driver: Driver<State, Event | NodeMachineEvent<Result>, Effect>;
  #hasLink = false;
  #hasSession = false;
  #isClosed = false;

  constructor({ machine, state, edges }: NodeRuntimeOptions<State, Event, Effect, Result, Held, Sent>) {
    const { timers, links, onFailure } = edges;
    this.#edges = edges;
    this.#driver = new Driver({
      machine,
      state,
      perform: (effect) => this.#perform(effect),
      tick: { type: "tick" },
      timers,
      inboxMessages,
      onPressure: (isFull) => isFull ? links.pause() : links.resume(),
      onFailure,
    });
  }

  get hasLink(): boolean {
    return this.#hasLink;
  }

  get hasSession(): boolean {
    return this.#hasSession;
  }

  enqueue(event: Event | NodeMachineEvent<Result>): void {
    this.#driver.enqueue(event);
  }

  take(change: LinkChange<Held>): void {
    switch (change.type) {
      case "connected":
        this.#hasLink = true;
        this.#hasSession = true;
        return this.enqueue({ type: "connected", resumed: change.resumed });
      case "disconnected":
        if (!this.#hasLink) return;
        this.#hasLink = false;
        return this.enqueue({ type: "disconnected" });
      case "sessionLost":
        this.#hasSession = false;
        return;
      case "message": {
        if (this.#isClosed) return;
        const segments = this.#edges.segments.take(change);
        return this.enqueue({ type: "messageReceived", message: change.message, segments });
      }
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#driver.close();
  }

  #perform(effect: Effect): void {
    const common: NodeEffect = effect;
    switch (common.type) {
      case "send":
        return this.#send(this.#signed(common), common.attachments ?? []);
      case "release":
        return this.#edges.segments.release(common.refs);
      case "perform":
        return this.#work(common.job, effect as Perform<Effect>);
      case "record":
      case "score":
        return this.#edges.report(effect as Report<Effect>);
      case "finish":
        this.close();
        return this.#edges.onFinish({ finished: common.finished, reason: common.reason });
    }
  }

  #signed({ message, signs }: Extract<NodeEffect, { type: "send" }>): NodeMessage {
    const statement = signs === undefined ? null : statementOf(signs, message);
    return statement === null ? message : { ...message, signature: this.#edges.sign(statement) } as NodeMessage;
  }

  #send(message: NodeMessage, attachments: readonly BlobRef[]): void {
    if (!this.#hasSession) return;
    this.#edges.links.send(message, attachments.map(this.#edges.attach));
  }

  #work(job: number, effect: Perform<Effect>): void {
    this.#edges.work(effect, (outcome) => {
      if (outcome.ok) this.enqueue({ type: "workDone", job, result: outcome.value });
      else this.enqueue({ type: "workFailed", job, fault: outcome.fault });
    });
  }
}
