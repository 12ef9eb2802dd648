/**
 * Repeats a task or gradient that a validator found wrong, on the processor, as a validator does (validator_host.ts). A
 * stage above `mostBytes` is computed layer by layer (gpu/fit/layered_stage.ts). What cannot be computed is an answer,
 * never a failure of the run.
 */

import type { RunConfig } from "../../../core/config/config.ts";
import { present } from "../../../core/assert.ts";
import type { OrchestratorEffect, OrchestratorEvent } from "../../../core/orchestrator/event.ts";
import { layerSpecs } from "../../../core/model/layer_specs.ts";
import type { StageSpec } from "../../../core/model/spec.ts";
import type { ValidatorResult } from "../../../core/validator/event.ts";
import { type GradientWork, gradientWork, type ReplayWork, replayWork } from "../../../core/validator/replay_work.ts";
import type { BlobRef, StageIndex } from "../../../core/ids.ts";
import { LayeredStage } from "../../../gpu/fit/layered_stage.ts";
import { planStage } from "../../../gpu/stage_plan.ts";
import { type Segment, segmentBytes } from "../../../net/messages/frame.ts";
import { ComputeError } from "../../../gpu/worker_client.ts";
import { ValidatorHost } from "../../node/validator_host.ts";
import type { BlobAccess } from "../../roles/blob_access.ts";
import type { ComputeHost } from "../../device/compute_host.ts";
import { byteSegments } from "../../roles/segments.ts";

export type RefereeTask = Extract<OrchestratorEffect, { type: "refereeTask" }>;
export type RefereeGradient = Extract<OrchestratorEffect, { type: "refereeGradient" }>;

export interface TaskRefereeOptions {
  readonly config: RunConfig;
  readonly stages: readonly StageSpec[];
  readonly layersOfStages: readonly number[];
  readonly blobs: BlobAccess;
  readonly openReferee: () => Promise<ComputeHost>;
  readonly mostBytes?: number; // of a stage or a single layer. @default 4 GiB
}

const usualBytes = 4 * 2 ** 30; // a stage, its gradient and the work of one task

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
    const isWhole = await this.#holds(present(stages[stage], "the task's stage"));
    const segments = byteSegments();
    const refs = contents.map((content) => segments.hold(segmentBytes(content)));
    const work = workOf(refs);
    const device = await this.#opened();
    const keepsGradients = work.type === "gradient";
    const host = new ValidatorHost({
      device: isWhole ? device : layerByLayer(device, { keepsGradients }),
      ...{ blobs, segments },
    });
    try {
      return await host.perform({ config, layersOfStages, work });
    } finally {
      host.close();
    }
  }

  /** False: only each of its layers fits. */
  async #holds(spec: StageSpec): Promise<boolean> {
    const { mostBytes: memoryBytes = usualBytes } = this.#options;
    const planOf = (part: StageSpec) => planStage(part, "cpu", { optimizer: null, memoryBytes });
    if ((await planOf(spec)).fits) return true;
    const tooLarge = (await Promise.all(layerSpecs(spec).map((layer) => planOf(layer.spec)))).find(({ fits }) => !fits);
    if (tooLarge === undefined) return false;
    const { bytes, problem } = tooLarge;
    const why = problem?.message ?? `it takes ${bytes} bytes, and at most ${memoryBytes} are given to it`;
    throw new Error(`a layer of stage ${spec.index} is too large: ${why}`);
  }

  #opened(): Promise<ComputeHost> {
    if (this.#isClosed) throw new Error("the orchestrator is ending");
    return this.#device ??= this.#options.openReferee().catch((error) => {
      this.#device = null; // the next task may find one
      throw error;
    });
  }
}

const layerByLayer = (device: ComputeHost, { keepsGradients }: { keepsGradients: boolean }): ComputeHost => ({
  adapter: device.adapter,
  openStage: (spec, options) => {
    const open = (layer: StageSpec) => device.openStage(layer, options);
    return Promise.resolve(new LayeredStage(spec, { adapter: device.adapter, open, keepsGradients }));
  },
  finish: () => device.finish(),
});
