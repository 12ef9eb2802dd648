/**
 * Whole rounds on the scripted orchestrator with miners of known speed: each miner's speed, stage and noise.
 *
 * Time is virtual and goes from one finished task to the next; merges are made up. A newcomer or a moved miner loads at once.
 */

import type { NodeId } from "../../../core/ids.ts";
import type { Member } from "../../../core/orchestrator/state.ts";
import type { HubMessage } from "../../../core/protocol/message.ts";
import type { RunRecord } from "../../../core/protocol/record.ts";
import { reduceAll } from "./scripted_merge.ts";
import { ScriptedOrchestrator } from "./scripted_orchestrator.ts";
import { prngOf } from "../small_prng.ts";

export interface PacedOptions {
  readonly seed: number;
  readonly stageCosts: readonly number[]; // ms of a forward of a miner of speed 1; a gradient takes three times that
  readonly microbatches: number;
  readonly noise: number; // a task takes 1 - noise to 1 + noise times as long
  readonly replicas?: number;
  readonly latencyMs?: number; // of a link, each way; default 0
}

export type Moved = Extract<RunRecord, { type: "nodeMoved" }>;

export class PacedSwarm {
  readonly hub: ScriptedOrchestrator;
  readonly below: (limit: number) => number;
  readonly #options: PacedOptions;
  readonly #speeds = new Map<NodeId, number>();
  readonly #busyUntil = new Map<NodeId, number>();
  readonly #delays = new Map<NodeId, number>();
  #joined = 0;

  constructor(options: PacedOptions) {
    this.#options = options;
    this.below = prngOf(options.seed);
    const stages = options.stageCosts.length;
    this.hub = new ScriptedOrchestrator({
      model: { layers: stages },
      pipeline: { stages, codec: "none" },
      train: { microbatchesPerStep: options.microbatches, steps: 100_000, stepsPerRound: 1 },
      swarm: { replicas: options.replicas ?? 2, validators: 0, gatherMs: 1_000 },
      limits: { leaseMs: 86_400_000, leasesPerMiner: 2 },
    });
  }

  join(speed: number): NodeId {
    const node = this.hub.ready(`miner-${this.#joined++}`);
    this.#speeds.set(node, speed);
    return node;
  }

  /** The node's next task takes this many times as long, once. */
  delay(node: NodeId, times: number): void {
    this.#delays.set(node, times);
  }

  leave(node: NodeId): void {
    this.hub.tell(node, { type: "leaving", reason: "it goes" });
    this.#speeds.delete(node);
    this.#load(); // a miner moved into its place
  }

  get miners(): NodeId[] {
    return [...this.#speeds.keys()];
  }

  get moves(): Moved[] {
    return this.hub.records.filter((record) => record.type === "nodeMoved");
  }

  /** Of each stage, in order. */
  get replicas(): number[] {
    return this.hub.state.rosters.map(({ assigned }) => assigned);
  }

  stageOf(node: NodeId): number {
    return this.#member(node).stage!;
  }

  /** How long a microbatch takes the stage with its present miners, at the true speeds. */
  get slowestStageMs(): number {
    const { stageCosts } = this.#options;
    return Math.max(...stageCosts.map((cost, stage) => {
      const speed = this.miners.filter((node) => this.stageOf(node) === stage).reduce(
        (sum, node) => sum + this.#speeds.get(node)!,
        0,
      );
      return cost * (stage === stageCosts.length - 1 ? 3 : 4) / speed;
    }));
  }

  /** One step and its merge. */
  round(): void {
    const { hub } = this;
    while (hub.state.work !== null && hub.state.work.left > 0) this.#finishNext();
    this.#seal();
    this.#merge();
    this.#load();
    for (const node of this.miners) {
      const inbox = hub.inbox(node);
      inbox.splice(0, inbox.length, ...inbox.filter((message) => message.type === "runTask"));
    }
  }

  /** A node asked more than once answers each time: only the last answer counts. */
  #seal(): void {
    for (const node of [...this.hub.state.work?.contributors ?? []]) {
      this.#dropCancelled(node);
      while (this.hub.maySeal(node)) this.hub.seal(node);
    }
  }

