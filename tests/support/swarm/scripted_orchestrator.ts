/**
 * The orchestrator machine alone, without a swarm: a test writes out every event, time is a number. Whole runs are in
 * tests/lab/world.
 *
 * Results are made up but of the right size; what the machine sends is kept for each node until it is looked at.
 */

import { wireBytes } from "../../../core/codec/wire.ts";
import {
  type BlobHash,
  blobHash,
  type BlobRef,
  type NodeId,
  nodeId,
  type StageIndex,
  type TaskId,
} from "../../../core/ids.ts";
import { splitLayers } from "../../../core/model/stages.ts";
import type { PayloadShape } from "../../../core/update/payload_shape.ts";
import type { PayloadStats } from "../../../core/update/payload_stats.ts";
import { parameterTable, type StageSpec, stageSpecs } from "../../../core/model/spec.ts";
import { taskOutput } from "../../../core/model/stage_wires.ts";
import type { OrchestratorEffect, OrchestratorEvent } from "../../../core/orchestrator/event.ts";
import { orchestrator } from "../../../core/orchestrator/machine.ts";
import { type OpenOptions, openOrchestrator, type OrchestratorState } from "../../../core/orchestrator/state.ts";
import type { Holding, HubMessage, NodeMessage, StepSealed } from "../../../core/protocol/message.ts";
import type { PayloadCommitted } from "../../../core/protocol/merge_messages.ts";
import type { SignedStatement } from "../../../core/statements/statement.ts";
import type { RunRecord } from "../../../core/protocol/record.ts";
import { tinyConfig, type TinyOverrides } from "../tiny_model.ts";

type Sent<T extends HubMessage["type"]> = Extract<HubMessage, { type: T }>;

/** A node's message; what it signs may be left out. */
export type Said =
  | NodeMessage
  | Omit<StepSealed, "root" | "signature">
  | Omit<PayloadCommitted, "payload" | "head" | "signature">;

export class ScriptedOrchestrator {
  readonly state: OrchestratorState;
  readonly stages: StageSpec[];
  readonly records: RunRecord[] = [];
  readonly effects: OrchestratorEffect[] = [];
  nowMs = 1_000_000;
  checksPayloads = true;
  checksSignatures = true;
  probesUploads = true;
  refusal: string | null = null; // of an upload to the orchestrator's own address
  letsThroughBytes = 0; // that are not refused in any case
  isGenuine: (signed: SignedStatement) => boolean = () => true;
  loss = 2; // that tails report
  shapeOf: (node: NodeId) => PayloadShape | null = () => null;
  statsOf: (node: NodeId) => PayloadStats | null = () => ({ isFinite: true, squareSum: 1e-12, largest: 1e-9 });
  reduced: BlobHash | null = null; // null: the test answers for the orchestrator
  watch: (event: OrchestratorEvent, effects: readonly OrchestratorEffect[]) => void = () => {};
  apart: (first: BlobRef, last: BlobRef) => number = () => 0; // of two wires of one input
  readonly #inboxes = new Map<NodeId, HubMessage[]>();
  #made = 0;

  constructor(overrides: TinyOverrides, open: (options: OpenOptions) => OrchestratorState = openOrchestrator) {
    const config = tinyConfig({
      deterministic: false,
      pipeline: { stages: 2, codec: "none" },
      ...overrides,
      outer: { learningRate: 1, momentum: 0, reducers: "replicas", ...overrides.outer }, // so that the script reduces
      validate: { trialsPerRound: 0, gradientsPerRound: 0, ...overrides.validate }, // a test of these says so
    });
    const layersOfStages = splitLayers(config);
    this.stages = stageSpecs(config, layersOfStages);
    const stageFloats = this.stages.map((spec) => parameterTable(spec).length);
    const secret = new Uint8Array(32).fill(7);
    this.state = open({
      config,
      stages: this.stages,
      layersOfStages,
      stageFloats,
      secret,
      nowMs: this.nowMs,
    });
  }

