/**
 * Repeats a task or a gradient that a validator found wrong, on the processor, as a validator does (validator_host.ts).
 *
 * Its device is opened for the first one, again if it stopped, and closed with the run; a stage is closed as soon as the task is repeated, so a hub's
 * memory is its own again. What the hub cannot compute is an answer, never a failure of the run: a stage that takes more
 * than `mostBytes`, a blob that is gone, a machine without room. Out of scope: what follows (core/orchestrator/audit/referee.ts).
 */

import type { RunConfig } from "../../core/config/config.ts";
import { present } from "../../core/assert.ts";
import type { OrchestratorEffect, OrchestratorEvent } from "../../core/orchestrator/event.ts";
import type { StageSpec } from "../../core/model/spec.ts";
import type { ValidatorResult } from "../../core/validator/event.ts";
import { type GradientWork, gradientWork, type ReplayWork, replayWork } from "../../core/validator/replay_work.ts";
import type { BlobRef, StageIndex } from "../../core/ids.ts";
import { bytesOfCpuStage } from "../../gpu/cpu/cpu_stage.ts";
import { type Segment, segmentBytes } from "../../net/messages/frame.ts";
import { ComputeError } from "../../gpu/worker_client.ts";
import { ValidatorHost } from "../node/validator_host.ts";
import type { BlobAccess } from "../roles/blob_access.ts";
import type { ComputeHost } from "../roles/compute_host.ts";
import { byteSegments } from "../roles/segments.ts";

export type RefereeTask = Extract<OrchestratorEffect, { type: "refereeTask" }>;
export type RefereeGradient = Extract<OrchestratorEffect, { type: "refereeGradient" }>;

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

  async repeat(work: RefereeTask | RefereeGradient, contents: readonly Segment[]): Promise<OrchestratorEvent> {
    const { task } = work;
    const { result, detail } = await this.#tried(work, contents);
    if (work.type === "refereeGradient") {
      const squareSum = result?.type === "gradient" ? result.squareSum : null;
      if (squareSum === null || Number.isFinite(squareSum)) {
        return { type: "gradientRefereed", task, squareSum, detail };
      }
      return { type: "gradientRefereed", task, squareSum: null, detail: "it is not finite" };
    }
    if (result?.type !== "replay") return { type: "taskRefereed", task, found: null, detail };
    const { innovationError, equalShare, lossError, beyondRounding, rounding } = result;
    const found = { innovationError, equalShare, lossError, beyondRounding, rounding };
    return { type: "taskRefereed", task, found, detail };
  }

  async #tried(
    work: RefereeTask | RefereeGradient,
    contents: readonly Segment[],
  ): Promise<{ result: ValidatorResult | null; detail: string }> {
    const workOf = (refs: readonly BlobRef[]) =>
      work.type === "refereeTask" ? replayWork(work, refs) : gradientWork({ ...work, first: 0, isLast: true }, refs);
    try {
      return { result: await this.#repeat(work.stage, { contents, workOf }), detail: "" };
    } catch (error) {
      if (error instanceof ComputeError && error.kind === "WorkerStopped") this.#device = null;
      return { result: null, detail: error instanceof Error ? error.message : String(error) };
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#device?.then((device) => device.finish(), () => {});
  }

  async #repeat(
    stage: StageIndex,
    { contents, workOf }: {
      contents: readonly Segment[];
      workOf: (refs: readonly BlobRef[]) => ReplayWork | GradientWork;
    },
  ): Promise<ValidatorResult> {
    const { config, stages, layersOfStages, blobs } = this.#options;
    const bytes = await bytesOfCpuStage(present(stages[stage], "the task's stage"), { optimizer: null });
    if (bytes > mostBytes) throw new Error(`stage ${stage} takes ${bytes} bytes; at most ${mostBytes} are given to it`);
    const segments = byteSegments();
    const refs = contents.map((content) => segments.hold(segmentBytes(content)));
    const host = new ValidatorHost({ device: await this.#opened(), blobs, segments });
    try {
      return await host.perform({ config, layersOfStages, work: workOf(refs) });
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
