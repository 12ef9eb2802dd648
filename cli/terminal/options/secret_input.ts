/**
 * How a secret enters: typed without echo, or from a file or a variable that the command line names. Arguments are
 * rejected, since every user of the machine can read them. Typed text is never printed.
 */

import type { CommandContext, OptionSpec } from "../command.ts";
import { attempting, UsageError, UserError } from "../../program/errors.ts";

const minPasswordCharacters = 8; // Bittensor's files all use the same salt
const maxSecretBytes = 64 * 1024;

export const passwordOptions: readonly OptionSpec[] = [
  {
    name: "password-file",
    kind: "string",
    placeholder: "FILE",
    doc: "read the password from the first line of this file; asked for when absent",
  },
  {
    name: "password-env",
    kind: "string",
    placeholder: "VARIABLE",
    doc: "read the password from this environment variable",
  },
];

export function givenPasswordOption({ options }: Pick<CommandContext, "options">): string | null {
  const name = ["password-file", "password-env"].find((each) => options.given(each));
  return name === undefined ? null : `--${name}`;
}

export function refuseIdlePassword(context: Pick<CommandContext, "options">, why: string): void {
  const given = givenPasswordOption(context);
  if (given === null) return;
  throw new UsageError(`${given} has no effect, as there is nothing to open or encrypt: ${why}`, {
    next: `Leave ${given} out`,
  });
}

export function warnOfIdlePassword(context: Pick<CommandContext, "options" | "output">, why: string): void {
  const given = givenPasswordOption(context);
  if (given !== null) context.output.log.warn(`${given} was not used as ${why}`);
}

export interface SecretTerminal {
  isTerminal(): boolean;
  setRaw(isRaw: boolean): void;
  read(): Promise<Uint8Array | null>;
  /** Not to stdout, which is for programs. */
  write(text: string): void;
  /** Returns a function that unsubscribes and restores the default. */
  onTerminate(callback: () => void): () => void;
}

const processTerminal: SecretTerminal = {
  isTerminal: () => Deno.stdin.isTerminal() && Deno.stderr.isTerminal(),
  setRaw: (isRaw) => Deno.stdin.setRaw(isRaw),
  async read() {
    const buffer = new Uint8Array(4096);
    const count = await Deno.stdin.read(buffer);
    return count === null ? null : buffer.subarray(0, count);
  },
  write(text) {
    Deno.stderr.writeSync(new TextEncoder().encode(text));
  },
  onTerminate(callback) {
    const signals: readonly Deno.Signal[] = Deno.build.os === "windows" ? ["SIGINT"] : ["SIGINT", "SIGTERM", "SIGHUP"];
    for (const signal of signals) Deno.addSignalListener(signal, callback);
    return () => signals.forEach((signal) => Deno.removeSignalListener(signal, callback));
  },
};

const key = { ctrlC: 3, ctrlD: 4, backspace: 8, newline: 10, enter: 13, ctrlU: 21, escape: 27, space: 32, delete: 127 };

/** Ctrl-C, Ctrl-D and a termination signal stop the command. */
export async function askHidden(question: string, terminal: SecretTerminal = processTerminal): Promise<string> {
  const stopped = Promise.withResolvers<"cancelled">();
  const stopListening = terminal.onTerminate(() => stopped.resolve("cancelled"));
  terminal.write(`${question}: `);
  terminal.setRaw(true);
  try {
    const line: number[] = [];
    for (;;) {
      const bytes = await Promise.race([terminal.read(), stopped.promise]);
      const state = bytes === null || bytes === "cancelled" ? "cancelled" : takeKeys(line, bytes);
      if (state === "cancelled") throw new UserError("Stopped on request");
      if (state === "done") return new TextDecoder().decode(new Uint8Array(line));
    }
  } finally {
    terminal.setRaw(false);
    terminal.write("\n");
    stopListening();
  }
}

