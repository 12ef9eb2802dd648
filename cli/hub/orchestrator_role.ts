/**
 * The orchestrator in the real world: hub, machine, blobs, data and checkpoints joined together.
 *
 * Owns the translation of transport events, the attachments of messages, and the measured traffic. It runs no part of the model
 * except what a dispute requires of the hub.
 */

import { unreachable } from "../../core/assert.ts";
import { changesBetween } from "../../core/config/change.ts";
import type { RunConfig } from "../../core/config/config.ts";
import { type BlobRef, directionOf, type NodeId, type StageIndex } from "../../core/ids.ts";
import { secretKeyBytes } from "../../core/chacha.ts";
import { noScale, type WireScale, wireScale } from "../../core/codec/wire.ts";
import { wiresApart } from "../../core/codec/wire_apart.ts";
import { parameterTable } from "../../core/model/spec.ts";
import { runWire } from "../../core/model/stage_wires.ts";
import type { OrchestratorEffect, OrchestratorEvent } from "../../core/orchestrator/event.ts";
import { orchestrator } from "../../core/orchestrator/machine.ts";
import { heldSegments } from "../../core/orchestrator/merge/rounds.ts";
import { openOrchestrator, type OrchestratorState } from "../../core/orchestrator/state.ts";
import type { HubMessage, NodeMessage } from "../../core/protocol/message.ts";
import { Hub } from "../../net/links/hub.ts";
import { readNodeMessage } from "../../net/messages/schema_node.ts";
import type { RefusalCounts } from "../../net/auth/refusals.ts";
import type { HubEvent } from "../../net/links/transport.ts";
import type { Wire, WireHandler } from "../../net/links/wire.ts";
import { withPass } from "./assign_pass.ts";
import { Attachments } from "../roles/attachments.ts";
import { StageUnavailable } from "./checkpoint_writer.ts";
import { Driver } from "../roles/driver.ts";
import { type HubWork, performHubWork } from "./hub_work.ts";
import type { MemberStore } from "./hub_store.ts";
import type { Finished } from "../node/node_role.ts";
import { needOfCheckpoint, needOfWork, RunPause } from "./run_pause.ts";
import type { OrchestratorRoleOptions, RunningOrchestrator } from "./running_orchestrator.ts";
import { Segments } from "../roles/segments.ts";
import { storeDuties } from "./store_duties.ts";
import { Traffic } from "./traffic.ts";

/** How long nodes may take to learn that the run is over. */
const farewellMs = 3000;

export function startOrchestrator(options: OrchestratorRoleOptions): RunningOrchestrator {
  return new OrchestratorRole(options);
}

class OrchestratorRole implements RunningOrchestrator {
  readonly state: OrchestratorState;
  readonly traffic: Traffic;
  readonly segments = new Segments();
  readonly finished: Promise<Finished>;
  readonly members: MemberStore;
  readonly #options: OrchestratorRoleOptions;
  readonly #hub: Hub<NodeMessage, HubMessage>;
  readonly #driver: Driver<OrchestratorState, OrchestratorEvent, OrchestratorEffect>;
  readonly #connected = new Set<NodeId>();
  readonly #pause: RunPause;
  readonly #attachments: Attachments;
  #resolve!: (finished: Finished) => void;
  #reject!: (error: unknown) => void;
  #onLastLeft: (() => void) | null = null;
  #isEnded = false;

