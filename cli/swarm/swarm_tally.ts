/**
 * A swarm's record of its run over all lives of the orchestrator, for the summary. Each step counts once, and so does
 * each audit of the last few rounds, by round, validator, task, kind and outcome.
 */

import type { RunRecord } from "../../core/protocol/record.ts";
import type { ByteKind } from "../../core/view/curves.ts";
import { portBytes } from "../observe/run_summary.ts";
import { TrainedTokens } from "../../core/view/trained_tokens.ts";
import type { Line } from "./supervised_process.ts";

const rememberedRounds = 8;

interface RoundLoss {
  readonly round: number;
  readonly loss: number;
}

export class SwarmTally {
  firstStepAtMs: number | null = null;
  #trainingSinceMs: number | null = null;
  readonly #trained = new TrainedTokens();
  #round = 0;
  #lossFirst: number | null = null;
  #lossLast: number | null = null;
  #validationFirst: RoundLoss | null = null;
  #validationLast: RoundLoss | null = null;
  #reLeases = 0;
  #stageHashesAgree: boolean | null = null;
  #resumedAtStep: number | null = null; // in the swarm's first life
  #verdicts = { passed: 0, failed: 0 };
  #checkpoint: string | null = null;
  readonly #audits = new Map<number, Set<string>>();

  /** Only the first orchestrator says where it began. */
  begin(step: number): void {
    if (this.#trained.step === null) this.#resumedAtStep ??= step;
  }

  onRecord(record: RunRecord, nowMs: number): void {
    switch (record.type) {
      case "runStarted":
        this.#trainingSinceMs ??= nowMs;
        return;
      case "stepClosed":
        return this.#onStep(record, nowMs);
      case "rewound":
        if (this.#trained.step === null) this.#resumedAtStep = record.toStep;
        return;
      case "nodeLost":
        this.#reLeases += record.tasksReissued;
        return;
      case "taskReleased":
        this.#reLeases += 1;
        return;
      case "roundMerged":
        this.#round = Math.max(this.#round, record.round);
        this.#stageHashesAgree = this.#stageHashesAgree !== false && record.stages.every((stage) => stage.agree);
        return;
      case "checkpointWritten":
        this.#checkpoint = record.folder;
        return;
      case "evaluated":
        return this.#onEvaluated(record);
      case "verdict":
        return this.#onVerdict(record);
    }
  }

  /**
   * `orchestrator` null: it was away at the end. `moved`: bytes over the port in all lives, less a killed one's since
   * its last step.
   */
  summary(
    orchestrator: Line | null,
    { nowMs, moved }: { nowMs: number; moved: Readonly<Record<ByteKind, number>> },
  ): Record<string, unknown> {
    const untold = { finished: false, steps: this.#trained.step ?? 0, rounds: this.#round, microbatchesLost: null };
    const { type: _, ...told }: Line = orchestrator ?? untold;
    const trainingMs = this.#trainingSinceMs === null ? null : nowMs - this.#trainingSinceMs;
    const tokens = this.#trained.total;
    return {
      ...told,
      tokens,
      tokensPerSecond: trainingMs === null || trainingMs === 0 ? null : (tokens * 1000) / trainingMs,
      ...portBytes(moved, tokens),
      lossFirst: this.#lossFirst,
      lossLast: this.#lossLast,
      validationLossFirst: this.#validationFirst?.loss ?? null,
      validationLossLast: this.#validationLast?.loss ?? told["validationLossLast"] ?? null,
      reLeases: this.#reLeases,
      stageHashesAgree: told["stageHashesAgree"] === false ? false : this.#stageHashesAgree,
      verdictsPassed: this.#verdicts.passed,
      verdictsFailed: this.#verdicts.failed,
      checkpoint: told["checkpoint"] ?? this.#checkpoint,
      resumedAtStep: this.#resumedAtStep,
    };
  }

  #onStep(record: Extract<RunRecord, { type: "stepClosed" }>, nowMs: number): void {
    this.firstStepAtMs ??= nowMs;
    this.#trainingSinceMs ??= nowMs;
    this.#lossFirst ??= record.loss;
    this.#lossLast = record.loss;
    this.#trained.note(record);
  }

  #onEvaluated({ round, loss }: Extract<RunRecord, { type: "evaluated" }>): void {
    if (this.#validationFirst === null || round < this.#validationFirst.round) this.#validationFirst = { round, loss };
    if (round === 0) return; // nothing has been learned
    if (this.#validationLast === null || round >= this.#validationLast.round) this.#validationLast = { round, loss };
  }

  #onVerdict({ round, validator, miner, task, passed, gradient }: Extract<RunRecord, { type: "verdict" }>): void {
    const seen = this.#audits.get(round) ?? new Set();
    const audit = `${validator} ${miner} ${task} ${gradient === undefined} ${passed}`; // both outcomes are reported
    if (seen.has(audit)) return;
    this.#audits.set(round, seen.add(audit));
    for (const other of this.#audits.keys()) if (other < round - rememberedRounds) this.#audits.delete(other);
    this.#verdicts[passed ? "passed" : "failed"] += 1;
  }
}
