/**
 * Other libraries that are measured beside ours, each in a process of its own, from a checkout only.
 *
 * They are development dependencies of tests/lab/bench/libraries, pinned there, and no part of the program. Owns: which there
 * are, starting and ending their processes, and the words for what is missing. Invariant: no process outlives its contest.
 */

import { UsageError } from "../../../../cli/program/errors.ts";
import { TextLineStream } from "../../../../cli/program/text_lines.ts";
import { checkoutFolder } from "../../../../cli/program/self.ts";
import type { Contender } from "./contest.ts";
import type { BenchTask, LibraryGreeting, LibraryRequest, Missing, Speed } from "./task.ts";

export type LibraryBackend = "cpu" | "webgpu";

/** How a library is started, in its folder; null: it has nothing for the backend. */
interface LibraryStart {
  readonly command: (backend: LibraryBackend) => readonly string[] | null;
}

const rights = ["--allow-read", "--allow-env", "--allow-sys", "--no-prompt"]; // no network, no writing: packages are fetched by Deno
const ofNpm = (name: string): LibraryStart => ({
  command: (backend) => [
    ...[Deno.execPath(), "run", "--quiet", "--no-check", "--config", "packages.json", ...rights],
    ...["main.ts", name, backend],
  ],
});

const starts: Readonly<Record<string, LibraryStart>> = {
  "jax-js": ofNpm("jax-js"),
  tfjs: ofNpm("tfjs"),
  "onnxruntime-web": ofNpm("onnxruntime-web"),
  pytorch: { command: (backend) => ["python3", "pytorch.py", backend === "cpu" ? "cpu" : "gpu"] },
};
export const libraryNames = Object.keys(starts);

/** "all", "none", or names with commas. */
export function chosenLibraries(text: string): string[] {
  if (text === "all") return libraryNames;
  const names = text === "none" ? [] : text.split(",").map((name) => name.trim());
  const unknown = names.find((name) => !libraryNames.includes(name));
  if (unknown === undefined) return names;
  throw new UsageError(
    `--peers is '${text}', not all, none or some of ${libraryNames.join(",")}`,
    { next: "Leave --peers out for all of them" },
  );
}

export interface StartedLibraries {
  readonly contenders: readonly Library[]; // those that started, and those that cannot compute this task
  readonly versions: Readonly<Record<string, string>>;
  readonly missing: Readonly<Record<string, string>>; // why, by name
  close(): Promise<void>;
}

export async function startLibraries(
  names: readonly string[],
  { backend, folder = libraryFolder() }: { backend: LibraryBackend; folder?: string | null },
): Promise<StartedLibraries> {
  const missing: Record<string, string> = {};
  const versions: Record<string, string> = {};
  const contenders: Library[] = [];
  const opened = await Promise.all(names.map(async (name) => {
    const command = folder === null ? null : starts[name]!.command(backend);
    if (folder === null) return { name, missing: "is measured from a checkout of the source only" };
    if (command === null) return { name, missing: `has no ${backend} backend` };
    return await Library.start(name, { command, folder });
  }));
  for (const library of opened) {
    if (library instanceof Library) {
      contenders.push(library);
      versions[library.name] = library.version;
    } else missing[library.name] = library.missing;
  }
  return {
    ...{ contenders, versions, missing },
    close: async () => {
      await Promise.all(contenders.map((library) => library.close()));
    },
  };
}

function libraryFolder(): string | null {
  const folder = checkoutFolder();
  return folder === null ? null : `${folder}tests/lab/bench/libraries`;
}

const startMs = 300_000; // packages are fetched at the first start
const answerMs = 120_000; // on top of the budget: what is compiled for a task is compiled in its first run
const keptErrorText = 2000; // characters

/** A process that answers each line with one. */
class Library implements Contender {
  readonly name: string;
  version = "";
  readonly #process: Deno.ChildProcess;
  readonly #requests: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;
  readonly #answers: ReadableStreamDefaultReader<string>;
  readonly #errorsRead: Promise<void>;
  #errorText = "";
  #end: Missing | null = null;

  static async start(
    name: string,
    { command: [program = "", ...args], folder }: { command: readonly string[]; folder: string },
  ): Promise<Library | Missing & { name: string }> {
    let process: Deno.ChildProcess;
    try {
      process = new Deno.Command(program, { args, cwd: folder, stdin: "piped", stdout: "piped", stderr: "piped" })
        .spawn();
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return { name, missing: `cannot start: there is no ${program}` };
      throw error;
    }
    const library = new Library(name, process);
    const greeting = await library.#answer<LibraryGreeting>(startMs);
    if ("missing" in greeting) {
      await library.close();
      return { name, missing: greeting.missing };
    }
    library.version = greeting.version;
    return library;
  }

  private constructor(name: string, process: Deno.ChildProcess) {
    this.name = name;
    this.#process = process;
    this.#requests = process.stdin.getWriter();
    const lines = process.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
    this.#answers = lines.getReader();
    this.#errorsRead = this.#readErrors();
  }

  async measure(task: BenchTask, budgetMs: number): Promise<Speed | Missing> {
    if (this.#end !== null) return this.#end;
    const request: LibraryRequest = { task, budgetMs };
    try {
      await this.#requests.write(new TextEncoder().encode(`${JSON.stringify(request)}\n`));
    } catch {
      return this.#ended(); // its input is closed: it is gone
    }
    return await this.#answer<Speed | Missing>(budgetMs + answerMs);
  }

  async close(): Promise<void> {
    this.#end ??= { missing: "was stopped" };
    try {
      this.#process.kill("SIGKILL");
    } catch (error) {
      if (!(error instanceof TypeError || error instanceof Deno.errors.NotFound)) throw error; // it has already ended
    }
    await Promise.all([this.#process.status, this.#errorsRead]);
    await this.#answers.cancel();
    await this.#requests.abort().catch(() => {
      // its input went with it
    });
  }

  /** The next JSON line; libraries print other lines, too. */
  async #answer<Line>(withinMs: number): Promise<Line | Missing> {
    const late = AbortSignal.timeout(withinMs);
    const lateness = new Promise<"late">((resolve) => {
      late.addEventListener("abort", () => resolve("late"), { once: true });
    });
    for (;;) {
      const next = await Promise.race([this.#answers.read(), lateness]);
      if (next === "late") return this.#end = { missing: `gave no answer within ${withinMs / 1000} s` };
      if (next.done) return await this.#ended();
      if (next.value.startsWith("{")) return JSON.parse(next.value);
    }
  }

  async #ended(): Promise<Missing> {
    const { code } = await this.#process.status;
    await this.#errorsRead;
    const words = this.#errorText.trim().split("\n").filter((line) => /error|cannot|fail/i.test(line)).at(0);
    return this.#end = { missing: `ended with code ${code}${words === undefined ? "" : `: ${words.trim()}`}` };
  }

  async #readErrors(): Promise<void> {
    for await (const text of this.#process.stderr.pipeThrough(new TextDecoderStream())) {
      this.#errorText = (this.#errorText + text).slice(-keptErrorText);
    }
  }
}
