/** The command line as a whole, in a fake process: help, exit codes, JSON, errors, interrupts. */

import { withCommands } from "../../support/with_commands.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Command, CommandContext, CommandTable } from "../../../cli/terminal/command.ts";
import { Terminated, UserError } from "../../../cli/program/errors.ts";
import { main } from "../../../cli/command_line.ts";
import { version } from "../../../cli/program/version.ts";
import { FakeHost, type FakeHostOptions } from "../../support/fake_host.ts";

function commandThat(run: (context: CommandContext) => Promise<number> | number): CommandTable {
  const command: Command = {
    name: "walk",
    summary: "walk about",
    usage: "walk [options]",
    examples: ["iota walk --steps 3"],
    options: [{ name: "steps", kind: "int", placeholder: "N", min: 1, default: 10, doc: "how far" }],
    run: (context) => Promise.resolve(run(context)),
  };
  return { walk: () => Promise.resolve(command) };
}

const programThat = (run: Parameters<typeof commandThat>[0]) => withCommands(commandThat(run));

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(line: string, table: CommandTable, options: FakeHostOptions = {}): Promise<Ran> {
  const host = new FakeHost(options);
  const code = await main(line === "" ? [] : line.split(" "), host, withCommands(table));
  return { code, ...host.written };
}

const idle = commandThat(() => 0);

Deno.test("Command line: nothing, help and --help print the overview on stdout", async () => {
  for (const line of ["", "help", "--help", "-h"]) {
    const { code, stdout, stderr } = await run(line, idle);
    assertEquals([code, stderr], [0, ""]);
    assertMatch(stdout, /Commands\n {2}walk {2}walk about\n/);
  }
});

Deno.test("Command line: help of a command lists its options, the common ones and its examples", async () => {
  for (const line of ["help walk", "walk --help", "walk -h", "--help walk"]) {
    const { code, stdout } = await run(line, idle);
    assertEquals(code, 0);
    assertStringIncludes(stdout, "Options\n  --steps N  how far [10]\n");
    assertStringIncludes(stdout, "--json");
    assertStringIncludes(stdout, "Examples\n  iota walk --steps 3\n");
  }
});

Deno.test("Command line: the version, for people and for programs", async () => {
  assertEquals((await run("--version", idle)).stdout, `iota ${version}\n`);
  assertEquals((await run("version --json", idle)).stdout, `{"type":"summary","version":"${version}"}\n`);
});

Deno.test("Command line: an unknown command proposes the nearest and exits with 2", async () => {
  const { code, stdout, stderr } = await run("wlak", idle);
  assertEquals([code, stdout], [2, ""]);
  assertStringIncludes(stderr, "There is no command 'wlak'. Did you mean walk?");
  assertStringIncludes(stderr, "next  See iota help walk");
});

Deno.test("Command line: a command's option may stand before its name", async () => {
  const seen: unknown[] = [];
  const table = commandThat(({ options }) => {
    seen.push(options.number("steps"));
    return 0;
  });
  for (const line of ["--steps 3 walk", "--steps=3 walk", "walk --steps 3"]) {
    assertEquals((await run(line, table)).code, 0);
  }
  assertEquals(seen, [3, 3, 3]);
  assertStringIncludes((await run("--steps 3 wlak", table)).stderr, "There is no command 'wlak'");
});

Deno.test("Command line: --json prints only JSON lines, the summary last", async () => {
  const table = commandThat(({ output }) => {
    output.summary({ steps: 3 });
    output.event({ type: "step", step: 1 });
    output.line("for people");
    output.log.info("for the log");
    return 0;
  });
  const { stdout, stderr } = await run("walk --json", table);
  assertEquals(stdout, '{"type":"step","step":1}\n{"type":"summary","steps":3}\n');
  assertEquals(stderr, "2026-11-21 14:03:07 info  for the log\n");
});

Deno.test("Command line: people get lines and an aligned table in readable units", async () => {
  const table = commandThat(({ output }) => {
    output.event({ type: "step", step: 1 });
    output.line("one step");
    const sample = "The people of this nation have never been stronger,\nand the state of the union is sound.";
    output.summary({
      wallMs: 94_200,
      wireBytes: 2048,
      mergeBytesPerMiner: 2_411_724,
      bytesPerTokenForward: 18.5,
      reLeases: 0,
      stageHashesAgree: true,
      tokens: 81_920,
      sample,
      device: null,
      chain: null,
    });
    return 0;
  });
  assertEquals(
    (await run("walk", table)).stdout,
    [
      "one step",
      "wall time                1 m 34 s",
      "wire bytes               2.0 KiB",
      "merge bytes per miner    2.3 MiB",
      "bytes per token forward  18.5 B",
      "tasks handed out again   0",
      "stage hashes agree       yes",
      "tokens                   81,920",
      "chain                    none",
      "sample",
      "  The people of this nation have never been stronger,",
      "  and the state of the union is sound.",
      "",
    ].join("\n"),
  );
});

