/** A validator's work: evaluates held-out text, stage by stage, and repeats single tasks. It never trains. */

import { present } from "../../core/assert.ts";
import { decodeWire, type Wire, wireRounding } from "../../core/codec/wire.ts";
import { haveSameIds } from "../../core/codec/wire_apart.ts";
import type { RunConfig } from "../../core/config/config.ts";
import { fault, type Parsed } from "../../core/fault.ts";
import type { Direction } from "../../core/ids.ts";
import { type StageSpec, stageSpecs } from "../../core/model/spec.ts";
import { stageWires, taskOutput } from "../../core/model/stage_wires.ts";
import { type Innovation, innovation, worstError } from "../../core/score/innovation.ts";
import type { ValidatorResult, ValidatorWork } from "../../core/validator/event.ts";
import type { GradientWork } from "../../core/validator/replay_work.ts";
import type { StageInput } from "../../gpu/compute.ts";
import type { BlobAccess } from "../roles/blob_access.ts";
import type { ComputeHost } from "../device/compute_host.ts";
import type { ByteSegments } from "../roles/segments.ts";
import { type HeldStage, HeldStages } from "./stages/held_stages.ts";
import { WorkRefused } from "./stages/work_fault.ts";
import { readInput, readTokens, readWire, u32Of } from "../roles/stage_input.ts";

interface ValidatorHostOptions {
  readonly device: ComputeHost;
  readonly blobs: BlobAccess;
  readonly segments: ByteSegments;
  readonly memoryBytes?: number | undefined;
}

interface ValidatorJob {
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
  readonly #stages: HeldStages;
  #sum: { readonly stage: HeldStage; tasks: number } | null = null; // on the device, of this many tasks

  constructor(options: ValidatorHostOptions) {
    this.#options = options;
    this.#stages = new HeldStages(options);
  }

  async perform(job: ValidatorJob): Promise<ValidatorResult> {
    const { work } = job;
    if (work.type === "gradient") return await this.#addUp(job, work);
    this.#sum = null;
    return work.type === "evaluate" ? await this.#evaluate(job, work) : await this.#replay(job, work);
  }

  close(): void {
    this.#stages.close();
  }

