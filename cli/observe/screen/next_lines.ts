/** The last lines of a run's output: what to do next, as commands to paste. */

import { basename } from "node:path";
import { samplingOf } from "../../../core/settings/sampling.ts";
import type { RunConfig } from "../../../core/config/config.ts";
import type { Paint } from "../../terminal/text/paint.ts";
import type { Environment } from "../../program/paths.ts";
import { calledAs } from "../../program/self.ts";
import { shellWords } from "../../program/shell_words.ts";

interface NextOptions {
  readonly environment: Environment;
  readonly paint: Paint;
  readonly config: RunConfig;
  readonly folder: string;
}

export function nextLines({ environment, paint, config, folder }: NextOptions): string[] {
  const iota = (...words: string[]) => shellWords([calledAs(environment), ...words]);
  const steps = [
    ["read its text", iota("generate", "--run", folder, "--prompt", samplingOf(config).prompt)],
    ["open its page", iota("dashboard", "--run", folder)],
    ["verify its log", iota("verify", folder)],
    ["share its page", iota("dashboard", "--run", folder, "--export", `${basename(folder)}.html`)],
  ] as const;
  return ["", paint.bold("What next"), ...steps.map(([what, words]) => `${paint.dim(what.padEnd(14))}  ${words}`)];
}
