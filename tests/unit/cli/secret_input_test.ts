/** Reading secrets: typed at a fake terminal, from files and variables; and what is rejected. */

import { withCommands } from "../../support/with_commands.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type { Command, CommandContext } from "../../../cli/terminal/command.ts";
import { UserError } from "../../../cli/program/errors.ts";
import { main } from "../../../cli/command_line.ts";
import {
  askHidden,
  passwordOptions,
  readPassword,
  type SecretTerminal,
} from "../../../cli/terminal/options/secret_input.ts";
import { FakeHost } from "../../support/fake_host.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";

/** Types the given pieces, then nothing more; keeps what was printed and whether it echoes. */
class TypedTerminal implements SecretTerminal {
  printed = "";
  isRaw = false;
  terminate: () => void = () => {};
  readonly #pieces: Uint8Array[];
  readonly #atEnd: Promise<null>;

  constructor(pieces: readonly string[], atEnd: Promise<null> = Promise.resolve(null)) {
    this.#pieces = pieces.map((piece) => new TextEncoder().encode(piece));
    this.#atEnd = atEnd;
  }

  isTerminal(): boolean {
    return true;
  }

  setRaw(isRaw: boolean): void {
    this.isRaw = isRaw;
  }

  read(): Promise<Uint8Array | null> {
    assert(this.isRaw, "nothing is read while the terminal echoes");
    return Promise.resolve(this.#pieces.shift() ?? this.#atEnd);
  }

  write(text: string): void {
    this.printed += text;
  }

  onTerminate(callback: () => void): () => void {
    this.terminate = callback;
    return () => this.terminate = () => {};
  }
}

async function typed(...pieces: string[]): Promise<string> {
  const terminal = new TypedTerminal(pieces);
  const answer = await askHidden("Password", terminal);
  assertEquals([terminal.printed, terminal.isRaw], ["Password: \n", false]);
  return answer;
}

Deno.test("Hidden question: a line is taken as typed and edited, and never shown", async () => {
  assertEquals(await typed("sec", "ret", "\r"), "secret");
  assertEquals(await typed("pässwörd ✓\n"), "pässwörd ✓");
  assertEquals(await typed("ab✓\x7f\x7fc\r"), "ac");
  assertEquals(await typed("\x7fab\x08c\r"), "ac");
  assertEquals(await typed("wrong\x15right\r"), "right");
  assertEquals(await typed("ab", "\x1b[D", "c\r"), "abc");
  assertEquals(await typed("a\tb\x00\r"), "ab");
  assertEquals(await typed("\r"), "");
});

Deno.test("Hidden question: Ctrl-C, Ctrl-D, a closed terminal and a signal end it and give the terminal back", async () => {
  for (const pieces of [["sec\x03ret\r"], ["\x04"], ["sec"]]) {
    const terminal = new TypedTerminal(pieces);
    const error = await assertRejects(() => askHidden("Password", terminal), UserError);
    assert(!error.message.includes("sec"));
    assertEquals([terminal.isRaw, terminal.printed], [false, "Password: \n"]);
  }
  const terminal = new TypedTerminal(["sec"], Promise.withResolvers<null>().promise);
  const asking = askHidden("Password", terminal);
  assertEquals(terminal.isRaw, true);
  terminal.terminate();
  await assertRejects(() => asking, UserError, "Stopped on request");
  assertEquals(terminal.isRaw, false);
});

interface Asked {
  readonly code: number;
  readonly password: string | undefined;
  readonly stderr: string;
}

/** A command that asks for a password, given these words, variables and keys. */
async function ask(
  words: readonly string[],
  { isNew = false, pieces, env = {} }: { isNew?: boolean; pieces?: readonly string[]; env?: Record<string, string> },
): Promise<Asked> {
  let password: string | undefined;
  const terminal = pieces === undefined ? {} : { terminal: new TypedTerminal(pieces) };
  const command: Command = {
    name: "open",
    summary: "open",
    usage: "open",
    examples: [],
    options: passwordOptions,
    async run(context: CommandContext) {
      password = await readPassword(context, { question: "Password", isNew, ...terminal });
      return 0;
    },
  };
  const host = new FakeHost({ env });
  const code = await main(["open", ...words], host, withCommands({ open: () => Promise.resolve(command) }));
  return { code, password, stderr: host.written.stderr + host.written.stdout };
}

Deno.test("Password: from the first line of a file, or from a variable that is named", async () => {
  await withScratchFolder(async (folder) => {
    const path = `${folder}/password`;
    await Deno.writeTextFile(path, "correct horse \r\nsecond line\n", { mode: 0o600 });
    assertEquals(await ask(["--password-file", path], {}), { code: 0, password: "correct horse ", stderr: "" });
    const env = { SECRET: "from the variable" };
    assertEquals((await ask(["--password-env", "SECRET"], { env })).password, "from the variable");
    const both = await ask(["--password-env", "SECRET", "--password-file", path], { env });
    assertEquals([both.code, both.password], [2, undefined]);
    if (Deno.build.os === "windows") return;
    await Deno.chmod(path, 0o644);
    assertStringIncludes((await ask(["--password-file", path], {})).stderr, "Other users of this machine can read");
  });
});

Deno.test("Password: an empty, short or mistyped one is refused without being shown", async () => {
  const env = { EMPTY: "", SHORT: "hush123" };
  const check = async (asked: Promise<Asked>, code: number, says: string) => {
    const result = await asked;
    assertEquals([result.code, result.password], [code, undefined]);
    assertStringIncludes(result.stderr, says);
    assert(!result.stderr.includes("hush"));
  };
  await check(ask(["--password-env", "EMPTY"], { env }), 1, "The password is empty");
  await check(ask(["--password-env", "NONE"], { env }), 1, "The password is empty");
  await check(ask(["--password-env", "SHORT"], { env, isNew: true }), 1, "shorter than 8 characters");
  await check(
    ask([], { pieces: ["hush horse\r", "hush house\r"], isNew: true }),
    1,
    "two entries of the password differ",
  );
  await check(ask(["--password-file", "/nowhere/at/all"], {}), 1, "does not exist");
  assertEquals((await ask(["--password-env", "SHORT"], { env })).password, "hush123"); // an old one may be short
  assertEquals((await ask([], { pieces: ["hush horse\r", "hush horse\r"], isNew: true })).password, "hush horse");
});
