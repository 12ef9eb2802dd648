/** The command that resumes a stopped swarm. */

import { assertEquals } from "@std/assert";
import { command, swarmOptions } from "../../../cli/commands/swarm.ts";
import { parseOptions } from "../../../cli/terminal/options/args.ts";
import { shellWords } from "../../../cli/program/shell_words.ts";
import { resumeWords } from "../../../cli/swarm/run_swarm.ts";

function resumedWith(...words: string[]): string {
  const { options } = parseOptions({ words, options: command.options, maxPositionals: 0, helpCommand: "" });
  return shellWords(resumeWords(options, { folder: "runs/demo", unkept: swarmOptions }));
}

Deno.test("Swarm: the command that resumes it repeats what no run keeps, quoted for a shell, and nothing else", () => {
  assertEquals(resumedWith(), "iota swarm --data runs/demo");
  const kept = ["--size", "toy", "--steps", "9", "--validators", "2", "--set", "train.learningRate=1e-3", "--fresh"];
  assertEquals(resumedWith(...kept), "iota swarm --data runs/demo");
  const machine = ["--chain", "none", "--device", "cpu", "--threads", "2", "--memory", "4GiB", "--port", "9009"];
  assertEquals(
    resumedWith(...kept, ...machine, "--links", "40ms 20mbit"),
    "iota swarm --data runs/demo --port 9009 --device cpu --threads 2 --memory 4GiB --chain none " +
      "--links '40ms 20mbit'",
  );
});
