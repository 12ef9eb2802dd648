/** The orchestrator's runtime with real sockets, blobs, data, checkpoints and disk. */

import type { SettingChange } from "../../../core/settings/change.ts";
import type { Fault } from "../../../core/fault.ts";
import type { NodeId } from "../../../core/ids.ts";
import { orchestrator } from "../../../core/orchestrator/machine.ts";
import type { OrchestratorState } from "../../../core/orchestrator/state.ts";
import type { HubMessage, NodeMessage } from "../../../core/protocol/message.ts";
import type { RunRecord } from "../../../core/protocol/record.ts";
import { Hub } from "../../../net/links/hub.ts";
import type { Segment } from "../../../net/messages/frame.ts";
import { readNodeMessage } from "../../../net/messages/schema_node.ts";
import type { RefusalCounts } from "../../../net/auth/refusals.ts";
import type { HubEvent } from "../../../net/links/transport.ts";
import type { Wire, WireHandler } from "../../../net/links/wire.ts";
import { linkEdges } from "./hub_links.ts";
import { MemberNews } from "./members/member_news.ts";
import { type HubEdges, HubRuntime } from "./hub_runtime.ts";
import type { MemberStore } from "./hub_store.ts";
import type { Finished } from "../../node/node_runtime.ts";
import { wireEdges } from "./hub_wires.ts";
import { OwnComputing } from "./own_computing.ts";
import { Holds, RunPause } from "./run_pause.ts";
import type { OrchestratorRoleOptions, RunningOrchestrator } from "./running_orchestrator.ts";
import { byteSegments } from "../../roles/segments.ts";
import { storeDuties } from "./store_duties.ts";
import { Traffic } from "../../observe/traffic.ts";
import { secretKeyBytes } from "../../../core/chacha.ts";
import { parameterTable } from "../../../core/model/spec.ts";
import { openAfter } from "../../../core/orchestrator/past_rounds.ts";

export function startOrchestrator(options: OrchestratorRoleOptions): RunningOrchestrator {
  return new OrchestratorRole(options);
}

class OrchestratorRole implements RunningOrchestrator {
  readonly state: OrchestratorState;
  readonly traffic: Traffic;
  readonly segments = byteSegments();
  readonly finished: Promise<Finished>;
  readonly members: MemberStore;
  readonly #options: OrchestratorRoleOptions;
  readonly #hub: Hub<NodeMessage, HubMessage>;
  readonly #runtime: HubRuntime<Uint8Array, Segment>;
  readonly #pause: RunPause;
  readonly #holds: Holds;
  readonly #computing: OwnComputing;
  #resolve!: (finished: Finished) => void;
  #reject!: (error: unknown) => void;
  readonly #news: MemberNews;
  #isEnded = false;

