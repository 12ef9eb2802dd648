/**
 * A miner's stage: its device state, its vectors at the round's start, and its work. One `StageCompute` is open,
 * replaced on every `loadStage`.
 *
 * A stranger's bad bytes are a `WorkRefused` with the fault; any other exception is our bug or an I/O error.
 */

import { payloadHash } from "../roles/payload_hash.ts";
import { present, unreachable } from "../../core/assert.ts";
import type { Parsed } from "../../core/fault.ts";
import type { BlobRef } from "../../core/ids.ts";
import { embeddingsIn } from "../../core/update/payload/embeddings.ts";
import { payloadCodecOf } from "../../core/update/payload/payload_codecs.ts";
import type { LoggedTask, MinerResult, MinerWork } from "../../core/miner/event.ts";
import { type ParameterTable, parameterTable, type StageSpec, stageSpecs } from "../../core/model/spec.ts";
import { stageWires } from "../../core/model/stage_wires.ts";
import type { RunConfig } from "../../core/config/config.ts";
import { bytesOfFloats } from "../../core/model/vector_bytes.ts";
import type { ParameterSource } from "../../core/protocol/message.ts";
import type { Slice } from "../../core/protocol/merge_messages.ts";
import { optimizerOf } from "../../core/train/optimizers.ts";
import { nameOf } from "../../net/blob_hash.ts";
import type { BlobAccess } from "../roles/blob_access.ts";
import type { ComputeHost, HostedStage } from "../device/compute_host.ts";
import { StateCopies } from "./stages/state_copies.ts";
import { placeParameters, readParameters, throttled } from "./stages/large_stage.ts";
import { formSlice, mergeStage, reduceSlice } from "./stages/merge_work.ts";
import {
  emptyState,
  keptVectors,
  type OwnStateStore,
  readOwnState,
  Residual,
  type StoredState,
  takeUp,
} from "./own_state.ts";
import type { PeerServer } from "./peer_server.ts";
import type { ByteSegments } from "../roles/segments.ts";
import { WorkRefused } from "./stages/work_fault.ts";
import { loadSource, type OnLoading, type StageVectors } from "./stages/stage_source.ts";
import { readInput, readTokens, readWire } from "../roles/stage_input.ts";

function accepted<T>(value: Parsed<T>): T {
  if (value.ok) return value.value;
  throw new WorkRefused(value.fault);
}

/** Never written to: peers may be reading it. */
interface RoundStart extends StageVectors {
  readonly refs: { readonly parameters: BlobRef; readonly momentum: BlobRef | null };
  readonly round: number;
  readonly isInitial: boolean;
}

interface OpenStage {
  readonly config: RunConfig;
  readonly spec: StageSpec;
  readonly table: ParameterTable;
  readonly compute: HostedStage;
  start: RoundStart;
  residual: Residual;
}

interface StageHostOptions {
  readonly device: ComputeHost;
  readonly blobs: BlobAccess;
  readonly segments: ByteSegments;
  readonly ownState: OwnStateStore | null; // null: nothing is kept on disk
  readonly peers?: PeerServer | null; // serves the vectors to newcomers
  readonly activationBytes: number;
  readonly nowMs: () => number;
  /** Every few seconds; never if loading is quick. */
  readonly onLoading?: OnLoading;
}

export class StageHost {
  readonly #options: StageHostOptions;
  #open: OpenStage | null = null;
  readonly #copies = new StateCopies();
  #config: RunConfig | null = null; // the last stage's: payloads of others are reduced without an open stage
  #isClosed = false;

  constructor(options: StageHostOptions) {
    this.#options = options;
  }

  perform(work: MinerWork): Promise<MinerResult> {
    switch (work.type) {
      case "loadStage":
        return this.#loadStage(work);
      case "runTask":
        return this.#runTask(work);
      case "sealGradients":
        return this.#sealGradients(work.replay);
      case "applyStep":
        return this.#applyStep(work);
      case "zeroGradients":
        return this.#stage().compute.zeroGradients().then(() => ({ type: "zeroGradients" }));
      case "copyState":
        return this.#copyState(work);
      case "uploadState":
        return this.#uploadState(work);
      case "formPayload":
        return this.#formPayload(work.slices);
      case "reduceSlice":
        return this.#reduceSlice(work.inputs);
      case "applyMerge":
        return this.#applyMerge(work);
      case "uploadParameters":
        return this.#uploadParameters();
      default:
        return unreachable(work);
    }
  }

  /** Calls in flight fail; nothing awaits them. */
  close(): void {
    this.#isClosed = true;
    this.#drop();
  }