  /** The orchestrator's own work on payloads is done at once: they are fine, and reduced to what `reduced` says. */
  step(event: OrchestratorEvent): void {
    const own: OrchestratorEvent[] = [];
    const effects = orchestrator.step(this.state, event, this.nowMs);
    this.watch(event, effects);
    for (const effect of effects) {
      if (effect.type === "record") this.records.push(effect.record);
      else if (effect.type === "send") this.#deliver(effect.to, effect.message);
      else this.effects.push(effect);
      if (effect.type === "checkPayload" && this.checksPayloads) {
        const { round, stage, node, signed } = effect;
        const found = { stats: this.statsOf(node), shape: this.shapeOf(node), isSigned: this.isGenuine(signed) };
        own.push({ type: "payloadChecked", round, stage, node, ...found });
      }
      if (effect.type === "checkSignatures" && this.checksSignatures) {
        const { request, signed } = effect;
        own.push({ type: "signaturesChecked", request, areGenuine: signed.map((each) => this.isGenuine(each)) });
      }
      if (effect.type === "checkUpload" && this.checksPayloads) {
        const { round, stage, node } = effect;
        own.push({ type: "uploadChecked", round, stage, node, isFinite: this.statsOf(node)?.isFinite ?? null });
      }
      if (effect.type === "probeUploads" && this.probesUploads) {
        const refusal = effect.bytes > this.letsThroughBytes ? this.refusal : null;
        own.push({ type: "uploadsProbed", refusal });
      }
      if (effect.type === "compareWires") {
        const { step, microbatch, making, stage, first, last } = effect;
        const apart = this.apart(first, last);
        own.push({ type: "wiresCompared", step, microbatch, making, stage, last: last.hash, apart });
      }
      if (effect.type === "refereeSlice" && this.reduced !== null) {
        const { round, edition, stage, slice, inputs } = effect;
        const result = { hash: this.reduced, bytes: inputs[0]!.payload.bytes };
        own.push({ type: "sliceRefereed", round, edition, stage, slice, result });
      }
    }
    orchestrator.assertInvariants(this.state);
    for (const answer of own) this.step(answer);
  }

  /** Moves time and triggers every deadline on the way. */
  wait(ms: number): void {
    const untilMs = this.nowMs + ms;
    for (;;) {
      const deadlineMs = orchestrator.nextDeadlineMs(this.state);
      if (deadlineMs === null || deadlineMs > untilMs) break;
      this.nowMs = Math.max(this.nowMs, deadlineMs);
      this.step({ type: "tick" });
    }
    this.nowMs = untilMs;
  }

  inbox(node: NodeId): HubMessage[] {
    const messages = this.#inboxes.get(node) ?? [];
    this.#inboxes.set(node, messages);
    return messages;
  }