  async #evaluate(job: ValidatorJob, work: Extract<ValidatorWork, { type: "evaluate" }>): Promise<ValidatorResult> {
    const { config } = job;
    const { segments } = this.#options;
    const inputs = u32Of(segments.get(work.inputs));
    const targets = u32Of(segments.get(work.targets));
    const context = config.model.contextLength;
    const sequences = inputs.length / context;
    if (!Number.isInteger(sequences) || sequences === 0 || targets.length !== inputs.length) {
      throw new WorkRefused(
        fault("badBlob", `Cannot evaluate: the held-out text is not whole sequences of ${context} tokens`),
      );
    }
    const perBatch = config.train.sequencesPerMicrobatch;
    const batches = Array.from({ length: Math.ceil(sequences / perBatch) }, (_, i) => {
      const range = { first: i * perBatch, count: Math.min(perBatch, sequences - i * perBatch), perBatch, context };
      return { count: range.count, tokens: batchOf(inputs, range), targets: batchOf(targets, range) };
    });
    const losses = await this.#losses(job, { work, batches });
    let sum = 0;
    for (const [batch, { count }] of batches.entries()) for (let i = 0; i < count; i++) sum += losses[batch]![i]!;
    return { type: "evaluate", loss: sum / sequences, tokens: inputs.length };
  }

  /** All batches pass a stage before the next one opens. */
  async #losses(
    { config, layersOfStages }: ValidatorJob,
    { work, batches }: { work: Extract<ValidatorWork, { type: "evaluate" }>; batches: readonly Batch[] },
  ): Promise<Float32Array[]> {
    const specs = stageSpecs(config, layersOfStages);
    const at = async (spec: StageSpec) => {
      const source = present(work.sources[spec.index], "every stage has a source");
      return (await this.#stages.at(spec, { config, source })).compute;
    };
    const inputs: StageInput[] = batches.map(({ tokens }) => ({ type: "tokens", tokens }));
    for (const spec of specs.slice(0, -1)) {
      const stage = await at(spec);
      for (const [i, input] of inputs.entries()) inputs[i] = { type: "wire", wire: await stage.forward(input) };
    }
    const tail = await at(present(specs.at(-1), "a tail"));
    const losses: Float32Array[] = [];
    for (const [i, { targets }] of batches.entries()) losses.push(await tail.evaluate(inputs[i]!, targets));
    return losses;
  }

  async #replay(
    { config, layersOfStages }: ValidatorJob,
    work: Extract<ValidatorWork, { type: "replay" }>,
  ): Promise<ValidatorResult> {
    const spec = present(stageSpecs(config, layersOfStages)[work.stage], "the replayed stage exists");
    const stage = await this.#stages.at(spec, { config, source: work.source });
    const { segments } = this.#options;
    const wire = taskOutput(spec, work.direction);
    const input = accepted(readInput(spec, segments.get(work.input)));
    const claimed = wire === null ? null : accepted(readWire(wire, segments.get(claimOf(work))));
    const { output, losses } = await this.#repeat(stage, { work, input });
    const compared = wire === null || claimed === null || output === null ? sameWire : compareWires(wire, {
      ...{ claimed, repeated: output },
      lazy: lazyOutput(spec, { work, wire, bytes: (ref) => segments.get(ref) }),
    });
    return {
      type: "replay",
      innovationError: compared.error,
      equalShare: compared.equalShare,
      beyondRounding: compared.beyondRounding,
      rounding: compared.rounding,
      lossError: losses === null || work.losses === null ? null : largestDifference(losses, work.losses),
    };
  }

  async #repeat(
    stage: HeldStage,
    { work, input }: { work: Extract<ValidatorWork, { type: "replay" }>; input: StageInput },
  ): Promise<{ output: Uint8Array | null; losses: Float32Array | null }> {
    const name = work.input.hash; // its backward often follows
    if (work.direction === "forward") return { output: await stage.compute.forward(input, { name }), losses: null };
    const second = this.#options.segments.get(present(work.second, "a gradient task has a second segment"));
    await stage.compute.zeroGradients();
    return await addGradient(stage, { direction: work.direction, input, second, name });
  }

  /** Other work between the parts of a gradient would be added to it. */
  async #addUp({ config, layersOfStages }: ValidatorJob, work: GradientWork): Promise<ValidatorResult> {
    const before = this.#sum;
    this.#sum = null;
    const spec = present(stageSpecs(config, layersOfStages)[work.stage], "the gradient's stage exists");
    const stage = await this.#stages.at(spec, { config, source: work.source });
    const tasks = before?.stage === stage ? before.tasks : 0;
    if (work.first === 0) await stage.compute.zeroGradients();
    else if (work.first !== tasks) {
      const detail = `Cannot continue a gradient of ${work.first} tasks: the one on the device has ${tasks}`;
      throw new WorkRefused(fault("wrongPhase", detail));
    }
    const { segments } = this.#options;
    for (const task of work.tasks) {
      const input = accepted(readInput(spec, segments.get(task.input)));
      await addGradient(stage, { direction: work.direction, input, second: segments.get(task.second) });
    }
    if (work.isLast) return { type: "gradient", squareSum: await stage.compute.gradientSquareSum() };
    this.#sum = { stage, tasks: work.first + work.tasks.length };
    return { type: "gradient", squareSum: null };
  }
}

async function addGradient(
  { compute, spec }: HeldStage,
  { direction, input, second, name }: {
    direction: Direction;
    input: StageInput;
    second: Uint8Array;
    name?: string;
  },
): Promise<{ output: Uint8Array | null; losses: Float32Array | null }> {
  if (direction === "turnaround") {
    const { gradient, lossPerSequence } = await compute.turnaround(input, accepted(readTokens(spec, second)));
    return { output: gradient, losses: lossPerSequence };
  }
  const wire = stageWires(spec).outputGradient;
  if (wire === null || direction === "forward") {
    throw new WorkRefused(
      fault("wrongPhase", `Cannot add up gradients of stage ${spec.index}: a ${direction} there has none`),
    );
  }
  const named = name === undefined ? {} : { name };
  return { output: await compute.backward(input, accepted(readWire(wire, second)), named), losses: null };
}

const otherIds: Innovation = { error: worstError, equalShare: 0, beyondRounding: worstError, rounding: 0 };
const sameWire: Innovation = { error: 0, equalShare: 1, beyondRounding: 0, rounding: 0 }; // nothing to compare

const claimOf = ({ claimed }: Extract<ValidatorWork, { type: "replay" }>) =>
  present(claimed, "a task with an output is replayed with the one that is claimed");

interface Batch {
  readonly count: number; // without padding
  readonly tokens: Uint32Array;
  readonly targets: Uint32Array;
}

/** Padded with the first sequence. */
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

/** Different ids are an error that nothing explains. */
function compareWires(
  wire: Wire,
  { claimed, repeated, lazy }: { claimed: Uint8Array; repeated: Uint8Array; lazy: Float32Array | null },
): Innovation {
  if (!haveSameIds(wire, [claimed, repeated])) return otherIds;
  return innovation({
    ...{ claimed: decodeWire(wire, claimed), repeated: decodeWire(wire, repeated), lazy },
    ...{ width: wire.width, rounding: wireRounding(wire) },
  });
}

/** The output of a stage that passes its input on unchanged; null: their shapes differ. */
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
