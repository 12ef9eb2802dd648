/**
 * `--config FILE` of a command that configures no run: its options in TOML, `orchestrator = "ws://…"`, below what is typed.
 *
 * Owns: turning such a file into words of the command line, so that one parser checks both. Refuses keys that are no option,
 * with their line.
 */

import { closest } from "./args.ts";
import { commonOptions, type OptionSpec } from "./command.ts";
import { readConfigFile } from "./config_file.ts";
import { UserError } from "./errors.ts";

const notInFiles = new Set(["config", "help", "json", "quiet", "verbose", "no-color"]); // read before any file

export async function wordsOfFile(path: string, options: readonly OptionSpec[]): Promise<string[]> {
  const file = await readConfigFile(path);
  const specs = new Map([...options, ...commonOptions].map((spec) => [spec.name, spec]));
  return Object.entries(file.table).flatMap(([name, value]) => {
    const spec = specs.get(name);
    const place = `${path}:${file.lineOf(name) ?? 1}`;
    if (spec === undefined || notInFiles.has(name)) {
      const guess = closest(name, [...specs.keys()].filter((key) => !notInFiles.has(key)));
      const meant = guess === undefined ? "" : `: did you mean ${guess}?`;
      throw new UserError(`${place}: Cannot use ${name} as this command has no such option${meant}`, {
        next: "Correct that line",
      });
    }
    if (spec.kind !== "boolean") return [`--${name}=${value}`];
    if (typeof value === "boolean") return value ? [`--${name}`] : [];
    throw new UserError(`${place}: Cannot use ${name} as it must be true or false: current value is ${value}`, {
      next: "Correct that line",
    });
  });
}
