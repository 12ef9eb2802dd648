/** A sample of the trained model's text; people see it before the table. */

import { samplingOf } from "../../core/settings/sampling.ts";
import type { CommandContext } from "../terminal/command.ts";
import type { RunPlan } from "../orchestrator/run/plan_run.ts";
import { sampleRun } from "../model/generate/run_generate.ts";
import { openDevice } from "../device/open_device.ts";

export async function writeSample(
  { options, output }: CommandContext,
  { config, folder: { path: run } }: RunPlan,
): Promise<string | null> {
  const tokens = options.number("sample-tokens") ?? 60;
  if (tokens === 0) return null;
  const { prompt } = samplingOf(config);
  const device = await openDevice(options.text("device"));
  try {
    const sampling = { temperature: 0.7, topK: 40, seed: 1 };
    const { text } = await sampleRun(
      device,
      { run, prompt, tokens, ...sampling },
      (warning) => output.log.warn(warning),
    );
    output.line("");
    output.line(`${output.paint.bold(prompt)}${text}`);
    output.line("");
    return `${prompt}${text}`;
  } finally {
    await device.finish();
  }
}
