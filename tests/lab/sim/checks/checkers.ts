/**
 * What must hold for a whole run, checked from outside the machines while they run.
 *
 * Owns the rules that no single machine can assert: credit, order, agreement, quorum, no honest node banned or proven
 * to lie, no blob deleted that is still needed. Counts the numbers of the summary. A broken rule throws `Violation`.
 */

import type { Fault } from "../../../../core/fault.ts";
import type { BlobRef, NodeId, TaskId } from "../../../../core/ids.ts";
import type { MachineEntry } from "../../../../core/ledger/entry.ts";
import type { OrchestratorEvent } from "../../../../core/orchestrator/event.ts";
import type { StageMerge } from "../../../../core/orchestrator/merge/merge_state.ts";
import { type OrchestratorState, tokensPerMicrobatch } from "../../../../core/orchestrator/state.ts";
import type { HubMessage } from "../../../../core/protocol/message.ts";
import type { RunRecord } from "../../../../core/protocol/record.ts";
import { CreditCheck, type KeptGradient } from "./credit_check.ts";
import type { HubWatch } from "./hub_watch.ts";
import { LedgerCheck } from "./ledger_check.ts";
import { MergeCheck, type OwnMerge } from "./merge_check.ts";
import type { NodeWatch, WatchedWork } from "./node_watch.ts";
import type { SwarmShape } from "../swarm_shape.ts";
import { must } from "./violation.ts";

interface WatchedNode {
  readonly node: NodeId;
  readonly isHonest: boolean;
}

export interface CheckersOptions {
  readonly shape: SwarmShape;
  readonly miners: number;
  readonly nowMs: () => number;
  readonly hubState: () => OrchestratorState;
  /** False for a hotkey that ever lied, spoiled or flooded. */
  readonly isHonest: (node: NodeId) => boolean;
}

const alwaysUpTo = 64; // miners; then less often, because a check's cost grows with the miners

export class Checkers implements HubWatch, NodeWatch {
  readonly #options: CheckersOptions;
  readonly #credit: CreditCheck;
  readonly #ledger = new LedgerCheck();
  readonly #merges = new MergeCheck();
  readonly #checkEvery: number; // events
  readonly #kept = new Map<number, readonly KeptGradient[]>(); // by step: gradients of lost miners that count
  readonly #dismissed = new Set<NodeId>(); // and have not come back
  #untilCheck = 0;
  #crashedAtMs: number | null = null;
  steps = 0;
  rounds = 0;
  tokens = 0;
  accepted = 0; // tasks
  computed = 0;
  nodesJoined = 0;
  nodesLost = 0;
  nodesRefused = 0;
  tasksKept = 0; // committed by miners that were lost before the step closed
  mostSlices = 0; // of a stage in a merge
  slowestRecoveryMs: number | null = null;

  constructor(options: CheckersOptions) {
    this.#options = options;
    this.#credit = new CreditCheck(options.shape.config);
    this.#checkEvery = options.miners <= alwaysUpTo ? 1 : Math.ceil((options.miners / 64) ** 2);
  }

