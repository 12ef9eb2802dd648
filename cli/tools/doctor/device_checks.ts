/**
 * The compute device: the adapter, the sizes whose stages it can hold, whether its results are right, and its speed.
 *
 * WebGPU does not report a GPU's memory, so the checks show what a stage needs; a software adapter is compared with the
 * machine's memory.
 */

import { resolveConfig } from "../../../core/settings/parse.ts";
import { type SizeName, sizeNames } from "../../../core/config/size.ts";
import type { DeviceFacts } from "../../../gpu/webgpu/device.ts";
import { ComputeError, type ComputeWorker, openComputeWorker } from "../../../gpu/worker_client.ts";
import type { DeviceChoice } from "../../../gpu/worker_protocol.ts";
import { withoutAdapter } from "../../device/open_device.ts";
import { fitAdapterOf, fitModel } from "../../device/model_fit.ts";
import { byteSize, decimal } from "../../terminal/text/format.ts";
import { good, skipped, type Verdict, warning, wrong } from "./verdict.ts";
import type { Codec } from "../../../core/codec/codec_names.ts";
import { type StageSpec, stageSpecs } from "../../../core/model/spec.ts";
import { splitLayers } from "../../../core/model/stages.ts";
import { checkedStage } from "../../../gpu/trace/checked_stage.ts";
import type { OperationCheck } from "../../../gpu/trace/operation_check.ts";
import { departureText, useProcessor } from "../../device/device_check.ts";

const gemmBudgetMs = 600;

interface OpenedDevice {
  readonly worker: ComputeWorker;
  readonly facts: DeviceFacts | null; // null: the processor
}

export class DeviceChecks {
  readonly #device: DeviceChoice;
  #opening: Promise<OpenedDevice | ComputeError> | null = null;
  #worker: ComputeWorker | null = null;

  constructor(device: DeviceChoice) {
    this.#device = device;
  }

  /** As far as known before it is opened. */
  get isProcessor(): boolean {
    return this.#device === "cpu";
  }

