/**
 * A miner's stage without tensors: every vector is the digest of what made it.
 *
 * Owns the digests of parameters, round start, outer momentum and accumulated gradient. Two replicas with the same history have
 * equal digests and one that missed a part has another, so a wrong protocol shows as a wrong hash. Sizes in bytes are the real
 * ones. A job's result is computed when it begins; its uploads are handed to the caller, which knows when it ends.
 */

import { symbolicPayloadHash } from "./symbolic_signature.ts";
import { present, unreachable } from "../../../../core/assert.ts";
import { wireBytes } from "../../../../core/codec/wire.ts";
import { fault, type Parsed, parsed } from "../../../../core/fault.ts";
import { type BlobHash, blobHash, type BlobRef, type Direction } from "../../../../core/ids.ts";
import { changeBytes } from "../../../../core/update/shown_change.ts";
import type { LoggedTask, MinerResult, MinerWork } from "../../../../core/miner/event.ts";
import type { StageSpec } from "../../../../core/model/spec.ts";
import { taskOutput } from "../../../../core/model/stage_wires.ts";
import type { ParameterSource } from "../../../../core/protocol/message.ts";
import type { Slice } from "../../../../core/protocol/merge_messages.ts";
import { digest, unitOf } from "../digest.ts";
import { noGradient, squareSumOf, type SymbolicGradient, withTask } from "./symbolic_gradient.ts";
import { isFinite, spoiltHash } from "./symbolic_numbers.ts";
import { reducedSlice, symbolicPayload, symbolicVector } from "./symbolic_payload.ts";
import type { SymbolicSegments } from "./symbolic_segments.ts";
import { firstStepOf, type SwarmShape } from "../swarm_shape.ts";

/** What a lying miner falsifies; sizes stay correct. */
export const lies = [
  "tasks",
  "nan",
  "huge",
  "refuse",
  "norm",
  "longNorm",
  "nanPayload",
  "hugePayload",
  "withhold",
  "slices",
  "parameters",
  "momentum",
] as const;

export type Lie = typeof lies[number];

export interface WorkOutcome {
  readonly result: Parsed<MinerResult>;
  readonly puts: readonly BlobRef[]; // in the store once the work is done
  readonly missing?: BlobRef; // why it failed
}

/** Parameters and outer momentum; a momentum of "zeros" was never stored. */
export interface SymbolicVectors {
  readonly parameters: BlobHash;
  readonly momentum: BlobHash | null;
}

const zeros = digest("zeros");
const mostCopies = 8; // older ones are shown, or not asked for any more

export interface SymbolicStageOptions {
  readonly shape: SwarmShape;
  readonly missing: (refs: readonly BlobRef[]) => BlobRef | null; // the first blob that cannot be read
  readonly segments: SymbolicSegments;
  readonly owner: string;
}

export class SymbolicStage {
  readonly #options: SymbolicStageOptions;
  #spec: StageSpec | null = null;
  #start: SymbolicVectors = { parameters: zeros, momentum: null };
  #parameters: BlobHash = zeros;
  #gradient: SymbolicGradient = noGradient;
  #steps = 0; // taken since the first one of the run, for a loss that falls
  readonly #copies = new Map<string, BlobRef>(); // by round and step: the parameters before it, as shown
  lie: Lie | null = null;

  constructor(options: SymbolicStageOptions) {
    this.#options = options;
  }

  get accumulated(): number {
    return this.#gradient.tasks;
  }

  get gradient(): BlobHash {
    return this.#gradient.sum;
  }