Deno.test("Command line: the summary of a resumed run separates what was measured since", async () => {
  const fields = { steps: 60, tokens: 4_096, run: "runs/demo", sessionFields: ["tokens"] };
  const shown = async (resumedAtStep: number | null) =>
    (await run(
      "walk",
      commandThat(({ output }) => {
        output.summary({ ...fields, resumedAtStep });
        return 0;
      }),
    )).stdout;
  assertEquals(await shown(null), "steps   60\ntokens  4,096\nrun     runs/demo\n");
  assertEquals(
    await shown(40),
    "steps   60\nrun     runs/demo\n\nsince it was resumed at step 40\ntokens  4,096\n",
  );
});

Deno.test("Command line: --quiet keeps warnings and the summary, --verbose adds debug, both is a mistake", async () => {
  const table = commandThat(({ output }) => {
    output.line("line");
    output.log.debug("debug");
    output.log.info("info");
    output.log.warn("warn");
    output.summary({ steps: 1 });
    return 0;
  });
  const quiet = await run("walk --quiet", table);
  assertEquals([quiet.stdout, quiet.stderr], ["steps  1\n", "2026-11-21 14:03:07 warn  warn\n"]);
  assertStringIncludes((await run("walk --verbose", table)).stderr, "debug debug\n");
  assertEquals((await run("walk --quiet --verbose", table)).code, 2);
});

Deno.test("Command line: a person's mistake prints the rule and the next step, and exits with 1", async () => {
  const table = commandThat(() => {
    throw new UserError("Cannot walk: the road is closed", { next: "Wait" });
  });
  for (const line of ["walk", "walk --verbose"]) {
    const { code, stderr } = await run(line, table);
    assertEquals([code, stderr], [1, "error Cannot walk: the road is closed\nnext  Wait\n"]);
  }
  const { stdout } = await run("walk --json", table);
  assertEquals(
    stdout,
    '{"type":"error","message":"Cannot walk: the road is closed","next":"Wait"}\n',
  );
});

Deno.test("Command line: an unexpected error is one line, with its stack only on --verbose", async () => {
  const table = commandThat(() => {
    throw new TypeError("x is not\na function");
  });
  const plain = await run("walk", table);
  assertEquals(plain.code, 1);
  assertMatch(
    plain.stderr,
    /^error Unexpected TypeError: x is not · a function\nnext {2}Run it again with --verbose[^\n]*\n$/,
  );
  assertMatch((await run("walk --verbose", table)).stderr, /\n {4}at .*command_test\.ts/);
});

Deno.test("Command line: an uncaught error ends the process the same way", async () => {
  const host = new FakeHost();
  const late = programThat(() => (host.throwLater(new Error("late")), 0));
  await main(["walk"], host, late);
  assertEquals(host.exits, [1]);
  assertStringIncludes(host.written.stderr, "error Unexpected Error: late");
});

Deno.test("Command line: Ctrl-C aborts the command's signal, a second one leaves with 130", async () => {
  const host = new FakeHost();
  await main(
    ["walk"],
    host,
    programThat(({ interruption }) => {
      const signal = interruption();
      assertEquals([signal.aborted, interruption() === signal], [false, true]);
      host.interrupt();
      assert(signal.aborted);
      assertEquals(host.exits, []);
      host.interrupt();
      return 0;
    }),
  );
  assertEquals(host.exits, [130]);
});

Deno.test("Command line: a terminal that closes may send SIGHUP twice, which is not a wish to exit at once", async () => {
  const host = new FakeHost();
  await main(
    ["walk"],
    host,
    programThat(({ interruption }) => {
      const signal = interruption();
      for (let times = 0; times < 3; times++) host.interrupt("SIGHUP");
      assert(signal.reason instanceof Terminated);
      return 0;
    }),
  );
  assertEquals(host.exits, []);
});

