/** The thread that makes one sample of a run's text on the processor: see sample_thread.ts. */

import { cpuAdapter, createCpuStage } from "../../../gpu/cpu/cpu_stage.ts";
import { sampleModel } from "../generate/run_generate.ts";
import { ModelTooLarge } from "../generate/text_model.ts";
import type { ComputeHost } from "../../device/compute_host.ts";
import type { SampleAnswer, SampleQuestion } from "./sample_thread.ts";

const scope = self as unknown as {
  onmessage: (event: MessageEvent<SampleQuestion>) => void;
  postMessage(message: SampleAnswer): void;
};

const device: ComputeHost = { adapter: cpuAdapter, openStage: createCpuStage, finish: () => Promise.resolve() };

scope.onmessage = async ({ data: { mostMs, ...request } }) => {
  const endMs = performance.now() + mostMs;
  try {
    scope.postMessage(await sampleModel(device, { ...request, goesOn: () => performance.now() < endMs }, () => {}));
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    scope.postMessage({ problem, isTooLarge: error instanceof ModelTooLarge });
  }
};
