/** One role as a child process: its JSON lines become records, its log a file, its end a promise. */

import { TextLineStream } from "../program/text_lines.ts";
import { proxiesOfChildren } from "../program/outbound.ts";
import { selfCommand } from "../program/self.ts";

interface ChildOptions {
  readonly name: string;
  readonly words: readonly string[]; // command and options, without --json
  readonly logFolder: string;
  readonly keepsLog: boolean;
  readonly onLine: (record: Record<string, unknown>) => void;
  readonly env?: Readonly<Record<string, string>>;
}

export interface Child {
  readonly name: string;
  readonly pid: number;
  readonly logPath: string;
  readonly ended: Promise<number>;
  kill(signal: Deno.Signal): void;
}

export function startChild({ name, words, logFolder, keepsLog, onLine, env = {} }: ChildOptions): Child {
  const self = selfCommand();
  const logPath = `${logFolder}/${name}.log`;
  const process = new Deno.Command(self.command, {
    args: [...self.args, ...words, "--json"],
    env: { ...self.env, ...proxiesOfChildren(), ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const kill = (signal: Deno.Signal) => {
    try {
      process.kill(signal);
    } catch (error) {
      if (!(error instanceof TypeError || error instanceof Deno.errors.NotFound)) throw error; // it has already ended
    }
  };
  const ended = Promise.all([
    process.status,
    readLines(process.stdout, onLine),
    saveLog(process.stderr, { path: logPath, append: keepsLog }),
  ]).then(([status]) => status.code, (error) => {
    kill("SIGKILL"); // nothing reads it any more
    throw error;
  });
  return { name, pid: process.pid, logPath, ended, kill };
}

async function readLines(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  onLine: ChildOptions["onLine"],
): Promise<void> {
  for await (
    const line of stream.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream({ wholeOnly: true }))
  ) {
    const record: unknown = JSON.parse(line);
    if (typeof record === "object" && record !== null) onLine(record as Record<string, unknown>);
  }
}

async function saveLog(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  { path, append }: { path: string; append: boolean },
): Promise<void> {
  const file = await Deno.open(path, { create: true, ...(append ? { append } : { write: true, truncate: true }) });
  await stream.pipeTo(file.writable);
}

export async function lastLines(path: string, count = 6): Promise<string> {
  const text = await Deno.readTextFile(path).catch(() => "");
  return text.trimEnd().split("\n").slice(-count).join("\n");
}