Deno.test("Command line: a command that ends as it was asked to is not an error: a summary, 1 after Ctrl-C and 0 after SIGTERM", async () => {
  const stoppedBy = async (signal: "SIGINT" | "SIGTERM", words: readonly string[], fields?: Record<string, string>) => {
    const host = new FakeHost();
    const table = commandThat(({ output, interruption }) => {
      const asked = interruption();
      host.interrupt(signal);
      if (fields !== undefined) output.summary(fields);
      throw asked.reason;
    });
    const code = await main(["walk", ...words], host, withCommands(table));
    return { code, ...host.written };
  };
  const pressed = await stoppedBy("SIGINT", ["--json"]);
  assertEquals([pressed.code, pressed.stdout], [1, '{"type":"summary","finished":false,"reason":"interrupted"}\n']);
  const ended = await stoppedBy("SIGTERM", ["--json"], { node: "5F" });
  assertEquals([ended.code, ended.stdout], [0, '{"type":"summary","node":"5F"}\n'], "the command's own summary counts");
  const { stderr } = await stoppedBy("SIGTERM", []);
  assertEquals([stderr.includes("error"), stderr.includes("Stopped: interrupted")], [false, true]);
});

Deno.test("Command line: a full disk behind stdout is said once, and nothing more is printed there", async () => {
  for (const words of [["walk"], ["walk", "--json"]]) {
    const host = new FakeHost();
    host.isFull = true;
    const code = await main(words, host, programThat(({ output }) => (output.answer({ at: 1 }, "lost"), 0)));
    assertEquals([code, host.written], [1, {
      stdout: "",
      stderr: "error Cannot write to 'standard output': the disk is full\n" +
        "next  Free some space, or send the output elsewhere\n",
    }]);
  }
});

Deno.test("Command line: a reader that goes away ends a plain command quietly and interrupts a careful one", async () => {
  const careless = new FakeHost();
  careless.readerGone = true;
  await main(["walk"], careless, programThat(({ output }) => (output.line("lost"), 0)));
  assertEquals([careless.exits, careless.written.stderr], [[0], ""]);
  const careful = new FakeHost();
  careful.readerGone = true;
  await main(
    ["walk"],
    careful,
    programThat(({ output, interruption }) => {
      const signal = interruption();
      output.line("lost");
      output.line("lost too");
      return signal.aborted ? 7 : 0;
    }),
  );
  assertEquals(careful.exits, []);
});

Deno.test("Command line: colours only on a terminal that wants them", async () => {
  const terminal = { columns: 80, rows: 24 };
  const help = (line: string, options: FakeHostOptions) =>
    run(line, idle, options).then(({ stdout }) => stdout.includes("\x1b["));
  assertEquals(await help("help", { terminal }), true);
  assertEquals(await help("help", {}), false);
  assertEquals(await help("help --no-color", { terminal }), false);
  assertEquals(await help("help", { terminal, env: { NO_COLOR: "1" } }), false);
  assertEquals(await help("help", { terminal, env: { TERM: "dumb" } }), false);
});

function groupThat(run: (context: CommandContext) => number): CommandTable {
  const shared = { name: "to", kind: "string", placeholder: "PLACE", doc: "where" } as const;
  const action: Command = {
    name: "walk dog",
    summary: "with the dog",
    usage: "walk dog [options]",
    examples: ["iota walk dog"],
    options: [shared],
    positionals: { max: 1, placeholder: "PLACE" },
    run: (context) => Promise.resolve(run(context)),
  };
  const group: Command = {
    name: "walk",
    summary: "walk about",
    usage: "walk ACTION",
    examples: ["iota walk dog"],
    options: [shared],
    actions: { dog: () => Promise.resolve(action) },
    run: () => Promise.resolve(3),
  };
  return { walk: () => Promise.resolve(group) };
}

Deno.test("Command line: a group runs the named action, wherever its options are", async () => {
  const seen: unknown[] = [];
  const table = groupThat(({ options, positionals }) => {
    seen.push([options.text("to"), ...positionals]);
    return 0;
  });
  for (const line of ["walk dog far --to sea", "walk --to sea dog far", "--quiet walk dog --to sea far"]) {
    assertEquals((await run(line, table)).code, 0);
  }
  assertEquals(seen, [["sea", "far"], ["sea", "far"], ["sea", "far"]]);
  assertEquals((await run("walk", table)).code, 3, "without an action the group itself says what is missing");
});

Deno.test("Command line: help of a group lists its actions, and of an action is its own", async () => {
  const table = groupThat(() => 0);
  for (const line of ["help walk", "walk --help"]) {
    assertStringIncludes((await run(line, table)).stdout, "Actions\n  dog  with the dog\n");
  }
  for (const line of ["help walk dog", "walk dog --help", "walk --help dog"]) {
    assertStringIncludes((await run(line, table)).stdout, "iota walk dog: with the dog\n");
  }
  const wrong = await run("walk dgo", table);
  assertEquals(wrong.code, 2);
  assertStringIncludes(wrong.stderr, "There is no command 'walk dgo'. Did you mean dog?");
  assertStringIncludes(wrong.stderr, "See iota help walk dog, or the list: iota help walk");
});
