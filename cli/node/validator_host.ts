/**
 * All stages on one device for a validator: evaluates held-out text and repeats single tasks.
 *
 * Each stage keeps the parameters of the last round requested. Nothing here trains: gradients of a repeated task are
 * discarded.
 */

import { present } from "../../core/assert.ts";
import { decodeWire, type Wire } from "../../core/codec/wire.ts";
import type { RunConfig } from "../../core/config/config.ts";
import { fault, type Parsed } from "../../core/fault.ts";
import { type ParameterTable, parameterTable, type StageSpec, stageSpecs } from "../../core/model/spec.ts";
import { stageWires, taskOutput } from "../../core/model/stage_wires.ts";
import type { ParameterSource } from "../../core/protocol/message.ts";
import { innovation } from "../../core/score/innovation.ts";
import type { ValidatorResult, ValidatorWork } from "../../core/validator/event.ts";
import type { StageCompute, StageInput } from "../../gpu/compute.ts";
import type { BlobAccess } from "../roles/blob_access.ts";
import type { ComputeHost } from "../roles/compute_host.ts";
import type { ByteSegments } from "../roles/segments.ts";
import { loadSource } from "./stage_source.ts";
import { WorkRefused } from "./stage_host.ts";
import { readInput, readTokens, readWire, u32Of } from "../roles/stage_input.ts";

interface HeldStage {
  readonly spec: StageSpec;
  readonly table: ParameterTable;
  readonly compute: StageCompute;
  round: number | null; // of its parameters
}

export interface ValidatorHostOptions {
  readonly device: ComputeHost;
  readonly blobs: BlobAccess;
  readonly segments: ByteSegments;
}

export interface ValidatorJob {
  readonly config: RunConfig;
  readonly layersOfStages: readonly number[];
  readonly work: ValidatorWork;
}

function accepted<T>(value: Parsed<T>): T {
  if (value.ok) return value.value;
  throw new WorkRefused(value.fault);
}

export class ValidatorHost {
  readonly #options: ValidatorHostOptions;
  #stages: HeldStage[] = [];

  constructor(options: ValidatorHostOptions) {
    this.#options = options;
  }

  async perform(job: ValidatorJob): Promise<ValidatorResult> {
    await this.#openStages(job);
    return job.work.type === "evaluate" ? await this.#evaluate(job, job.work) : await this.#replay(job, job.work);
  }

  close(): void {
    for (const stage of this.#stages) stage.compute.close();
    this.#stages = [];
  }

  async #openStages({ config, layersOfStages }: ValidatorJob): Promise<void> {
    if (this.#stages.length > 0) return;
    for (const spec of stageSpecs(config, layersOfStages)) {
      const compute = await this.#options.device.openStage(spec);
      this.#stages.push({ spec, table: parameterTable(spec), compute, round: null });
    }
  }

  async #load(stage: HeldStage, options: { config: RunConfig; round: number; source: ParameterSource }): Promise<void> {
    if (stage.round === options.round) return;
    const { blobs } = this.#options;
    const { parameters } = await loadSource({ ...options, table: stage.table, blobs, parametersOnly: true });
    await stage.compute.loadParameters(parameters);
    stage.round = options.round;
  }

