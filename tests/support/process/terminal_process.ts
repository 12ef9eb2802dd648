/** The program in a terminal of its own, as a person has it: keys go in, and what it draws can be waited for. */

import { isFile } from "../is_file.ts";
import { iotaCommand } from "./iota_process.ts";

const program = "/usr/bin/script"; // of util-linux: it makes a terminal and passes everything on

/** Why there is none, or null. */
export const noTerminal: string | null = Deno.build.os !== "linux" || !isFile(program)
  ? "no script of util-linux to make a terminal"
  : null;

export class TerminalProcess {
  readonly ended: Promise<number>;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  #text = "";
  #waiting: { readonly pattern: RegExp; readonly resolve: () => void }[] = [];

  constructor(words: readonly string[]) {
    const line = [...iotaCommand, ...words].map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
    const process = new Deno.Command(program, {
      args: [
        "-qefc",
        `stty cols 100 rows 30; ${line}; code=$?; stty -a | grep -o ' -\\?icanon'; exit $code`,
        "/dev/null",
      ],
      env: { TERM: "xterm", NO_COLOR: "1" },
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    this.#input = process.stdin.getWriter();
    this.ended = Promise.all([process.status, this.#read(process.stdout)]).then(([{ code }]) => code);
  }

  /** All that was drawn since the last wait. */
  async until(pattern: RegExp): Promise<void> {
    if (!pattern.test(this.#text)) {
      await new Promise<void>((resolve) => this.#waiting.push({ pattern, resolve }));
    }
    this.#text = "";
  }

  async press(keys: string): Promise<void> {
    await this.#input.write(new TextEncoder().encode(keys));
  }

  /** What was drawn since the last wait. */
  get text(): string {
    return this.#text;
  }

  async close(): Promise<number> {
    const code = await this.ended;
    await this.#input.abort(); // its reader has ended
    return code;
  }

  async #read(stdout: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> {
    for await (const text of stdout.pipeThrough(new TextDecoderStream())) {
      this.#text += text;
      const met = this.#waiting.filter(({ pattern }) => pattern.test(this.#text));
      this.#waiting = this.#waiting.filter((each) => !met.includes(each));
      for (const { resolve } of met) resolve();
    }
  }
}