  /** A new request to commit voids the one before. */
  #deliver(node: NodeId, message: HubMessage): void {
    const inbox = this.inbox(node);
    const before = message.type === "sealStep" ? inbox.findIndex(({ type }) => type === "sealStep") : -1;
    if (before !== -1) inbox.splice(before, 1);
    inbox.push(message);
  }

  /** Takes the oldest message of this type out of the node's inbox. */
  take<T extends HubMessage["type"]>(node: NodeId, type: T): Sent<T> {
    const messages = this.inbox(node);
    const at = messages.findIndex((message) => message.type === type);
    if (at === -1) throw new Error(`${node} has no ${type}, only ${messages.map((message) => message.type).join(" ")}`);
    return messages.splice(at, 1)[0] as Sent<T>;
  }

  /** `largest` value in the wires of a result, and unless given their root mean square. */
  tell(node: NodeId, said: Said, segments: readonly BlobRef[] = [], largest = 1, rms = largest): void {
    const message = this.#signed(node, said);
    const role = message.type === "join" ? message.role : this.state.members.get(node)?.role ?? "miner";
    this.step({ type: "messageReceived", node, role, message, segments, scale: { largest, rms } });
  }

  /** With what an honest miner signs, where the test says nothing else. */
  #signed(node: NodeId, said: Said): NodeMessage {
    if (said.type === "stepSealed") {
      return { root: this.state.work?.asked.get(node)?.root ?? "", signature: "", ...said };
    }
    if (said.type !== "payloadCommitted") return said;
    return { payload: "ef".repeat(32), head: this.state.members.get(node)?.head ?? "", signature: "", ...said };
  }

  join(name: string, options: { holding?: Holding; previousStage?: StageIndex; listens?: string } = {}): NodeId {
    const node = nodeId(name);
    const { holding = null, previousStage = null, listens = null } = options;
    this.step({ type: "nodeConnected", node, role: "miner", resumed: false });
    this.tell(node, { type: "join", role: "miner", adapter: "test", previousStage, holding, listens });
    return node;
  }

  validator(name: string): NodeId {
    const node = nodeId(name);
    this.step({ type: "nodeConnected", node, role: "validator", resumed: false });
    const nothing = { previousStage: null, holding: null, listens: null };
    this.tell(node, { type: "join", role: "validator", adapter: "test", ...nothing });
    return node;
  }

  /** A miner that has loaded the stage it was given. */
  ready(name: string): NodeId {
    const node = this.join(name);
    this.load(node);
    return node;
  }

  load(node: NodeId): StageIndex {
    const { assignment, source, stage } = this.take(node, "assign");
    const parameters = source.type === "blobs" ? source.parameters : this.blob(64);
    this.tell(node, { type: "ready", assignment, parameters });
    return stage;
  }

  blob(bytes: number): BlobRef {
    return { hash: blobHash((++this.#made).toString(16).padStart(64, "0")), bytes };
  }

  /** Answers a task as an honest miner does. */
  finish(node: NodeId, task: Sent<"runTask">, computeMs = 1): void {
    const wire = taskOutput(this.stages[task.stage]!, task.direction);
    const { sequencesPerMicrobatch } = this.state.config.train;
    const losses = task.direction === "turnaround" ? new Array<number>(sequencesPerMicrobatch).fill(this.loss) : null;
    const segments = wire === null ? [] : [this.blob(wireBytes(wire))];
    this.tell(node, { type: "taskDone", task: task.task, losses, computeMs }, segments);
  }

  tasksOf(node: NodeId): Sent<"runTask">[] {
    return this.inbox(node).filter((message): message is Sent<"runTask"> => message.type === "runTask");
  }

  /** Lets these nodes work through everything they are handed, one task each in turn, `taskMs` apart. */
  work(nodes: readonly NodeId[], options: { taskMs?: number; until?: () => boolean } = {}): void {
    const { taskMs = 100, until = () => false } = options;
    for (let busy = true; busy && !until();) {
      busy = false;
      for (const node of nodes) {
        if (until() || this.tasksOf(node).length === 0) continue;
        busy = true;
        this.nowMs += taskMs;
        this.finish(node, this.take(node, "runTask"));
      }
    }
  }

  /** Whether the node has been asked to commit and has done all that the request names. */
  maySeal(node: NodeId): boolean {
    const asked = this.inbox(node).find((message) => message.type === "sealStep");
    return asked !== undefined && !this.tasksOf(node).some(({ task }) => asked.tasks.includes(task));
  }

  seal(node: NodeId, gradientSquareSum = 1): readonly TaskId[] {
    if (!this.maySeal(node)) throw new Error(`${node} has nothing to commit yet`);
    const { step, request, tasks } = this.take(node, "sealStep");
    this.tell(node, { type: "stepSealed", step, request, tasks: tasks.length, gradientSquareSum });
    return tasks;
  }

  count(type: RunRecord["type"]): number {
    return this.records.filter((record) => record.type === type).length;
  }
}