  constructor(options: OrchestratorRoleOptions) {
    const { config, timers, journal = null, recovered = null } = options;
    this.#options = options;
    this.#attachments = new Attachments({ config, batches: options.batches, segments: this.segments });
    this.traffic = new Traffic(config);
    this.finished = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.state = recovered?.state ?? this.#newState();
    if (recovered === null) journal?.begin(this.state, timers.steadyMs());
    this.#driver = new Driver({
      machine: orchestrator,
      state: this.state,
      perform: (effect) => this.#perform(effect),
      commit: (batch) => this.#pause.commit(() => journal?.commit(batch, this.state)),
      isBehind: () => journal?.isBehind === true,
      tick: { type: "tick" },
      timers,
      ...(recovered === null ? {} : { startMs: recovered.nowMs }),
      inboxMessages: config.limits.inboxMessages,
      onPressure: (isFull) => isFull ? this.#hub.pause() : this.#hub.resume(),
      onFailure: (error) => this.#fail(error),
      ...(options.gather === undefined ? {} : { gather: options.gather }),
    });
    this.#hub = new Hub({
      run: options.runId,
      signer: options.signer,
      verify: options.verify,
      admit: options.admit,
      tickets: options.tickets,
      read: readNodeMessage,
      limits: options.limits,
      timers,
      random: options.random,
      onEvent: (event) => this.#onHubEvent(event),
    });
    const { onRecord, probeRoom = () => Promise.resolve() } = options;
    this.#pause = new RunPause({ timers, driver: this.#driver, onRecord, probeRoom });
    this.members = storeDuties({
      ...{ state: this.state, driver: this.#driver, pause: this.#pause },
      isMember: (node) => this.isMember(node),
      onFailure: (error) => this.#fail(error),
    });
    this.#driver.enqueue(
      recovered === null // sets the first deadline
        ? { type: "tick" }
        : { type: "restarted", changes: changesBetween(this.state.config, config), lost: this.#holdSaved() },
    );
  }

  /** Holds the segments that the last process saved. Returns those it did not save. */
  #holdSaved(): BlobRef[] {
    if (this.state.phase === "finished") return [];
    const { savedWires } = this.#options;
    return heldSegments(this.state).filter((ref) => {
      const bytes = savedWires?.get(ref.hash);
      if (bytes !== undefined) this.segments.hold(bytes, ref.hash);
      return bytes === undefined;
    });
  }

  #newState(): OrchestratorState {
    const { config, stages, layersOfStages, from, timers, random } = this.#options;
    return openOrchestrator({
      config,
      stages,
      layersOfStages,
      stageFloats: stages.map((spec) => parameterTable(spec).length),
      ...(from === undefined ? {} : { from }),
      secret: random.bytes(secretKeyBytes),
      nowMs: timers.steadyMs(),
    });
  }

  get refusals(): RefusalCounts {
    return this.#hub.refusals;
  }

  /** A paused run takes no more events than it has room for; connected nodes stay. */
  accept(wire: Wire): WireHandler {
    if (!this.#driver.standsStill || !this.#driver.isFull) return this.#hub.accept(wire);
    wire.close("the orchestrator waits for room on its disk; try again later");
    return { frame: () => {}, closed: () => {} };
  }

  isMember(node: NodeId): boolean {
    return this.#connected.has(node);
  }

  review(): void {
    if (this.#driver.standsStill) return; // the next review sees the same
    for (const { node, role } of [...this.state.members.values()]) {
      const fault = this.#options.admit({ node, role });
      if (fault?.code === "notAdmitted") this.#driver.enqueue({ type: "nodeDismissed", node, fault });
    }
  }

  stop(reason: string): void {
    this.#driver.flush();
    this.#driver.settle(() => this.#stop(reason));
  }

  #stop(reason: string): void {
    const isOver = this.state.phase === "finished" && this.#driver.isSettled; // else its last entry is not in the journal
    if (this.#isEnded || isOver) return;
    this.#isEnded = true;
    this.#driver.close();
    this.#pause.close();
    this.#hub.shutDown("the orchestrator is being stopped and may come back");
    this.#options.onRecord({ type: "runFinished", step: this.state.step, finished: false, reason });
    this.#resolve({ finished: false, reason });
  }

  #onHubEvent(event: HubEvent<NodeMessage>): void {
    switch (event.type) {
      case "peerConnected":
        this.#connected.add(event.peer);
        return this.#driver.enqueue({
          type: "nodeConnected",
          node: event.peer,
          role: event.role,
          resumed: event.resumed,
        });
      case "peerDisconnected":
      case "peerLost":
        this.#left(event.peer);
        return this.#driver.enqueue({ type: "nodeDisconnected", node: event.peer });
      case "message": {
        this.traffic.count(event);
        const { peer: node, role, message } = event;
        const segments = this.segments.take(event);
        const scale = scaleOf(this.#options.config, event);
        return this.#driver.enqueue({ type: "messageReceived", node, role, message, segments, scale });
      }
      case "fault":
        return this.#driver.enqueue({ type: "faultReceived", node: event.peer, fault: event.fault });
      case "linkDamaged":
        return; // its end states why
      case "refusals":
        return this.#options.onRecord({ type: "warning", text: event.text });
      default:
        return unreachable(event);
    }
  }

  #left(node: NodeId): void {
    this.#connected.delete(node);
    if (this.#connected.size === 0) this.#onLastLeft?.();
  }

  #perform(effect: OrchestratorEffect): void {
    switch (effect.type) {
      case "send":
        return this.#send(effect);
      case "disconnect":
        this.#left(effect.node);
        return this.#hub.close(effect.node, effect.fault);
      case "compareWires":
        return this.#compareWires(effect);
      case "release":
        return this.segments.release(effect.refs);
      case "deleteBlobs":
        for (const hash of effect.hashes) this.#work(() => this.#options.blobs.delete(hash));
        return;
      case "sweepBlobs":
        return this.#work(() => this.#options.blobs.sweep(effect.used));
      case "checkPayload":
      case "checkUpload":
      case "refereeSlice":
      case "refereeMerge":
      case "restoreStage":
      case "checkBlobs":
        return this.#hubWork(effect);
      case "writeCheckpoint":
        return this.#writeCheckpoint(effect);
      case "record":
        return this.#options.onRecord(effect.record);
      case "finish":
        return this.#finish(effect);
      default:
        return unreachable(effect);
    }
  }

  #send({ to, message, attachments }: Extract<OrchestratorEffect, { type: "send" }>): void {
    const segments = attachments.map((attachment) => this.#attachments.segmentOf(attachment));
    const sent = this.#hub.send(to, withPass(message, to, this.#options), segments);
    if (sent.ok || sent.fault.code === "notAdmitted") return; // a node that has just left gets no message
    this.#options.onRecord({ type: "warning", text: `${message.type} for ${to} was not sent: ${sent.fault.detail}` });
  }

  #compareWires(effect: Extract<OrchestratorEffect, { type: "compareWires" }>): void {
    const { step, microbatch, making, stage, first, last } = effect;
    const wires = [first, last].map((ref) => this.segments.get(ref)) as [Uint8Array, Uint8Array];
    const apart = wiresApart(runWire(this.#options.config, "forward"), wires);
    this.#driver.enqueue({ type: "wiresCompared", step, microbatch, making, stage, last: last.hash, apart });
  }

  #hubWork(work: HubWork): void {
    const need = needOfWork(work, this.state.stageFloats);
    this.#work(async () =>
      this.#driver.enqueue(await this.#pause.work(need, () => performHubWork(work, this.#options)))
    );
  }

  #writeCheckpoint(effect: Extract<OrchestratorEffect, { type: "writeCheckpoint" }>): void {
    const { round } = effect;
    const need = needOfCheckpoint(round, this.state.stageFloats);
    this.#pause.work(need, () => this.#options.storeRound(effect)).then(
      (folder) => this.#driver.enqueue({ type: "checkpointWritten", round, folder }),
      (error) =>
        this.#driver.enqueue({ type: "checkpointFailed", round, detail: textOf(error), missing: missingStage(error) }),
    );
  }

  /** Runs work whose failure is our own bug. */
  #work(body: () => Promise<void>): void {
    body().catch((error) => this.#fail(error));
  }

  #finish({ finished, reason }: Finished): void {
    this.#driver.close();
    this.#pause.close();
    if (this.#driver.standsStill) this.#hub.resume(); // to receive the nodes' departures
    const end = () => {
      this.#onLastLeft = null;
      cancel();
      this.#hub.shutDown(reason);
      this.#resolve({ finished, reason });
    };
    const cancel = this.#options.timers.after(farewellMs, end);
    this.#onLastLeft = end;
    if (this.#connected.size === 0) end();
  }

  #fail(error: unknown): void {
    this.#isEnded = true;
    this.#driver.close();
    this.#pause.close();
    this.#hub.shutDown("the orchestrator failed");
    this.#reject(error);
  }
}

/** The stage whose blobs the store does not have, if that is why. */
function missingStage(error: unknown): StageIndex | null {
  return error instanceof StageUnavailable ? error.stage : null;
}

/** The scale of a result's wire; a result has at most one. */
function scaleOf(
  config: RunConfig,
  { message, segments }: { message: NodeMessage; segments: readonly Uint8Array[] },
): WireScale {
  const [bytes] = segments;
  if (message.type !== "taskDone" || bytes === undefined) return noScale;
  return wireScale(runWire(config, directionOf(message.task)), bytes);
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
