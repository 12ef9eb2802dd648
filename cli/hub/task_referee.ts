/**
 * Repeats a task that a validator found wrong, on the processor, as a validator does (validator_host.ts).
 *
 * Its device is opened for the first one, again if it stopped, and closed with the run; a stage is closed as soon as the task is repeated, so a hub's
 * memory is its own again. What the hub cannot compute is an answer, never a failure of the run: a stage that takes more
 * than `mostBytes`, a blob that is gone, a machine without room. Out of scope: what follows (core/orchestrator/audit/referee.ts).
 */

import type { RunConfig } from "../../core/config/config.ts";
import { present } from "../../core/assert.ts";
import type { OrchestratorEffect, OrchestratorEvent } from "../../core/orchestrator/event.ts";
import type { StageSpec } from "../../core/model/spec.ts";
import { replayWork } from "../../core/validator/replay_work.ts";
import type { RefereedRepetition } from "../../core/score/verdict.ts";
import { bytesOfCpuStage } from "../../gpu/cpu/cpu_stage.ts";
import { type Segment, segmentBytes } from "../../net/messages/frame.ts";
import { ComputeError } from "../../gpu/worker_client.ts";
import { ValidatorHost } from "../node/validator_host.ts";
import type { BlobAccess } from "../roles/blob_access.ts";
import type { ComputeHost } from "../roles/compute_host.ts";
import { byteSegments } from "../roles/segments.ts";

export type RefereeTask = Extract<OrchestratorEffect, { type: "refereeTask" }>;

export interface TaskRefereeOptions {
  readonly config: RunConfig;
  readonly stages: readonly StageSpec[];
  readonly layersOfStages: readonly number[];
  readonly blobs: BlobAccess;
  readonly openReferee: () => Promise<ComputeHost>;
}

const mostBytes = 4 * 2 ** 30; // of a stage with a gradient and the work of one task

export class TaskReferee {
  readonly #options: TaskRefereeOptions;
  #device: Promise<ComputeHost> | null = null;
  #isClosed = false;

  constructor(options: TaskRefereeOptions) {
    this.#options = options;
  }

  async repeat(work: RefereeTask, contents: readonly Segment[]): Promise<OrchestratorEvent> {
    const { task } = work;
    try {
      return { type: "taskRefereed", task, found: await this.#repeat(work, contents), detail: "" };
    } catch (error) {
      if (error instanceof ComputeError && error.kind === "WorkerStopped") this.#device = null;
      const detail = error instanceof Error ? error.message : String(error);
      return { type: "taskRefereed", task, found: null, detail };
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#device?.then((device) => device.finish(), () => {});
  }

  async #repeat(task: RefereeTask, contents: readonly Segment[]): Promise<RefereedRepetition> {
    const { stage } = task;
    const { config, stages, layersOfStages, blobs } = this.#options;
    const bytes = await bytesOfCpuStage(present(stages[stage], "the task's stage"), { optimizer: null });
    if (bytes > mostBytes) throw new Error(`stage ${stage} takes ${bytes} bytes; at most ${mostBytes} are given to it`);
    const segments = byteSegments();
    const refs = contents.map((content) => segments.hold(segmentBytes(content)));
    const host = new ValidatorHost({ device: await this.#opened(), blobs, segments });
    try {
      const result = await host.perform({ config, layersOfStages, work: replayWork(task, refs) });
      if (result.type !== "replay") throw new Error("it was not repeated");
      const { innovationError, equalShare, lossError, beyondRounding, rounding } = result;
      return { innovationError, equalShare, lossError, beyondRounding, rounding };
    } finally {
      host.close();
    }
  }

  #opened(): Promise<ComputeHost> {
    if (this.#isClosed) throw new Error("the orchestrator is ending");
    return this.#device ??= this.#options.openReferee().catch((error) => {
      this.#device = null; // the next task may find one
      throw error;
    });
  }
}
