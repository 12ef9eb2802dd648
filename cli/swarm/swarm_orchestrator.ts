/** A swarm's orchestrator over all its lives: one run, folder and port. */

import type { CommandContext } from "../terminal/command.ts";
import { lockVariable } from "../program/lock_token.ts";
import { loopbackWord } from "../terminal/options/hub_options.ts";
import { logWords } from "../terminal/options/service_options.ts";
import { runWords } from "../terminal/options/run_options.ts";
import { startChild } from "./role_process.ts";
import { type Death, type LastEnd, type Line, SupervisedProcess } from "./supervised_process.ts";

interface SwarmOrchestratorOptions {
  readonly context: CommandContext;
  readonly folder: string;
  readonly lockToken: string | null; // of the folder's lock, held by the swarm
  readonly onLine: (line: Line) => void;
  readonly onRestart: (death: Death) => void;
}

export class SwarmOrchestrator {
  readonly process: SupervisedProcess;
  readonly #options: SwarmOrchestratorOptions;
  #url: string | null = null;
  #step = 0; // highest closed in any life
  #listening = Promise.withResolvers<void>();

  constructor(options: SwarmOrchestratorOptions) {
    this.#options = options;
    const { folder, lockToken, onRestart } = options;
    const env: Record<string, string> = lockToken === null ? {} : { [lockVariable]: lockToken };
    this.process = new SupervisedProcess({
      name: "orchestrator",
      words: (life) => Promise.resolve(this.#words(life)),
      start: ({ number, words, onLine }) =>
        startChild({ name: "orchestrator", words, logFolder: `${folder}/logs`, keepsLog: number > 1, onLine, env }),
      onLine: (line) => this.#onLine(line),
      isProgress: (line) => line["type"] === "stepClosed" && Number(line["step"]) > this.#step,
      onStarted: () => {},
      onRestart,
    });
  }

  /** Resolves when nodes can reach it or it has ended for good. */
  reachable(): Promise<void> {
    return Promise.race([this.#listening.promise, this.process.ended.then(() => {})]);
  }

  get ended(): Promise<LastEnd> {
    return this.process.ended;
  }

  /** A folder that holds a run is resumed. */
  #words(life: number): string[] {
    const { context, folder } = this.#options;
    const given = runWords(context);
    const place = (port: number) => ["--data", folder, "--port", `${port}`, loopbackWord];
    if (life > 1) this.#listening = Promise.withResolvers();
    const port = this.#url === null ? context.options.number("port") ?? 0 : Number(new URL(this.#url).port);
    return ["orchestrate", ...given, ...place(port), ...logWords(context.options)];
  }

  #onLine(line: Line): void {
    if (line["type"] === "listening") {
      this.#url = String(line["url"]);
      this.#listening.resolve();
    }
    this.#options.onLine(line);
    if (line["type"] === "stepClosed") this.#step = Math.max(this.#step, Number(line["step"]));
  }
}