  perform(work: MinerWork): WorkOutcome {
    switch (work.type) {
      case "loadStage":
        return this.#loadStage(work);
      case "runTask":
        return this.#refusedInput(work) ?? done(this.#runTask(work));
      case "sealGradients":
        return done(this.#sealGradients(work.replay));
      case "applyStep":
        this.#parameters = digest("step", this.#parameters, this.gradient, work.learningRate, work.gradientScale);
        this.#steps += 1;
        this.#zeroGradients();
        return done({ type: "applyStep" });
      case "zeroGradients":
        this.#zeroGradients();
        return done({ type: "zeroGradients" });
      case "copyState":
        this.#copyState(work);
        return done({ type: "copyState" });
      case "uploadState":
        return this.#uploadState(work);
      case "formPayload":
        return this.#formPayload(work.slices);
      case "reduceSlice":
        return this.#reduceSlice(work);
      case "applyMerge":
        return this.#applyMerge(work);
      case "uploadParameters":
        return this.#uploadParameters();
      default:
        return unreachable(work);
    }
  }

  /** What the accumulator would hold after exactly these tasks. */
  gradientOf(tasks: readonly LoggedTask[]): BlobHash {
    return this.#added(tasks).sum;
  }

  #loadStage(work: Extract<MinerWork, { type: "loadStage" }>): WorkOutcome {
    const { shape } = this.#options;
    const missing = this.#options.missing(blobsOfSource(work.source));
    if (missing !== null) return notFound(missing);
    this.#spec = present(shape.stages[work.stage], "the assigned stage exists");
    this.#start = vectorsOf(work.source, { shape, stage: work.stage });
    this.#parameters = this.#start.parameters;
    this.#steps = firstStepOf(work.round, shape);
    this.#zeroGradients();
    return done({ type: "loadStage", parameters: this.#ref(this.#parameters), localSteps: 0 });
  }

  #refusedInput({ input, second }: Extract<MinerWork, { type: "runTask" }>): WorkOutcome | null {
    if (isFinite(input) && (second === null || isFinite(second)) && this.lie !== "refuse") return null;
    return { result: { ok: false, fault: fault("badNumbers", "an input holds NaN or infinity") }, puts: [] };
  }

  #runTask(work: Extract<MinerWork, { type: "runTask" }>): MinerResult {
    const { segments, owner } = this.#options;
    segments.get(work.input);
    if (work.second !== null) segments.get(work.second);
    const spec = this.#stage();
    const result = taskResult({ spec, work, parameters: this.#parameters, steps: this.#steps });
    if (work.second !== null) {
      this.#gradient = this.#with(this.#gradient, { ...work, second: work.second });
    }
    const output = result.output === null ? null : { ...result.output, hash: this.#lied(result.output.hash, owner) };
    return { type: "runTask", output, losses: result.losses, computeMs: 0 };
  }

  #lied(hash: BlobHash, owner: string): BlobHash {
    if (this.lie === "tasks") return digest("lie", owner, hash);
    return this.lie === "nan" || this.lie === "huge" ? spoiltHash(this.lie, hash) : hash;
  }

  #with(
    gradient: SymbolicGradient,
    task: { direction: Direction; input: BlobRef; second: BlobRef },
  ): SymbolicGradient {
    return withTask(gradient, { task, parameters: this.#parameters });
  }

  #added(tasks: readonly LoggedTask[]): SymbolicGradient {
    return tasks.reduce((gradient, task) => this.#with(gradient, task), noGradient);
  }

  #sealGradients(replay: readonly LoggedTask[] | null): MinerResult {
    if (replay !== null) {
      const { segments } = this.#options;
      for (const task of replay) {
        segments.get(task.input);
        segments.get(task.second);
      }
      this.#gradient = this.#added(replay);
    }
    const squareSum = squareSumOf(this.#gradient, this.#steps);
    if (this.lie === "norm") return { type: "sealGradients", squareSum: 1e300 };
    return { type: "sealGradients", squareSum: this.lie === "longNorm" ? 50 * squareSum : squareSum };
  }

  #copyState({ round, step }: Extract<MinerWork, { type: "copyState" }>): void {
    const floats = present(this.#options.shape.stageFloats[this.#stage().index], "every stage has a length");
    const hash = shownHash(this.#parameters, this.#steps);
    const [oldest] = this.#copies.keys();
    if (oldest !== undefined && this.#copies.size >= mostCopies) this.#copies.delete(oldest);
    this.#copies.set(`${round} ${step}`, { hash, bytes: changeBytes(floats) });
  }

  #uploadState({ round, step }: Extract<MinerWork, { type: "uploadState" }>): WorkOutcome {
    const change = present(this.#copies.get(`${round} ${step}`), "a state is copied before it is uploaded");
    return { result: parsed({ type: "uploadState", change }), puts: [change] };
  }

  #formPayload(slices: readonly Slice[]): WorkOutcome {
    const refs = slices.map(({ offset, size }) => {
      const hash = digest("payload", this.#start.parameters, this.#parameters, offset, size);
      return symbolicPayload(this.#options.shape, { hash, values: size });
    });
    const { lie } = this;
    if (lie === "withhold") {
      return { result: parsed({ type: "formPayload", slices: refs, hash: symbolicPayloadHash(refs) }), puts: [] };
    }
    if (lie !== "nanPayload" && lie !== "hugePayload") {
      return { result: parsed({ type: "formPayload", slices: refs, hash: symbolicPayloadHash(refs) }), puts: refs };
    }
    const kind = lie === "nanPayload" ? "nan" : "huge";
    const spoilt = refs.map(({ hash, bytes }) => ({ hash: spoiltHash(kind, hash), bytes }));
    return { result: parsed({ type: "formPayload", slices: spoilt, hash: symbolicPayloadHash(spoilt) }), puts: spoilt };
  }

  #reduceSlice({ inputs }: Extract<MinerWork, { type: "reduceSlice" }>): WorkOutcome {
    const missing = this.#options.missing(inputs.map((input) => input.payload));
    if (missing !== null) return notFound(missing);
    const honest = reducedSlice(this.#options.shape, inputs);
    const isLie = this.lie === "slices";
    const result = isLie ? { ...honest, hash: digest("lie", this.#options.owner, honest.hash) } : honest;
    return { result: parsed({ type: "reduceSlice", result }), puts: [result] };
  }

  #applyMerge({ round, slices }: Extract<MinerWork, { type: "applyMerge" }>): WorkOutcome {
    const missing = this.#options.missing(slices);
    if (missing !== null) return notFound(missing);
    const merged = mergedVectors(this.#start, slices);
    const { lie } = this;
    const isLie = lie === "parameters" || lie === "momentum";
    this.#start = isLie ? { ...merged, [lie]: digest("lie", this.#options.owner, merged.parameters) } : merged;
    this.#parameters = this.#start.parameters;
    this.#steps = firstStepOf(round, this.#options.shape);
    return done({ type: "applyMerge", ...this.#refs() });
  }

  #uploadParameters(): WorkOutcome {
    const refs = this.#refs();
    const puts = refs.momentum === null ? [refs.parameters] : [refs.parameters, refs.momentum];
    return { result: parsed({ type: "uploadParameters", ...refs }), puts };
  }

  #stage(): StageSpec {
    return present(this.#spec, "a stage is loaded before work on it");
  }

  #zeroGradients(): void {
    this.#gradient = noGradient;
  }

  #ref(hash: BlobHash): BlobRef {
    return symbolicVector(this.#options.shape, { hash, stage: this.#stage().index });
  }

  #refs(): { parameters: BlobRef; momentum: BlobRef | null } {
    const { parameters, momentum } = this.#start;
    return { parameters: this.#ref(parameters), momentum: momentum === null ? null : this.#ref(momentum) };
  }
}

const done = (result: MinerResult): WorkOutcome => ({ result: parsed(result), puts: [] });

const notFound = (ref: BlobRef): WorkOutcome => ({
  result: { ok: false, fault: fault("badBlob", `no blob ${ref.hash}`) },
  puts: [],
  missing: ref,
});

/** Parameters that a miner showed: their name tells them and the steps they took, as their numbers do in a real swarm. */
const shownHash = (parameters: BlobHash, steps: number): BlobHash => blobHash(`shown ${steps} ${parameters}`);

export function parseShown(hash: BlobHash): { parameters: BlobHash; steps: number } | null {
  const [word, steps, ...rest] = hash.split(" ");
  return word === "shown" ? { steps: Number(steps), parameters: blobHash(rest.join(" ")) } : null;
}

export function blobsOfSource(source: ParameterSource): BlobRef[] {
  if (source.type === "initial") return [];
  return source.momentum === null ? [source.parameters] : [source.parameters, source.momentum];
}

export function vectorsOf(
  source: ParameterSource,
  options: { shape: SwarmShape; stage: number },
): SymbolicVectors {
  const { config } = options.shape;
  const keepsMomentum = config.outer.momentum > 0;
  if (source.type === "initial") {
    const parameters = digest("initial", config.seed, options.stage);
    return { parameters, momentum: keepsMomentum ? zeros : null };
  }
  return {
    parameters: source.parameters.hash,
    momentum: keepsMomentum ? source.momentum?.hash ?? zeros : null,
  };
}

/** The outer step. From a momentum of zeros the new momentum is the average itself: one slice is then the same blob. */
export function mergedVectors(start: SymbolicVectors, slices: readonly BlobRef[]): SymbolicVectors {
  if (slices.length === 0) return start;
  const average = slices.length === 1 ? slices[0]!.hash : digest("average", ...slices.map((slice) => slice.hash));
  return {
    parameters: digest("outer step", start.parameters, start.momentum ?? "", average),
    momentum: start.momentum === null
      ? null
      : start.momentum === zeros
      ? average
      : digest("outer momentum", start.momentum, average),
  };
}

export interface TaskInput {
  readonly spec: StageSpec;
  readonly work: { readonly direction: Direction; readonly input: BlobRef; readonly second: BlobRef | null };
  readonly parameters: BlobHash;
  readonly steps: number;
}

export interface TaskResult {
  readonly output: BlobRef | null;
  readonly losses: readonly number[] | null;
}

/** The result of any honest machine for a task with the same parameters and inputs. */
export function taskResult({ spec, work, parameters, steps }: TaskInput): TaskResult {
  const { direction, input, second } = work;
  const made = digest(direction, spec.index, input.hash, second?.hash ?? "", parameters);
  const wire = taskOutput(spec, direction);
  const output = wire === null ? null : { hash: made, bytes: wireBytes(wire) };
  if (direction !== "turnaround") return { output, losses: null };
  const level = 2 + 6 / (1 + steps / 20); // nats per token
  const losses = Array.from({ length: spec.sequences }, (_, i) => level * (0.9 + 0.2 * unitOf(digest(made, i))));
  return { output, losses };
}