  async #evaluate(
    { config }: ValidatorJob,
    work: Extract<ValidatorWork, { type: "evaluate" }>,
  ): Promise<ValidatorResult> {
    for (const [index, stage] of this.#stages.entries()) {
      const source = present(work.sources[index], "every stage has a source");
      await this.#load(stage, { config, round: work.round, source });
    }
    const { segments } = this.#options;
    const inputs = u32Of(segments.get(work.inputs));
    const targets = u32Of(segments.get(work.targets));
    const context = config.model.contextLength;
    const sequences = inputs.length / context;
    if (!Number.isInteger(sequences) || sequences === 0 || targets.length !== inputs.length) {
      throw new WorkRefused(
        fault("badBlob", `Cannot evaluate as held-out text must be whole sequences of ${context} tokens`),
      );
    }
    let sum = 0;
    const perBatch = config.train.sequencesPerMicrobatch;
    for (let first = 0; first < sequences; first += perBatch) {
      const count = Math.min(perBatch, sequences - first);
      const range = { first, count, perBatch, context };
      const losses = await this.#losses(batchOf(inputs, range), batchOf(targets, range));
      for (let i = 0; i < count; i++) sum += losses[i]!;
    }
    return { type: "evaluate", loss: sum / sequences, tokens: inputs.length };
  }

  async #losses(tokens: Uint32Array, targets: Uint32Array): Promise<Float32Array> {
    let input: StageInput = { type: "tokens", tokens };
    for (const { compute } of this.#stages.slice(0, -1)) {
      input = { type: "wire", wire: await compute.forward(input) };
    }
    return await present(this.#stages.at(-1), "a tail").compute.evaluate(input, targets);
  }

  async #replay(
    { config }: ValidatorJob,
    work: Extract<ValidatorWork, { type: "replay" }>,
  ): Promise<ValidatorResult> {
    const stage = present(this.#stages[work.stage], "the replayed stage exists");
    await this.#load(stage, { config, round: work.round, source: work.source });
    const { spec } = stage;
    const { segments } = this.#options;
    const wire = present(taskOutput(spec, work.direction), "a replayed task has an output wire");
    const input = accepted(readInput(spec, segments.get(work.input)));
    const claimed = accepted(readWire(wire, segments.get(work.claimed)));
    const { output, losses } = await this.#repeat(stage, { work, input });
    const compared = innovation({
      claimed: decodeWire(wire, claimed),
      repeated: decodeWire(wire, output),
      lazy: lazyOutput(spec, { work, wire, bytes: (ref) => segments.get(ref) }),
    });
    return {
      type: "replay",
      innovationError: compared.error,
      equalShare: compared.equalShare,
      lossError: losses === null || work.losses === null ? null : largestDifference(losses, work.losses),
    };
  }

  async #repeat(
    { compute, spec }: HeldStage,
    { work, input }: { work: Extract<ValidatorWork, { type: "replay" }>; input: StageInput },
  ): Promise<{ output: Uint8Array; losses: Float32Array | null }> {
    if (work.direction === "forward") return { output: await compute.forward(input), losses: null };
    const second = this.#options.segments.get(present(work.second, "a gradient task has a second segment"));
    await compute.zeroGradients();
    if (work.direction === "turnaround") {
      const { gradient, lossPerSequence } = await compute.turnaround(input, accepted(readTokens(spec, second)));
      return { output: present(gradient, "a replayed turnaround has a gradient"), losses: lossPerSequence };
    }
    const gradient = accepted(readWire(present(stageWires(spec).outputGradient, "no tail has a backward"), second));
    return {
      output: present(await compute.backward(input, gradient), "the head's backward is not replayed"),
      losses: null,
    };
  }
}

/** Sequences [first, first + count) padded to a whole batch with the first one. */
function batchOf(
  tokens: Uint32Array,
  { first, count, perBatch, context }: { first: number; count: number; perBatch: number; context: number },
): Uint32Array {
  const batch = new Uint32Array(perBatch * context);
  for (let i = 0; i < perBatch; i++) {
    const sequence = first + (i < count ? i : 0);
    batch.set(tokens.subarray(sequence * context, (sequence + 1) * context), i * context);
  }
  return batch;
}

/** What a stage that only passed its input on would have sent; null if input and output differ in shape. */
function lazyOutput(
  spec: StageSpec,
  options: {
    work: Extract<ValidatorWork, { type: "replay" }>;
    wire: Wire;
    bytes: (ref: ValidatorWorkRef) => Uint8Array;
  },
): Float32Array | null {
  const { work, wire, bytes } = options;
  const { input, outputGradient } = stageWires(spec);
  const passed = work.direction === "forward" ? input : work.direction === "backward" ? outputGradient : null;
  const ref = work.direction === "forward" ? work.input : work.second;
  if (passed === null || ref === null || passed.width !== wire.width) return null;
  return decodeWire(passed, bytes(ref));
}

type ValidatorWorkRef = Extract<ValidatorWork, { type: "replay" }>["input"];

function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let largest = a.length === b.length ? 0 : Infinity;
  for (let i = 0; i < Math.min(a.length, b.length); i++) largest = Math.max(largest, Math.abs(a[i]! - b[i]!));
  return Math.min(largest, 1e6);
}
