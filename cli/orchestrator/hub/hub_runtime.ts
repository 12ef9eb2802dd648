/**
 * The orchestrator's runtime over replaceable edges. Production (orchestrator_role.ts) and the simulator
 * (tests/lab/sim/processes/hub_process.ts) run it, each with edges of its own.
 */

import { present, unreachable } from "../../../core/assert.ts";
import { badScale, noScale, type Wire, type WireScale } from "../../../core/codec/wire.ts";
import { changesBetween } from "../../../core/settings/change.ts";
import type { RunConfig } from "../../../core/config/config.ts";
import type { BlobHash, BlobRef, MicrobatchId, NodeId } from "../../../core/ids.ts";
import { taskOutput } from "../../../core/model/stage_wires.ts";
import type { Attachment, OrchestratorEffect, OrchestratorEvent } from "../../../core/orchestrator/event.ts";
import { heldSegments } from "../../../core/orchestrator/closing.ts";
import type { OrchestratorState } from "../../../core/orchestrator/state.ts";
import type { MachineEntry } from "../../../core/ledger/entry.ts";
import type { Machine } from "../../../core/protocol/machine.ts";
import type { HubMessage, NodeMessage } from "../../../core/protocol/message.ts";
import type { SignedStatement } from "../../../core/statements/statement.ts";
import type { RunRecord } from "../../../core/protocol/record.ts";
import type { HubEvent, HubTransport } from "../../../net/links/transport.ts";
import type { Timers } from "../../../net/timers.ts";
import type { Finished } from "../../node/node_runtime.ts";
import { Driver } from "../../roles/driver.ts";
import type { Segments } from "../../roles/segments.ts";
import type { StateJournal } from "../journal/hub_journal.ts";
import type { HubWork } from "./hub_work.ts";
import type { RefereeGradient, RefereeTask } from "./task_referee.ts";

export type OrchestratorMachine = Machine<OrchestratorState, OrchestratorEvent, OrchestratorEffect>;

export type OwnWork = HubWork | Extract<OrchestratorEffect, { type: "writeCheckpoint" }>;

export interface LeftBehind<Held> {
  readonly nowMs: number; // machine's clock at its last event
  /** Undefined: the segment is lost. */
  readonly saved: (hash: BlobHash) => Held | undefined;
}

/** Nothing here waits. */
export interface HubEdges<Held, Sent> {
  readonly timers: Timers;
  readonly links: Pick<HubTransport<HubMessage, Sent>, "send" | "close" | "pause" | "resume">;
  /** Null: a restart continues from the checkpoint. */
  readonly journal: StateJournal | null;
  /** See the driver. */
  readonly gather?: (callback: () => void) => void;
  readonly segments: Segments<Held>;
  readonly attach: (attachment: Attachment) => Sent;
  readonly scaleOf: (wire: Wire, content: Held, microbatch: MicrobatchId) => WireScale;
  /** See `wiresCompared`. */
  readonly apart: (wire: Wire, contents: readonly [Held, Held]) => number;
  readonly referee: (
    work: RefereeTask | RefereeGradient,
    contents: readonly Sent[],
    done: (event: OrchestratorEvent) => void,
  ) => void;
  /** `done` is called once. */
  readonly checkSignatures: (
    signed: readonly SignedStatement[],
    done: (areGenuine: readonly boolean[]) => void,
  ) => void;
  /** `done` is called once, or never if the process ends. */
  readonly work: (work: OwnWork, done: (event: OrchestratorEvent) => void) => void;
  /** To the address that nodes use; `refusal` null: success. @default without such an address */
  readonly probeUploads?: (bytes: number, done: (refusal: string | null) => void) => void;
  readonly deleteBlobs: (hashes: readonly BlobHash[]) => void;
  readonly sweepBlobs: (used: ReadonlySet<string>) => void;
  readonly onRecord: (record: RunRecord) => void;
  readonly onLog: (entry: MachineEntry) => void;
  readonly onFinish: () => void;
  /** Every node has left, or had the time to. */
  readonly onEnd: (finished: Finished) => void;
  readonly onFailure: (error: unknown) => void;
}

