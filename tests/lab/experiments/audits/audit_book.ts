/**
 * What validators are asked in a run, read from what its orchestrator sends: which tasks of whom, and what answering costs.
 *
 * FLOPs are counted in forwards of the mean stage (core/model/task_flops.ts). A repeated backward costs two if its validator has
 * just repeated the forward, three otherwise. Only rounds before `rounds` count, as those after them are not over.
 */

import { present } from "../../../../core/assert.ts";
import type { RunConfig } from "../../../../core/config/config.ts";
import { type NodeId, partsOf, type TaskId } from "../../../../core/ids.ts";
import { forwardUnits } from "../../../../core/model/task_flops.ts";
import { stageSpecs } from "../../../../core/model/spec.ts";
import { splitLayers } from "../../../../core/model/stages.ts";
import type { OrchestratorEffect } from "../../../../core/orchestrator/event.ts";

/** FLOPs of validators by what they were asked for. */
export interface AuditFlops {
  replays: number;
  gradients: number;
  evaluations: number;
  trials: number;
}

type Sent = Extract<OrchestratorEffect, { type: "send" }>;

const segmentsOfTask = 2; // of a gradient: its input, and targets or the gradient after it

export class AuditBook {
  readonly flops: AuditFlops = { replays: 0, gradients: 0, evaluations: 0, trials: 0 };
  readonly #rounds: number;
  readonly #units: readonly number[]; // of a forward of each stage
  readonly #evaluation: number;
  readonly #microbatch: number;
  readonly #asked = new Map<NodeId, Map<number, Set<TaskId>>>(); // by miner and round
  readonly #forwards = new Map<NodeId, string>(); // by validator: the forward it was asked for last

  constructor(config: RunConfig, rounds: number) {
    this.#rounds = rounds;
    this.#units = forwardUnits(stageSpecs(config, splitLayers(config)));
    this.#microbatch = this.#units.reduce((sum, unit) => sum + unit, 0);
    const { validate, train } = config;
    this.#evaluation = Math.ceil(validate.heldOutSequences / train.sequencesPerMicrobatch) * this.#microbatch;
  }

  /** Of miners that train so many microbatches. */
  trained(microbatches: number): number {
    return 3 * microbatches * this.#microbatch;
  }

  tasksOf(miner: NodeId, round: number): readonly TaskId[] {
    return [...this.#asked.get(miner)?.get(round) ?? []];
  }

  note({ to: validator, message, attachments }: Sent): void {
    if (!("round" in message) || message.round === null || message.round >= this.#rounds) return;
    switch (message.type) {
      case "evaluate":
        this.flops[message.isTrial ? "trials" : "evaluations"] += this.#evaluation;
        break;
      case "repeatGradient":
        this.flops.gradients += 3 * this.#unit(message.stage) * attachments.length / segmentsOfTask;
        break;
      case "replay": {
        const { miner, round, task, stage, direction } = message;
        const pass = passOf(task);
        const isNext = direction === "backward" && this.#forwards.get(validator) === pass;
        this.flops.replays += this.#unit(stage) * (direction === "forward" ? 1 : isNext ? 2 : 3);
        this.#asked.set(miner, this.#asked.get(miner) ?? new Map<number, Set<TaskId>>());
        const rounds = present(this.#asked.get(miner), "just set");
        rounds.set(round, (rounds.get(round) ?? new Set()).add(task));
        if (direction === "forward") this.#forwards.set(validator, pass);
        else this.#forwards.delete(validator);
        return;
      }
      default:
        return;
    }
    this.#forwards.delete(validator);
  }

  #unit(stage: number): number {
    return present(this.#units[stage], "every stage has a cost");
  }
}

/** Forward and backward of a microbatch in a stage. */
function passOf(task: TaskId): string {
  const [microbatch] = task.split(".");
  return `${microbatch} ${partsOf(task).stage}`;
}