  isCheckDue(): boolean {
    this.#untilCheck -= 1;
    if (this.#untilCheck > 0) return false;
    this.#untilCheck = this.#checkEvery;
    return true;
  }

  // ------------------------------------------------------------------------------------------------ orchestrator

  onEvent(event: OrchestratorEvent, state: OrchestratorState): void {
    this.#merges.onEvent(event, state);
    if (state.work !== null) this.#kept.set(state.step, state.work.departed); // which the machine changes until the step closes
    if (event.type === "nodeDismissed" && state.members.has(event.node)) this.#dismissed.add(event.node);
    if (event.type !== "messageReceived") return;
    if (event.message.type === "join") this.#dismissed.delete(event.node);
    if (event.message.type === "stepSealed") this.#credit.onSealed(event.node, event.message);
  }

  onSend(to: NodeId, message: HubMessage, state: OrchestratorState): void {
    if (message.type === "startMerge") this.mostSlices = Math.max(this.mostSlices, message.slices.length);
    this.#merges.onSend(to, message, state);
    this.#credit.onSend(to, message);
  }

  onDisconnect(node: NodeId, fault: Fault): void {
    if (fault.code === "notAdmitted" && !this.#dismissed.has(node)) this.#mustNotBeHonest(node, fault.detail);
  }

  hubCrashed(): void {
    this.#crashedAtMs = this.#options.nowMs();
  }

  onLog(entry: MachineEntry): void {
    this.#ledger.onLog(entry);
  }

  onRestarted({ step, round }: OrchestratorState): void {
    this.#ledger.hubRestarted({ step, round });
  }

  onRecord(record: RunRecord, state: OrchestratorState): void {
    this.#ledger.onRecord(record);
    switch (record.type) {
      case "taskFinished":
        return this.#taskFinished();
      case "stepClosed":
        return this.#stepClosed(record, state);
      case "roundMerged":
        this.rounds += 1;
        return this.#merges.roundMerged(record, state);
      case "verdict":
        return this.#verdict(record);
      case "sliceDisputed":
        if (record.liar !== null) this.#mustNotBeHonest(record.liar, `slice ${record.slice} differed`);
        return;
      case "rewound":
        this.tokens -= record.tokens;
        return this.#credit.rewound(record.toStep);
      case "mergeRetaken":
        this.tokens -= record.tokens;
        this.#merges.roundRetaken(record, state);
        return this.#credit.rewound(record.step);
      case "nodeJoined":
        this.nodesJoined += 1;
        return;
      case "nodeLost":
        this.nodesLost += 1;
        this.tasksKept += record.tasksKept;
        return this.#credit.nodeLost(record);
      default: // the other records state no rule
        return;
    }
  }

  #verdict({ passed, task, miner }: Extract<RunRecord, { type: "verdict" }>): void {
    if (!passed) this.#mustNotBeHonest(miner, `replay of ${task} failed`);
  }

  #taskFinished(): void {
    this.accepted += 1;
    if (this.#crashedAtMs === null) return;
    const tookMs = this.#options.nowMs() - this.#crashedAtMs;
    this.slowestRecoveryMs = Math.max(this.slowestRecoveryMs ?? 0, tookMs);
    this.#crashedAtMs = null;
  }

  #stepClosed(record: Extract<RunRecord, { type: "stepClosed" }>, state: OrchestratorState): void {
    this.#credit.stepClosed(record.step, this.#kept.get(record.step - 1) ?? []);
    this.#kept.delete(record.step - 1);
    this.steps = record.step;
    this.tokens += record.tokens;
    const credited = state.counters.microbatchesCredited * tokensPerMicrobatch(this.#options.shape.config);
    must(
      this.tokens === credited && this.tokens === state.counters.tokens,
      "tokens are conserved",
      () => `${this.tokens} in steps, ${credited} in credited microbatches, ${state.counters.tokens} counted`,
    );
  }

  #mustNotBeHonest(node: NodeId, detail: string): void {
    must(!this.#options.isHonest(node), "an honest node is never proven to lie", () => `${node}: ${detail}`);
  }

  // ------------------------------------------------------------------------------------------------------- nodes

  stepApplied(node: WatchedNode, step: { step: number; tasks: readonly TaskId[] }): void {
    if (node.isHonest) this.#credit.stepApplied(node.node, step);
  }

  merged(node: WatchedNode, merged: OwnMerge & { readonly round: number }): void {
    if (node.isHonest) this.#merges.merged(node.node, merged);
  }

  taskComputed(): void {
    this.computed += 1;
  }

  workFailed(node: WatchedNode, failed: WatchedWork & { readonly fault: Fault }): void {
    must(
      !this.isWanted(node, failed),
      "a blob that is needed is not deleted",
      () => `${node.node} cannot do ${failed.work} of round ${failed.round}: ${failed.fault.detail}`,
    );
  }

  isWanted({ node }: WatchedNode, { work, stage, round, payloads }: WatchedWork): boolean {
    const state = this.#options.hubState();
    const member = state.members.get(node);
    if (member === undefined) return false;
    switch (work) {
      case "loadStage":
        if (member.stage !== stage || member.status !== "loading") return false; // it was moved meanwhile
        return member.loadingRound === round && state.sources.round === round;
      case "reduceSlice":
        return state.round === round &&
          state.merge?.stages.some((merge) => isAsked(merge, { node, payloads })) === true;
      case "applyMerge":
        return state.round === round &&
          state.merge?.stages.some((stage) => stage.phase !== "agreed" && stage.participants.has(node)) === true;
      default:
        return [...state.audit.running.values()].some((running) => running.validator === node);
    }
  }

  refused(node: WatchedNode): void {
    this.nodesRefused += 1;
    if (!this.#dismissed.has(node.node)) this.#mustNotBeHonest(node.node, "refused for good");
  }
}

/** Whether the stage's merge still wants exactly this reduction from the node: removed payloads start a new edition. */
function isAsked(merge: StageMerge, { node, payloads }: { node: NodeId; payloads: readonly BlobRef[] }): boolean {
  const stored = [...merge.payloads.values()];
  const areInputs = (index: number) => {
    const names = new Set<string | undefined>(stored.map(({ hashes }) => hashes[index]));
    return payloads.every(({ hash }) => names.has(hash));
  };
  return merge.phase === "reducing" && merge.participants.has(node) &&
    merge.slices.some(({ told, results }, index) => told.has(node) && !results.has(node) && areInputs(index));
}
