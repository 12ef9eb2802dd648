/**
 * The orchestrator in the real world: sockets, blobs, data, checkpoints and a disk that may be full, around the hub's runtime.
 *
 * Owns the edges that hub_runtime.ts leaves open, and the measured traffic. It runs no part of the model except what a dispute
 * requires of the hub.
 */

import type { SettingChange } from "../../../core/settings/change.ts";
import type { Fault } from "../../../core/fault.ts";
import type { NodeId, StageIndex } from "../../../core/ids.ts";
import { secretKeyBytes } from "../../../core/chacha.ts";
import { badScale, wireScale } from "../../../core/codec/wire.ts";
import { wiresApart } from "../../../core/codec/wire_apart.ts";
import { isOfTokens } from "./token_check.ts";
import { parameterTable } from "../../../core/model/spec.ts";
import type { OrchestratorEvent } from "../../../core/orchestrator/event.ts";
import { orchestrator } from "../../../core/orchestrator/machine.ts";
import { openAfter } from "../../../core/orchestrator/past_rounds.ts";
import type { OrchestratorState } from "../../../core/orchestrator/state.ts";
import type { HubMessage, NodeMessage } from "../../../core/protocol/message.ts";
import type { RunRecord } from "../../../core/protocol/record.ts";
import { Hub } from "../../../net/links/hub.ts";
import type { Segment } from "../../../net/messages/frame.ts";
import { readNodeMessage } from "../../../net/messages/schema_node.ts";
import type { RefusalCounts } from "../../../net/auth/refusals.ts";
import type { HubEvent } from "../../../net/links/transport.ts";
import type { Wire, WireHandler } from "../../../net/links/wire.ts";
import { ThreadLost } from "./arithmetic/arithmetic_thread.ts";
import { plainArithmetic, type VectorArithmetic } from "./arithmetic/vector_calls.ts";
import { withPass } from "./assign_pass.ts";
import { MemberNews } from "./members/member_news.ts";
import { Holds } from "./holds.ts";
import { Attachments } from "../../roles/attachments.ts";
import { StageUnavailable } from "./checkpoint_writer.ts";
import { type HubEdges, HubRuntime, type LeftBehind, type OwnWork } from "./hub_runtime.ts";
import type { StateJournal } from "./journal/hub_journal.ts";
import { type HubWork, performHubWork } from "./hub_work.ts";
import type { MemberStore } from "./hub_store.ts";
import type { Finished } from "../../node/node_runtime.ts";
import { needOfCheckpoint, needOfWork, RunPause } from "./run_pause.ts";
import type { OrchestratorRoleOptions, RunningOrchestrator } from "./running_orchestrator.ts";
import { byteSegments } from "../../roles/segments.ts";
import { plainChecker, type SignatureChecker } from "../../roles/signatures/signature_check.ts";
import { storeDuties } from "./store_duties.ts";
import { TaskReferee } from "./task_referee.ts";
import { Traffic } from "../../observe/traffic.ts";

export function startOrchestrator(options: OrchestratorRoleOptions): RunningOrchestrator {
  return new OrchestratorRole(options);
}

