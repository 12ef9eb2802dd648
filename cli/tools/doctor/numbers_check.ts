/**
 * Whether the device computes what it should: operation by operation against the processor, whose own bits are the same on every
 * machine. Audits expel a miner whose device is wrong.
 */

import type { Codec } from "../../../core/codec/codec_names.ts";
import { resolveConfig } from "../../../core/settings/parse.ts";
import type { SizeName } from "../../../core/config/size.ts";
import { type StageSpec, stageSpecs } from "../../../core/model/spec.ts";
import { splitLayers } from "../../../core/model/stages.ts";
import { checkedStage } from "../../../gpu/trace/checked_stage.ts";
import type { OperationCheck } from "../../../gpu/trace/operation_check.ts";
import type { ComputeWorker } from "../../../gpu/worker_client.ts";
import { departureText, useProcessor } from "../../device/device_check.ts";
import { decimal } from "../../terminal/text/format.ts";
import { good, type Verdict, wrong } from "./verdict.ts";

/** SHA-256 of what the processor computes in a task of the checked stages, on any machine with any number of threads. */
export const knownProcessorHash = "5d3a3ca0df3cbb344fe84c0bf7858e5419bb8f99c67923b5872d12c055207175";

/** A head, a body and a tail, small enough for a software driver. */
export function checkedStages(size: SizeName = "toy", codec: Codec = "q5block"): readonly StageSpec[] {
  const resolved = resolveConfig({ size, overrides: { "pipeline.stages": 3, "pipeline.codec": codec } });
  if (!resolved.ok) throw new Error(`size ${size} must be valid by itself`);
  return stageSpecs(resolved.config, splitLayers(resolved.config));
}

/** With `size`, also at the shapes of its first, second and last stage, as when a miner takes one of them. */
export async function checkNumbers(worker: ComputeWorker, size: SizeName | null): Promise<Verdict> {
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
      "the processor computes other bits than every machine must, so audits would find this one wrong",
      "Check the machine's memory and undo any overclocking; if that does not help, report it with iota doctor --json",
      facts,
    );
  }
  if (!agrees) {
    return wrong(
      `the device computes something else than the processor: ${departureText(worst)}; audits would find it wrong`,
      useProcessor,
      facts,
    );
  }
  const text = `all ${outputs} results of a task in each kind of stage ${size === null ? "" : `of ${size} `}`;
  if (isProcessor) return good(`${text}are the known bits`, facts);
  return good(`${text}agree with the processor's, off by ${decimal(worst.difference)} at most`, facts);
}