  constructor(options: OrchestratorRoleOptions) {
    const { config, timers, recovered = null, savedWires } = options;
    this.#options = options;
    this.traffic = new Traffic(config);
    this.finished = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#hub = this.#openHub();
    this.#news = new MemberNews({
      nowMs: () => timers.nowMs(),
      isMember: (node) => this.state.members.has(node),
      send: (node, notice) => this.#hub.send(node, notice),
      warn: (text) => this.#publish({ type: "warning", text }),
    });
    const { probeRoom = () => Promise.resolve() } = options;
    const onRecord = (record: RunRecord) => this.#publish(record);
    const driver = { hold: () => this.#holds.hold("disk"), resume: () => this.#holds.release("disk") };
    this.#pause = new RunPause({ timers, driver, onRecord, probeRoom });
    this.#computing = new OwnComputing(options, {
      state: () => this.state,
      pause: this.#pause,
      onFailure: (error) => this.#fail(error),
    });
    this.state = recovered?.state ?? newState(options);
    this.#runtime = new HubRuntime({
      machine: orchestrator,
      config,
      state: this.state,
      recovered: recovered === null ? null : { nowMs: recovered.nowMs, saved: (hash) => savedWires?.get(hash) },
      edges: this.#edges(),
    });
    this.#holds = new Holds(this.#runtime);
    this.members = storeDuties({
      ...{ state: this.state, driver: this.#runtime, pause: this.#pause },
      isMember: (node) => this.isMember(node),
      self: options.signer.address,
      onFailure: (error) => this.#fail(error),
    });
    this.#runtime.start();
  }

  #openHub(): Hub<NodeMessage, HubMessage> {
    const { runId: run, signer, verify, admit, tickets, limits, timers, random } = this.#options;
    return new Hub({
      ...{ run, signer, verify, admit, tickets, limits, timers, random },
      read: readNodeMessage,
      onEvent: (event) => this.#onHubEvent(event),
    });
  }

  #edges(): HubEdges<Uint8Array, Segment> {
    const { timers, gather, config, batches, journal = null, onLog = () => {} } = this.#options;
    return {
      timers,
      links: linkEdges(this.#hub, {
        options: this.#options,
        traffic: this.traffic,
        onClosed: (node) => this.#news.closed(node),
      }),
      journal: journal === null ? null : this.#pause.journal(journal),
      ...(gather === undefined ? {} : { gather }),
      ...wireEdges({ config, batches, segments: this.segments }),
      ...this.#computing.edges,
      onRecord: (record) => this.#publish(record),
      onLog,
      onFinish: () => {
        this.#computing.close();
        this.#pause.close();
      },
      onEnd: (finished) => {
        this.#hub.shutDown(finished.reason);
        this.#resolve(finished);
      },
      onFailure: (error) => this.#fail(error),
    };
  }

  get refusals(): RefusalCounts {
    return this.#hub.refusals;
  }

  /** A paused run with a full queue accepts no new connections. */
  accept(wire: Wire): WireHandler {
    if (!this.#runtime.standsStill || !this.#runtime.isFull) return this.#hub.accept(wire);
    wire.close("the orchestrator waits for room on its disk; try again later");
    return { frame: () => {}, closed: () => {} };
  }

  isMember(node: NodeId): boolean {
    return this.#runtime.isConnected(node) || this.state.members.has(node);
  }

  review(): void {
    if (this.#runtime.standsStill) return; // the next review sees the same
    for (const { node, role } of [...this.state.members.values()]) {
      const fault = this.#options.admit({ node, role });
      if (fault?.code === "notAdmitted") this.#runtime.enqueue({ type: "nodeDismissed", node, fault });
    }
  }

  holdForOwner(isHeld: boolean): void {
    if (isHeld) this.#holds.hold("owner");
    else this.#holds.release("owner");
    this.#news.pausedByOwner(isHeld);
  }

  dismiss(node: NodeId, why: { fault: Fault; reason: string }): void {
    this.#runtime.enqueue({ type: "nodeDismissed", node, ...why });
  }

  retryRound(): boolean {
    if (this.state.losses.halt === null) return false;
    this.#runtime.enqueue({ type: "roundRetried" });
    return true;
  }

  changeSettings(changes: readonly SettingChange[]): void {
    this.#runtime.enqueue({ type: "settingsChanged", changes });
  }

  stop(reason: string): void {
    this.#runtime.flush();
    this.#runtime.settle(() => this.#stop(reason));
  }

  #stop(reason: string): void {
    const isOver = this.state.phase === "finished" && this.#runtime.isSettled; // then its last entry is in the journal
    if (this.#isEnded || isOver) return;
    this.#close();
    this.#hub.shutDown("the orchestrator is being stopped and may come back");
    this.#options.onRecord({ type: "runFinished", step: this.state.step, finished: false, reason });
    this.#resolve({ finished: false, reason });
  }

  #onHubEvent(event: HubEvent<NodeMessage>): void {
    if (event.type === "message") this.traffic.received(event);
    this.#news.onHubEvent(event);
    this.#runtime.take(event);
  }

  #publish(record: RunRecord): void {
    this.#news.onRecord(record);
    this.#options.onRecord(record);
  }

  #close(): void {
    this.#isEnded = true;
    this.#runtime.close();
    this.#computing.close();
    this.#pause.close();
  }

  #fail(error: unknown): void {
    this.#close();
    this.#hub.shutDown("the orchestrator failed");
    this.#reject(error);
  }
}

const noPast = { reports: [], expelled: [] };

function newState(options: OrchestratorRoleOptions): OrchestratorState {
  const { config, stages, layersOfStages, from, past = noPast, timers, random } = options;
  const opening = {
    config,
    stages,
    layersOfStages,
    stageFloats: stages.map((spec) => parameterTable(spec).length),
    ...(from === undefined ? {} : { from }),
    secret: random.bytes(secretKeyBytes),
    nowMs: timers.steadyMs(),
  };
  return openAfter(opening, past);
}
