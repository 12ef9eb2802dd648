/** `--log-level` and `--log-format`, for every command. */

import { withCommands } from "../../support/with_commands.ts";
import { assertEquals, assertStringIncludes } from "@std/assert";
import type { Command, CommandTable } from "../../../cli/terminal/command.ts";
import { UserError } from "../../../cli/program/errors.ts";
import { main } from "../../../cli/command_line.ts";
import { FakeHost } from "../../support/fake_host.ts";

const levels = ["debug", "info", "warn", "error"] as const;
const kept: string[] = []; // the log file

const command: Command = {
  ...{ name: "log", summary: "log", usage: "log", examples: ["iota log"], options: [] },
  run({ output }) {
    output.copyTo((line) => kept.push(line), { stampOf: () => "then" });
    for (const level of levels) output.log[level](`a ${level}`);
    output.line("for people");
    throw new UserError("Cannot log as it is a test", { next: "Nothing" });
  },
};
const table: CommandTable = { log: () => Promise.resolve(command) };

async function logged(line: string): Promise<{ stderr: string[]; file: string[]; code: number }> {
  kept.length = 0;
  const host = new FakeHost();
  const code = await main(line.split(" "), host, withCommands(table));
  return { stderr: host.written.stderr.trimEnd().split("\n"), file: [...kept], code };
}

const levelsIn = (lines: readonly string[]) =>
  levels.filter((level) => lines.some((line) => line.endsWith(`${level.padEnd(5)} a ${level}`)));

Deno.test("Log options: a level holds on stderr and in a log file, wherever it is given", async () => {
  for (
    const [words, expected] of [
      ["log", ["info", "warn", "error"]],
      ["log --log-level error", ["error"]],
      ["--log-level=debug log --quiet", ["debug", "info", "warn", "error"]],
    ] as const
  ) {
    const { stderr, file } = await logged(words);
    assertEquals([levelsIn(stderr), levelsIn(file)], [[...expected], [...expected]], words);
  }
  const { stderr, code } = await logged("log --log-level wrong");
  assertEquals(code, 2);
  assertStringIncludes(stderr[0]!, "--log-level must be one of error, warn, info, debug");
});

Deno.test("Log options: as JSON, every line on stderr and in a log file has the same three fields", async () => {
  const { stderr, file, code } = await logged("log --log-format json --log-level warn");
  assertEquals(code, 1);
  for (const line of [...stderr, ...file]) assertEquals(Object.keys(JSON.parse(line)), ["time", "level", "text"]);
  const texts = (lines: readonly string[]) =>
    lines.map((line) => JSON.parse(line)).map(({ level, text }) => [level, text]);
  const [warned, failed] = [["warn", "a warn"], ["error", "a error"]];
  const end = [["error", "Cannot log as it is a test"], ["error", "Nothing"]];
  assertEquals(texts(stderr), [warned, failed, ...end]);
  assertEquals(texts(file), [warned, failed, ["info", "for people"], ...end]);
});