  #drop(): void {
    this.#open?.compute.close();
    this.#open = null;
  }

  #stage(): OpenStage {
    return present(this.#open, "a stage is loaded before it is used");
  }

  async #loadStage(work: Extract<MinerWork, { type: "loadStage" }>): Promise<MinerResult> {
    const { config, layersOfStages, stage, source, peers } = work;
    const { device, blobs, activationBytes } = this.#options;
    this.#config = config;
    const spec = present(stageSpecs(config, layersOfStages)[stage], "the assigned stage exists");
    const table = parameterTable(spec);
    const onLoading = throttled(this.#options.onLoading ?? (() => {}), this.#options.nowMs);
    const open = this.#open;
    const isSame = open?.spec.index === stage && JSON.stringify(open.config) === JSON.stringify(config);
    const held = isSame ? open : null;
    const start = held !== null && isStart(held.start, source)
      ? held.start
      : await this.#named(await loadSource({ config, table, source, blobs, peers, onLoading }), work);
    this.#share(start);
    const { parameters } = start.refs;
    if (held !== null) return await this.#reload(held, { start, onLoading });
    this.#drop();
    const openForwards = config.train.microbatchesPerStep;
    const compute = await device.openStage(spec, { optimizer: optimizerOf(config), activationBytes, openForwards });
    if (this.#isClosed) compute.close(); // so that later calls fail
    const opened: OpenStage = this.#open = { config, spec, table, compute, start, residual: new Residual() };
    const kept = await this.#keptState(opened);
    this.#begin(opened, kept?.steps ?? 0);
    await placeParameters(compute, start.parameters, onLoading);
    if (kept !== null) opened.residual = await takeUp(kept, opened);
    return { type: "loadStage", parameters, localSteps: kept?.steps ?? 0 };
  }

  /**
   * At its round's start a stage gets the optimizer's state of that time, because later training may have caused the
   * rollback. Otherwise an old state is better than none.
   */
  async #reload(
    held: OpenStage,
    { start, onLoading }: { start: RoundStart; onLoading: OnLoading },
  ): Promise<MinerResult> {
    const { config, table, compute } = held;
    const isBack = start === held.start;
    held.residual = new Residual(isBack ? held.residual.settled : null);
    held.start = start;
    const kept = isBack ? await this.#keptState(held) : null;
    const then = kept ?? (isBack && start.isInitial ? emptyState(config, table) : null);
    const localSteps = then?.steps ?? await compute.countSteps();
    this.#begin(held, localSteps);
    await placeParameters(compute, start.parameters, onLoading);
    if (then !== null) held.residual = await takeUp(then, held);
    return { type: "loadStage", parameters: start.refs.parameters, localSteps };
  }

  /** Null: nothing was trained before, or nothing is stored. */
  async #keptState({ config, spec, table, start }: OpenStage): Promise<StoredState | null> {
    const round = start.isInitial ? 0 : start.round;
    const wanted = { stage: spec.index, round, parameters: start.refs.parameters, vectors: keptVectors(config, table) };
    return await this.#options.ownState?.load(wanted) ?? null;
  }

  /** After a device loss: the round's start, and the optimizer's state after `steps` steps. */
  #begin(open: OpenStage, steps: number): void {
    const { config, compute, start } = open;
    compute.begin?.(async (stage) => {
      await placeParameters(stage, start.parameters, () => {});
      const kept = await this.#keptState({ ...open, start });
      if (kept !== null) await takeUp(kept, { compute: stage, config });
      if ((kept?.steps ?? 0) === steps) return;
      throw new Error(`the optimizer's state after ${steps} steps is not stored`);
    });
  }

  async #named(
    { parameters, momentum }: StageVectors,
    { round, source }: { round: number; source?: ParameterSource },
  ): Promise<RoundStart> {
    const refs = {
      parameters: await nameOf(bytesOfFloats(parameters)),
      momentum: momentum === null ? null : await nameOf(bytesOfFloats(momentum)),
    };
    return { parameters, momentum, refs, round, isInitial: source?.type === "initial" };
  }

  async #runTask(work: Extract<MinerWork, { type: "runTask" }>): Promise<MinerResult> {
    const { segments, nowMs } = this.#options;
    const startedMs = nowMs();
    const { output, losses } = await this.#compute(work);
    const computeMs = nowMs() - startedMs;
    return { type: "runTask", output: output === null ? null : segments.hold(output), losses, computeMs };
  }

  async #compute(
    task: Pick<Extract<MinerWork, { type: "runTask" }>, "direction" | "input" | "second">,
  ): Promise<{ output: Uint8Array | null; losses: readonly number[] | null }> {
    const { compute, spec } = this.#stage();
    const { segments } = this.#options;
    const input = accepted(readInput(spec, segments.get(task.input)));
    const name = task.input.hash;
    if (task.direction === "forward") return { output: await compute.forward(input, { name }), losses: null };
    const second = segments.get(present(task.second, "a gradient task has a second segment"));
    if (task.direction === "turnaround") {
      const { gradient, lossPerSequence } = await compute.turnaround(input, accepted(readTokens(spec, second)));
      return { output: gradient, losses: [...lossPerSequence] };
    }
    const wire = present(stageWires(spec).outputGradient, "a stage with a backward has a wire out");
    const gradient = accepted(readWire(wire, second));
    return { output: await compute.backward(input, gradient, { name }), losses: null };
  }

  async #sealGradients(replay: readonly LoggedTask[] | null): Promise<MinerResult> {
    const { compute } = this.#stage();
    if (replay !== null) {
      await compute.zeroGradients();
      for (const task of replay) await this.#compute(task);
    }
    return { type: "sealGradients", squareSum: await compute.gradientSquareSum() };
  }

  async #applyStep(work: Extract<MinerWork, { type: "applyStep" }>): Promise<MinerResult> {
    const { compute, config } = this.#stage();
    const { learningRate, gradientScale } = work;
    await compute.step({ ...config.train, learningRate, gradientScale });
    return { type: "applyStep" };
  }

  async #copyState(at: Extract<MinerWork, { type: "copyState" }>): Promise<MinerResult> {
    const { compute, table, start } = this.#stage();
    const current = await readParameters(compute, { offset: 0, length: table.length });
    this.#copies.keep(at, { start: start.parameters, current });
    return { type: "copyState" };
  }

  async #uploadState(at: Extract<MinerWork, { type: "uploadState" }>): Promise<MinerResult> {
    const put = (bytes: Uint8Array) => this.#options.blobs.put(bytes);
    return { type: "uploadState", change: await this.#copies.show(at, put) };
  }

  async #formPayload(slices: readonly Slice[]): Promise<MinerResult> {
    const { compute, config, start, residual, table } = this.#stage();
    const codec = payloadCodecOf(config);
    const leftOut = codec.keepsResidual ? residual.open(table.length) : null;
    const refs: BlobRef[] = [];
    for (const { offset, size } of slices) {
      const current = await readParameters(compute, { offset, length: size });
      const partOf = (vector: Float32Array) => vector.subarray(offset, offset + size);
      const formed = await formSlice(codec, {
        start: partOf(start.parameters),
        current,
        residual: leftOut === null ? null : partOf(leftOut),
        embeddings: embeddingsIn(table, { offset, size }),
      });
      refs.push(await this.#options.blobs.put(formed));
    }
    return { type: "formPayload", slices: refs, hash: payloadHash(refs) };
  }

  async #reduceSlice(inputs: Extract<MinerWork, { type: "reduceSlice" }>["inputs"]): Promise<MinerResult> {
    const { blobs } = this.#options;
    const codec = payloadCodecOf(present(this.#config, "a stage was loaded before a merge of it"));
    return { type: "reduceSlice", result: await blobs.put(accepted(await reduceSlice(codec, { inputs, blobs }))) };
  }

  async #applyMerge(work: Extract<MinerWork, { type: "applyMerge" }>): Promise<MinerResult> {
    const stage = this.#stage();
    const { compute, config, start, spec, residual } = stage;
    const { blobs, ownState } = this.#options;
    const codec = payloadCodecOf(config);
    const merged = await mergeStage({ start, slices: work.slices, outer: config.outer, codec, blobs });
    if (merged !== start) {
      stage.start = await this.#named(merged, { round: work.round });
      residual.settle();
    }
    const { parameters, momentum } = stage.start.refs;
    this.#share(stage.start);
    await compute.loadParameters(stage.start.parameters);
    if (ownState !== null) {
      await ownState.save({
        stage: spec.index,
        round: work.round,
        parameters,
        state: await readOwnState(stage, stage),
      });
    }
    this.#begin(stage, await compute.countSteps());
    return { type: "applyMerge", parameters, momentum };
  }

  async #uploadParameters(): Promise<MinerResult> {
    const { parameters, momentum } = this.#stage().start;
    const { blobs } = this.#options;
    return {
      type: "uploadParameters",
      parameters: await blobs.put(bytesOfFloats(parameters)),
      momentum: momentum === null ? null : await blobs.put(bytesOfFloats(momentum)),
    };
  }

  #share({ parameters, momentum }: StageVectors): void {
    const vectors = momentum === null ? [parameters] : [parameters, momentum];
    this.#options.peers?.hold(vectors.map(bytesOfFloats));
  }
}

function isStart({ refs, isInitial }: RoundStart, source: ParameterSource): boolean {
  if (source.type === "initial") return isInitial;
  if (source.parameters.hash !== refs.parameters.hash) return false;
  return refs.momentum === null || source.momentum?.hash === refs.momentum.hash;
}