  get #opened(): Promise<OpenedDevice | ComputeError> {
    return this.#opening ??= this.#open();
  }

  async adapter(): Promise<Verdict> {
    const opened = await this.#opened;
    if (opened instanceof ComputeError) return wrong(opened.message, withoutAdapter(this.#device));
    const { worker: { adapter, reason }, facts } = opened;
    return judgeAdapter({ name: adapter.name, isSoftware: adapter.isSoftware, reason, facts });
  }

  async size(): Promise<Verdict> {
    const opened = await this.#opened;
    if (opened instanceof ComputeError) return skipped("there is no adapter");
    const adapter = await fitAdapterOf(opened.worker);
    const { isSoftware } = opened.worker.adapter;
    const memoryBytes = isSoftware ? Deno.systemMemoryInfo().available : Infinity;
    const fits: SizeFit[] = [];
    for (const size of sizeNames) {
      const resolved = resolveConfig({ size });
      if (!resolved.ok) throw new Error(`size ${size} does not resolve`);
      const fit = { size, ...await fitModel(resolved.config, adapter) };
      fits.push(fit.problem === null && fit.stageBytes > memoryBytes ? tooMuchMemory(fit, memoryBytes) : fit);
    }
    return judgeSizes(fits);
  }

  async speed(): Promise<Verdict> {
    const opened = await this.#opened;
    if (opened instanceof ComputeError) return skipped("there is no adapter");
    const speed = await opened.worker.measureGemm({ budgetMs: gemmBudgetMs });
    const { flopsPerSecond, width } = speed;
    return good(`${flops(flopsPerSecond)} in matrix products of ${width} x ${width}, float32`, { ...speed });
  }

  async numbers(size: SizeName | null): Promise<Verdict> {
    const opened = await this.#opened;
    if (opened instanceof ComputeError) return skipped("there is no adapter");
    return await checkNumbers(opened.worker, size);
  }

  /** Lets the process exit. Does not wait for a worker that never opened. */
  async finish(): Promise<void> {
    await this.#worker?.finish();
  }

  async #open(): Promise<OpenedDevice | ComputeError> {
    try {
      this.#worker = await openComputeWorker({ device: this.#device });
      return { worker: this.#worker, facts: await this.#worker.inspect() };
    } catch (error) {
      if (error instanceof ComputeError) return error;
      throw error;
    }
  }
}

interface AdapterFacts {
  readonly name: string;
  readonly isSoftware: boolean;
  readonly reason?: string | null;
  readonly facts: DeviceFacts | null;
}

export function judgeAdapter({ name, isSoftware, reason = null, facts }: AdapterFacts): Verdict {
  const shown = { adapter: name, isSoftware, ...facts?.limits, features: facts?.features ?? [] };
  const limits = facts?.limits;
  const details = limits === undefined ? "" : [
    `; buffers to ${byteSize(limits.maxBufferSize)}, bindings to ${byteSize(limits.maxStorageBufferBindingSize)}`,
    `workgroups of ${limits.maxComputeInvocationsPerWorkgroup} with ${byteSize(limits.maxComputeWorkgroupStorageSize)}`,
    extras(facts?.features ?? []),
  ].join(", ");
  if (!isSoftware) return good(`${name}${details}`, shown);
  const why = reason === null ? "" : `: ${reason}`;
  return warning(
    facts === null ? `${name}${why}` : `${name}, software on the CPU${details}${why}`,
    "Fine for experiments; to earn, use a GPU with its Vulkan driver",
    shown,
  );
}

function extras(features: readonly string[]): string {
  const has = (name: string) => features.includes(name) ? "" : "no ";
  return `${has("shader-f16")}f16, ${has("subgroups")}subgroups`;
}

export interface SizeFit {
  readonly size: SizeName;
  readonly stageBytes: number;
  readonly problem: string | null;
}

function tooMuchMemory(fit: SizeFit, memoryBytes: number): SizeFit {
  const problem = `a stage takes ${byteSize(fit.stageBytes)}, more than the ${byteSize(memoryBytes)} available`;
  return { ...fit, problem };
}

/** `fits`: all sizes, ascending. A larger size may fit where a smaller does not, if it has more stages. */
export function judgeSizes(fits: readonly SizeFit[]): Verdict {
  const largest = fits.filter(({ problem }) => problem === null).at(-1);
  const refused = fits.slice(largest === undefined ? 0 : fits.indexOf(largest) + 1)[0];
  const facts = {
    largestSize: largest?.size ?? null,
    stageBytes: largest?.stageBytes ?? null,
    ...(refused === undefined ? {} : { tooLarge: refused.size, why: refused.problem }),
  };
  const why = refused === undefined ? "" : `; not ${refused.size}: ${refused.problem}`;
  if (largest === undefined) return wrong(`none fits${why}`, "Use another adapter", facts);
  const text = `up to ${largest.size}, whose stages take ${byteSize(largest.stageBytes)}${why}`;
  const isEnough = largest.size !== "toy";
  return isEnough ? good(text, facts) : warning(text, "Cut the model into more stages: --stages K", facts);
}

export function flops(perSecond: number): string {
  return perSecond >= 1e12 ? `${decimal(perSecond / 1e12)} TFLOP/s` : `${decimal(perSecond / 1e9)} GFLOP/s`;
}

/** SHA-256 of the processor's results for the checked stages, on any machine with any number of threads. */
export const knownProcessorHash = "5d3a3ca0df3cbb344fe84c0bf7858e5419bb8f99c67923b5872d12c055207175";

/** A head, a body and a tail, small enough for a software driver. */
export function checkedStages(size: SizeName = "toy", codec: Codec = "q5block"): readonly StageSpec[] {
  const resolved = resolveConfig({ size, overrides: { "pipeline.stages": 3, "pipeline.codec": codec } });
  if (!resolved.ok) throw new Error(`size ${size} must be valid by itself`);
  return stageSpecs(resolved.config, splitLayers(resolved.config));
}

/** With `size`, also the shapes of its first, second and last stage, as for a miner. */
async function checkNumbers(worker: ComputeWorker, size: SizeName | null): Promise<Verdict> {
  const isProcessor = worker.adapter.device === "cpu";
  const found = await worker.checkOperations(checkedStages());
  const verdict = judgeNumbers(found, { isProcessor });
  if (size === null || isProcessor || verdict.level !== "good") return verdict;
  const own = await worker.checkOperations(stagesOf(size));
  return judgeNumbers({ ...own, processorHash: knownProcessorHash }, { isProcessor, size });
}

function stagesOf(size: SizeName): StageSpec[] {
  const resolved = resolveConfig({ size });
  if (!resolved.ok) throw new Error(`size ${size} must be valid by itself`);
  const stages = stageSpecs(resolved.config, splitLayers(resolved.config));
  return stages.filter(({ index }) => index < 2 || index === stages.length - 1).map(checkedStage); // bodies are alike
}

export function judgeNumbers(
  found: OperationCheck,
  { isProcessor, size = null }: { isProcessor: boolean; size?: SizeName | null },
): Verdict {
  const { outputs, processorHash, worst, agrees } = found;
  const facts = { outputs, processorHash, agrees, ...isProcessor ? {} : { worst } };
  if (processorHash !== knownProcessorHash) {
    return wrong(
      "the processor's bits differ from every other machine's, so this one would fail audits",
      "Check the machine's memory and undo any overclocking; if that does not help, report it with iota doctor --json",
      facts,
    );
  }
  if (!agrees) {
    return wrong(
      `the device's results differ from the processor's: ${departureText(worst)}; it would fail audits`,
      useProcessor,
      facts,
    );
  }
  const text = `all ${outputs} results of a task in each kind of stage ${size === null ? "" : `of ${size} `}`;
  if (isProcessor) return good(`${text}are the known bits`, facts);
  return good(`${text}agree with the processor's, off by ${decimal(worst.difference)} at most`, facts);
}
