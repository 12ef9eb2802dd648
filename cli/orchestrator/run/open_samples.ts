/** Samples of the model's text of an orchestrator's run: what a sample becomes, and where its absence is said. */

import { systemTimers } from "../../../net/timers.ts";
import type { CommandContext } from "../../terminal/command.ts";
import type { RunningOrchestrator } from "../hub/running_orchestrator.ts";
import type { Projection } from "../../observe/projection/projection.ts";
import { startSample } from "../../model/samples/sample_thread.ts";
import { TextSamples } from "../../model/samples/text_samples.ts";

export function openSamples(
  { output }: CommandContext,
  { folder, projection, role }: { folder: string; projection: Projection; role: () => RunningOrchestrator },
): TextSamples {
  return new TextSamples({
    folder,
    config: () => role().state.config,
    sampledStep: () => projection.view.samples.at(-1)?.step ?? null,
    timers: systemTimers,
    start: startSample,
    tell: (record) => projection.tell(record),
    onProblem: (text) => output.log.info(text),
  });
}