interface HubRuntimeOptions<Held, Sent> {
  readonly machine: OrchestratorMachine;
  readonly config: RunConfig;
  readonly state: OrchestratorState;
  readonly recovered: LeftBehind<Held> | null; // null: the run begins with `state`
  readonly edges: HubEdges<Held, Sent>;
}

/** For nodes to learn that the run is over. */
const farewellMs = 3000;

export class HubRuntime<Held, Sent> {
  readonly state: OrchestratorState;
  readonly #options: HubRuntimeOptions<Held, Sent>;
  readonly #edges: HubEdges<Held, Sent>;
  readonly #driver: Driver<OrchestratorState, OrchestratorEvent, OrchestratorEffect>;
  readonly #connected = new Set<NodeId>();
  #onLastLeft: (() => void) | null = null;
  #isClosed = false;

  constructor(options: HubRuntimeOptions<Held, Sent>) {
    const { machine, config, state, recovered, edges } = options;
    const { timers, journal, gather } = edges;
    this.#options = options;
    this.#edges = edges;
    this.state = state;
    this.#driver = new Driver({
      machine,
      state,
      perform: (effect) => this.#perform(effect),
      commit: (batch) => journal?.commit(batch, state),
      isBehind: () => journal?.isBehind === true,
      tick: { type: "tick" },
      timers,
      ...(recovered === null ? {} : { startMs: recovered.nowMs }),
      inboxMessages: config.limits.inboxMessages,
      onPressure: (isFull) => isFull ? edges.links.pause() : edges.links.resume(),
      onFailure: edges.onFailure,
      ...(gather === undefined ? {} : { gather }),
    });
  }

  start(): void {
    const { config, recovered } = this.#options;
    if (recovered === null) {
      this.#edges.journal?.begin(this.state, this.#edges.timers.steadyMs());
      return this.enqueue({ type: "tick" });
    }
    const changes = changesBetween(this.state.config, config);
    this.enqueue({ type: "restarted", changes, lost: this.#holdSaved(recovered) });
  }

  /** Returns the lost ones. */
  #holdSaved({ saved }: LeftBehind<Held>): BlobRef[] {
    if (this.state.phase === "finished") return [];
    return heldSegments(this.state).filter((ref) => {
      const content = saved(ref.hash);
      if (content !== undefined) this.#edges.segments.hold(content, ref.hash);
      return content === undefined;
    });
  }

  get isFull(): boolean {
    return this.#driver.isFull;
  }

  get standsStill(): boolean {
    return this.#driver.standsStill;
  }

  isConnected(node: NodeId): boolean {
    return this.#connected.has(node);
  }

  enqueue(event: OrchestratorEvent): void {
    this.#driver.enqueue(event);
  }

  hold(): void {
    this.#driver.hold();
  }

  resume(): void {
    this.#driver.resume();
  }

  flush(): void {
    this.#driver.flush();
  }

  get isSettled(): boolean {
    return this.#driver.isSettled;
  }

  settle(callback: () => void): void {
    this.#driver.settle(callback);
  }

  close(): void {
    this.#isClosed = true;
    this.#driver.close();
  }

  take(event: HubEvent<NodeMessage, Held>): void {
    switch (event.type) {
      case "peerConnected": {
        const { peer: node, role, resumed } = event;
        this.#connected.add(node);
        return this.enqueue({ type: "nodeConnected", node, role, resumed });
      }
      case "peerDisconnected":
      case "peerLost":
        this.#left(event.peer);
        return this.enqueue({ type: "nodeDisconnected", node: event.peer });
      case "message":
        return this.#takeMessage(event);
      case "fault":
        return this.enqueue({ type: "faultReceived", node: event.peer, fault: event.fault });
      case "linkDamaged":
      case "rivalRefused":
        return; // both owners are told
      case "refusals":
        return this.#edges.onRecord({ type: "warning", text: event.text });
      default:
        return unreachable(event);
    }
  }

  #takeMessage(received: Extract<HubEvent<NodeMessage, Held>, { type: "message" }>): void {
    if (this.#isClosed) return;
    const { peer: node, role, message } = received;
    const segments = this.#edges.segments.take(received);
    this.enqueue({ type: "messageReceived", node, role, message, segments, scale: this.#scaleOf(received) });
  }

  /** Computes nothing for a task that the sender does not hold. */
  #scaleOf(
    { peer, message, segments: [content] }: Extract<HubEvent<NodeMessage, Held>, { type: "message" }>,
  ): WireScale {
    if (message.type !== "taskDone" || content === undefined) return noScale;
    const item = this.state.work?.leased.get(message.task);
    if (item === undefined || !item.leases.some(({ node }) => node === peer)) return badScale;
    const spec = present(this.state.stages[item.stage], "an item's stage exists");
    const wire = taskOutput(spec, item.direction);
    return wire === null ? noScale : this.#edges.scaleOf(wire, content, item.microbatch);
  }

  #left(node: NodeId): void {
    this.#connected.delete(node);
    if (this.#connected.size === 0) this.#onLastLeft?.();
  }

  #perform(effect: OrchestratorEffect): void {
    const { links, segments, attach, referee, checkSignatures, work, deleteBlobs, sweepBlobs, onRecord, onLog } =
      this.#edges;
    const { probeUploads = (_bytes, done) => done(null) } = this.#edges;
    switch (effect.type) {
      case "send":
        return this.#send(effect);
      case "disconnect":
        this.#left(effect.node);
        return links.close(effect.node, effect.fault);
      case "compareWires":
        return this.#compareWires(effect);
      case "refereeTask":
      case "refereeGradient":
        return referee(effect, effect.attachments.map(attach), (event) => this.enqueue(event));
      case "checkSignatures": {
        const { request } = effect;
        const done = (areGenuine: readonly boolean[]) =>
          this.enqueue({ type: "signaturesChecked", request, areGenuine });
        return checkSignatures(effect.signed, done);
      }
      case "release":
        return segments.release(effect.refs);
      case "deleteBlobs":
        return deleteBlobs(effect.hashes);
      case "sweepBlobs":
        return sweepBlobs(effect.used);
      case "checkPayload":
      case "checkState":
      case "layEnd":
      case "checkUpload":
      case "refereeSlice":
      case "refereeMerge":
      case "restoreStage":
      case "checkBlobs":
      case "writeCheckpoint":
        return work(effect, (event) => this.enqueue(event));
      case "probeUploads":
        return probeUploads(effect.bytes, (refusal) => this.enqueue({ type: "uploadsProbed", refusal }));
      case "record":
        return onRecord(effect.record);
      case "log":
        return onLog(effect.entry);
      case "finish":
        return this.#finish(effect);
      default:
        return unreachable(effect);
    }
  }

  #send({ to, message, attachments }: Extract<OrchestratorEffect, { type: "send" }>): void {
    const { links, attach, onRecord } = this.#edges;
    const sent = links.send(to, message, attachments.map(attach));
    if (sent.ok || sent.fault.code === "notAdmitted") return; // the node has just left
    onRecord({ type: "warning", text: `${message.type} for ${to} was not sent: ${sent.fault.detail}` });
  }

  #compareWires(effect: Extract<OrchestratorEffect, { type: "compareWires" }>): void {
    const { step, microbatch, making, stage, first, last } = effect;
    const { segments } = this.#edges;
    const contents = [segments.get(first), segments.get(last)] as const;
    const made = present(this.state.stages[stage], "compared wires are of a stage of the run");
    const apart = this.#edges.apart(present(taskOutput(made, "forward"), "only wires are compared"), contents);
    this.enqueue({ type: "wiresCompared", step, microbatch, making, stage, last: last.hash, apart });
  }

  #finish({ finished, reason }: Finished): void {
    const { timers, links, onFinish, onEnd } = this.#edges;
    this.close();
    onFinish();
    if (this.standsStill) links.resume(); // to receive the nodes' departures
    const end = () => {
      this.#onLastLeft = null;
      cancel();
      onEnd({ finished, reason });
    };
    const cancel = timers.after(farewellMs, end);
    this.#onLastLeft = end;
    if (this.#connected.size === 0) end();
  }
}