function takeKeys(line: number[], bytes: Uint8Array): "open" | "done" | "cancelled" {
  for (const byte of bytes) {
    if (byte === key.ctrlC || (byte === key.ctrlD && line.length === 0)) return "cancelled";
    if (byte === key.escape) return "open"; // an arrow key arrives as one piece, without text
    if (byte === key.enter || byte === key.newline) return "done";
    if (byte === key.ctrlU) line.length = 0;
    else if (byte === key.backspace || byte === key.delete) removeCharacter(line);
    else if (byte >= key.space) line.push(byte);
  }
  return "open";
}

/** UTF-8: continuation bytes go with their first one. */
function removeCharacter(line: number[]): void {
  let byte = line.pop();
  while (byte !== undefined && (byte & 0xc0) === 0x80) byte = line.pop();
}

interface PasswordQuestion {
  readonly question: string;
  readonly isNew: boolean; // asked for twice, with a minimum length
  readonly terminal?: SecretTerminal;
}

export async function readPassword(context: CommandContext, asked: PasswordQuestion): Promise<string> {
  const { options, environment } = context;
  const file = options.text("password-file");
  const variable = options.text("password-env");
  if (file !== undefined && variable !== undefined) {
    throw new UsageError("--password-file and --password-env exclude each other: there is only one password", {
      next: "Leave one of them out",
    });
  }
  let password: string;
  if (file !== undefined) password = (await readSecretFile(context, file)).split(/\r?\n/, 1)[0]!;
  else if (variable !== undefined) password = environment.get(variable) ?? "";
  else password = await askPassword(asked);
  if (password === "") {
    const origin = file ?? variable ?? "what was typed";
    throw new UserError(`The password is empty: ${origin}`, {
      next: "Type it, or pass --password-file FILE or --password-env VARIABLE",
    });
  }
  if (asked.isNew && [...password].length < minPasswordCharacters) {
    throw new UserError(
      `The new password is shorter than ${minPasswordCharacters} characters`,
      { next: "Choose a longer one: anyone who gets the file can try passwords without limit" },
    );
  }
  return password;
}

async function askPassword({ question, isNew, terminal }: PasswordQuestion): Promise<string> {
  const password = await askOnTerminal(question, terminal);
  if (isNew && password !== "" && await askOnTerminal("The same password again", terminal) !== password) {
    throw new UserError("The two entries of the password differ", { next: "Start again" });
  }
  return password;
}

/** "-": stdin; no path: typed text. */
export async function readSecret(
  context: CommandContext,
  { path, question }: { path: string | undefined; question: string },
): Promise<string> {
  const text = path === undefined
    ? await askOnTerminal(question)
    : path === "-"
    ? await readStdin()
    : await readSecretFile(context, path);
  return text.replace(/[\r\n]+$/, "");
}

async function askOnTerminal(question: string, terminal: SecretTerminal = processTerminal): Promise<string> {
  if (!terminal.isTerminal()) {
    throw new UsageError(`Cannot ask for a secret (${question}): stdin and stderr are not a terminal`, {
      next: "Put it into a file that only you can read, and name that file: see --help",
    });
  }
  return await askHidden(question, terminal);
}

async function readSecretFile(context: CommandContext, path: string): Promise<string> {
  const { size, mode } = await attempting({ action: "read a secret from", value: path }, () => Deno.stat(path));
  if (size > maxSecretBytes) {
    throw new UserError(`Cannot read a secret from ${path}: it has ${size} bytes, more than the limit of 64 KiB`);
  }
  if (mode !== null && (mode & 0o077) !== 0) {
    context.output.log.warn(`Other users of this machine can read that secret: chmod 600 '${path}'`);
  }
  return await attempting({ action: "read a secret from", value: path }, () => Deno.readTextFile(path));
}

async function readStdin(): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for (let part = await processTerminal.read(); part !== null; part = await processTerminal.read()) {
    bytes += part.length;
    if (bytes > maxSecretBytes) throw new UserError("Cannot read a secret from stdin: it is longer than 64 KiB");
    parts.push(part.slice());
  }
  return await new Blob(parts as BlobPart[]).text();
}