const noPast = { reports: [], expelled: [] };

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
  readonly #referee: TaskReferee;
  readonly #checker: SignatureChecker;
  readonly #own: VectorArithmetic; // on this thread
  #arithmetic: VectorArithmetic;
  #resolve!: (finished: Finished) => void;
  #reject!: (error: unknown) => void;
  readonly #news: MemberNews;
  #isEnded = false;

  constructor(options: OrchestratorRoleOptions) {
    const { config, timers, recovered = null } = options;
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
    this.#referee = new TaskReferee(options);
    this.#checker = options.checker ?? plainChecker(options.runId, options.verify);
    this.#own = plainArithmetic(options);
    this.#arithmetic = options.arithmetic ?? this.#own;
    this.state = recovered?.state ?? this.#newState();
    this.#runtime = new HubRuntime({
      machine: orchestrator,
      config,
      state: this.state,
      recovered: this.#leftBehind(),
      edges: this.#edges(),
    });
    const { probeRoom = () => Promise.resolve() } = options;
    const onRecord = (record: RunRecord) => this.#publish(record);
    this.#holds = new Holds(this.#runtime);
    const driver = { hold: () => this.#holds.hold("disk"), resume: () => this.#holds.release("disk") };
    this.#pause = new RunPause({ timers, driver, onRecord, probeRoom });
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

  #newState(): OrchestratorState {
    const { config, stages, layersOfStages, from, past = noPast, timers, random } = this.#options;
    const options = {
      config,
      stages,
      layersOfStages,
      stageFloats: stages.map((spec) => parameterTable(spec).length),
      ...(from === undefined ? {} : { from }),
      secret: random.bytes(secretKeyBytes),
      nowMs: timers.steadyMs(),
    };
    return openAfter(options, past);
  }

  #leftBehind(): LeftBehind<Uint8Array> | null {
    const { recovered = null, savedWires } = this.#options;
    return recovered === null ? null : { nowMs: recovered.nowMs, saved: (hash) => savedWires?.get(hash) };
  }

  #edges(): HubEdges<Uint8Array, Segment> {
    const { timers, gather, blobs, config, batches, onLog = () => {}, traces } = this.#options;
    const { probeUpload = () => Promise.resolve(null) } = this.#options;
    const { segments } = this;
    const attachments = new Attachments({ config, batches, segments });
    return {
      timers,
      links: {
        send: (to, message, segments) => {
          const named = withPass(traces?.named(message, to) ?? message, to, this.#options);
          const sent = this.#hub.send(to, named, segments);
          if (sent.ok) this.traffic.sent({ node: to, message, segments: segments?.length ?? 0, bytes: sent.value });
          return sent;
        },
        close: (node, fault) => {
          this.#hub.close(node, fault);
          this.#news.closed(node);
        },
        pause: () => this.#hub.pause(),
        resume: () => this.#hub.resume(),
      },
      journal: this.#pausingJournal(),
      ...(gather === undefined ? {} : { gather }),
      segments,
      attach: (attachment) => attachments.segmentOf(attachment),
      scaleOf: (wire, bytes, microbatch) =>
        isOfTokens(wire, { bytes, batches, microbatch }) ? wireScale(wire, bytes) : badScale,
      apart: wiresApart,
      referee: (work, contents, done) => this.#work(async () => done(await this.#referee.repeat(work, contents))),
      checkSignatures: (signed, done) => this.#work(async () => done(await this.#checker.check(signed))),
      work: (work, done) => this.#perform(work, done),
      probeUploads: (bytes, done) => this.#work(async () => done(await probeUpload(bytes))),
      deleteBlobs: (hashes) => {
        for (const hash of hashes) this.#work(() => blobs.delete(hash));
      },
      sweepBlobs: (used) => this.#work(() => blobs.sweep(used)),
      onRecord: (record) => this.#publish(record),
      onLog,
      onFinish: () => {
        this.#referee.close();
        this.#checker.close();
        this.#arithmetic.close();
        this.#pause.close();
      },
      onEnd: (finished) => {
        this.#hub.shutDown(finished.reason);
        this.#resolve(finished);
      },
      onFailure: (error) => this.#fail(error),
    };
  }

  /** While the disk is full, an entry waits for room, and the run with it. */
  #pausingJournal(): StateJournal | null {
    const { journal = null } = this.#options;
    if (journal === null) return null;
    return {
      begin: (state, nowMs) => journal.begin(state, nowMs),
      commit: (batch, state) => this.#pause.commit(() => journal.commit(batch, state)),
      get isBehind() {
        return journal.isBehind === true;
      },
    };
  }

  get refusals(): RefusalCounts {
    return this.#hub.refusals;
  }

  /** A paused run takes no more events than it has room for; connected nodes stay. */
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
    const isOver = this.state.phase === "finished" && this.#runtime.isSettled; // else its last entry is not in the journal
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

  #perform(work: OwnWork, done: (event: OrchestratorEvent) => void): void {
    if (work.type === "writeCheckpoint") return this.#writeCheckpoint(work, done);
    this.#work(async () => done(await this.#hubWork(work)));
  }

  #hubWork(work: HubWork): Promise<OrchestratorEvent> {
    return this.#pause.work(
      needOfWork(work, this.state.stageFloats),
      () => this.#computed(work),
    );
  }

  /** All of it again on this thread if one of those that compute is lost. */
  async #computed(work: HubWork): Promise<OrchestratorEvent> {
    const place = { ...this.#options, checker: this.#checker };
    try {
      return await performHubWork(work, { ...place, arithmetic: this.#arithmetic });
    } catch (error) {
      if (!(error instanceof ThreadLost)) throw error;
      if (error.isForGood) this.#arithmetic = this.#own;
      return await performHubWork(work, { ...place, arithmetic: this.#own });
    }
  }

  #writeCheckpoint(
    effect: Extract<OwnWork, { type: "writeCheckpoint" }>,
    done: (event: OrchestratorEvent) => void,
  ): void {
    const { round } = effect;
    const need = needOfCheckpoint(round, this.state.stageFloats);
    this.#pause.work(need, () => this.#options.storeRound(effect)).then(
      (folder) => done({ type: "checkpointWritten", round, folder }),
      (error) => done({ type: "checkpointFailed", round, detail: textOf(error), missing: missingStage(error) }),
    );
  }

  /** Runs work whose failure is our own bug. */
  #work(body: () => Promise<void>): void {
    body().catch((error) => this.#fail(error));
  }

  #close(): void {
    this.#isEnded = true;
    this.#runtime.close();
    this.#referee.close();
    this.#checker.close();
    this.#arithmetic.close();
    this.#pause.close();
  }

  #fail(error: unknown): void {
    this.#close();
    this.#hub.shutDown("the orchestrator failed");
    this.#reject(error);
  }
}

/** The stage whose blobs the store does not have, if that is why. */
function missingStage(error: unknown): StageIndex | null {
  return error instanceof StageUnavailable ? error.stage : null;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