  /** Another replica was faster: a miner drops what it has not begun. */
  #dropCancelled(node: NodeId): void {
    const inbox = this.hub.inbox(node);
    const cancelled = new Set(inbox.flatMap((message) => message.type === "cancelTasks" ? message.tasks : []));
    const isDropped = (message: HubMessage) =>
      message.type === "cancelTasks" || (message.type === "runTask" && cancelled.has(message.task));
    inbox.splice(0, inbox.length, ...inbox.filter((message) => !isDropped(message)));
  }

  #member(node: NodeId): Member {
    return this.hub.state.members.get(node)!;
  }

  /** Of the tasks begun, the one that is done first. */
  #finishNext(): void {
    const { hub } = this;
    this.#seal(); // at once: a node that does not answer counts as silent
    const { latencyMs = 0 } = this.#options;
    let next: { node: NodeId; doneMs: number } | null = null;
    for (const node of this.miners) {
      const tasks = hub.tasksOf(node);
      for (const { task } of tasks) this.#handedMs(node, task);
      const [task] = tasks;
      if (task === undefined) continue;
      const begunMs = Math.max(this.#busyUntil.get(node) ?? 0, this.#handedMs(node, task.task) + latencyMs);
      const doneMs = begunMs + this.#lasts(node, { name: task.task, units: task.direction === "forward" ? 1 : 3 });
      if (next === null || doneMs < next.doneMs) next = { node, doneMs };
    }
    if (next === null) throw new Error("Nobody has a task, and work is left");
    hub.nowMs = Math.max(hub.nowMs, next.doneMs + latencyMs);
    this.#busyUntil.set(next.node, next.doneMs);
    const task = hub.take(next.node, "runTask");
    const isOpen = hub.state.work!.leased.has(task.task);
    if (isOpen) hub.finish(next.node, task);
  }

  readonly #handed = new Map<string, number>();
  readonly #durations = new Map<string, number>();

  #handedMs(node: NodeId, task: string): number {
    const key = `${node} ${task}`;
    const handedMs = this.#handed.get(key) ?? this.hub.nowMs;
    this.#handed.set(key, handedMs);
    return handedMs;
  }

  #lasts(node: NodeId, { name, units }: { name: string; units: number }): number {
    const { stageCosts, noise } = this.#options;
    const key = `${node} ${name}`;
    const known = this.#durations.get(key);
    if (known !== undefined) return known;
    const drawn = 1 - noise + 2 * noise * this.below(1_000_000) / 1_000_000;
    const times = this.#delays.get(node) ?? 1;
    this.#delays.delete(node);
    const ms = times * units * drawn * stageCosts[this.stageOf(node)]! / this.#speeds.get(node)!;
    this.#durations.set(key, ms);
    return ms;
  }

  #merge(): void {
    const { hub } = this;
    const { round } = hub.state;
    this.#handed.clear();
    this.#durations.clear();
    const nodes = [...hub.state.members.keys()];
    for (const node of nodes) {
      const request = hub.inbox(node).find((message) => message.type === "startMerge");
      if (request?.type !== "startMerge" || !request.contributes) continue;
      hub.tell(node, { type: "payloadCommitted", round, slices: request.slices.map(({ size }) => hub.blob(4 * size)) });
    }
    reduceAll(hub, nodes);
    hub.effects.length = 0;
    const merged = hub.state.stages.map(() => hub.blob(64));
    for (const node of nodes) {
      const stage = hub.state.members.get(node)?.stage ?? null;
      if (stage === null || hub.state.merge?.stages[stage]?.phase !== "applying") continue;
      hub.tell(node, { type: "mergeApplied", round: round + 1, parameters: merged[stage]!, momentum: null });
    }
    for (const stage of hub.state.upload!.stages) {
      if (stage.asked === null || stage.asked === "hub") continue;
      hub.tell(stage.asked, { type: "parametersUploaded", round: round + 1, ...stage.merged });
    }
    hub.step({ type: "checkpointWritten", round: round + 1, folder: "" });
  }

  /** Every miner sent to a stage has it at once. */
  #load(): void {
    for (const node of this.miners) {
      const { status } = this.#member(node);
      const last = this.hub.inbox(node).findLast((message) => message.type === "assign");
      if (status !== "loading" || last === undefined) continue;
      const inbox = this.hub.inbox(node);
      inbox.splice(0, inbox.length, last);
      this.hub.load(node);
    }
  }
}
