/** What a long-running role does besides its work: it keeps its own log, and stops for a new version. */

import { dirname, resolve } from "node:path";
import { type Cancel, every, systemTimers, type Timers } from "../../net/timers.ts";
import type { CommandContext } from "../terminal/command.ts";
import { attempting } from "../program/errors.ts";
import { stamp } from "../terminal/output/log.ts";
import { programFile } from "../program/self.ts";
import { defaultLogBytes } from "../terminal/options/service_options.ts";
import { RotatingLog } from "./rotating_log.ts";

export async function openLogFile({ options, output }: CommandContext): Promise<void> {
  const given = options.text("log-file");
  if (given === undefined) return;
  const path = resolve(given);
  await attempting({ action: "open the log", value: path, creates: true }, async () => {
    await touch(path).catch(async (error) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      await Deno.mkdir(dirname(path), { recursive: true }).catch((refusal) => {
        throw refusal instanceof Deno.errors.NotCapable ? error : refusal; // we may create folders only in the data folder
      });
      await touch(path);
    });
  });
  const bytes = options.number("log-bytes") ?? defaultLogBytes;
  const log = new RotatingLog({
    path,
    bytes,
    keep: options.number("log-keep") ?? 4,
    steadyMs: () => systemTimers.steadyMs(),
  });
  output.copyTo((line) => log.write(line), { stampOf: () => stamp(new Date(systemTimers.nowMs()), true) });
}

/** Its service starts the new version. */
export const newVersion = "a new version is in place";

async function touch(path: string): Promise<void> {
  (await Deno.open(path, { create: true, append: true, mode: 0o600 })).close();
}

/** Null without --auto-restart, and if the program is not a single file. */
export async function openUpgradeWatch(
  { options, output, environment }: CommandContext,
  { isIdle, leave }: Pick<UpgradeWatchOptions, "isIdle" | "leave">,
): Promise<UpgradeWatch | null> {
  if (!options.flag("auto-restart")) return null;
  const path = programFile(environment);
  if (path === null) {
    output.log.warn("Not watching for a new version: the program runs from source, not from one file");
    return null;
  }
  const onReplaced = () => {
    output.event({ type: "upgradeFound", path });
    output.line(`a new version is at ${path}: restarting with it after this round`);
  };
  return await UpgradeWatch.open({ timers: systemTimers, identify: identityOf(path), isIdle, leave, onReplaced });
}

interface UpgradeWatchOptions {
  readonly timers: Timers;
  readonly identify: () => Promise<string | null>;
  readonly isIdle: () => boolean;
  readonly onReplaced: () => void;
  /** Between two rounds, at once when idle, or when no round has ended for a long time. */
  readonly leave: () => void;
}

const lookMs = 30_000;
const patienceMs = 600_000; // waiting for the end of a round

export class UpgradeWatch {
  readonly #options: UpgradeWatchOptions;
  readonly #own: string;
  #last: string | null;
  #state: "watching" | "replaced" | "left" = "watching";
  #cancel: Cancel;

  static async open(options: UpgradeWatchOptions): Promise<UpgradeWatch | null> {
    const own = await options.identify();
    return own === null ? null : new UpgradeWatch(options, own);
  }

  private constructor(options: UpgradeWatchOptions, own: string) {
    this.#options = options;
    this.#own = own;
    this.#last = own;
    this.#cancel = every(options.timers, lookMs, () => void this.#look());
  }

  roundEnded(): void {
    if (this.#state === "replaced") this.#leave();
  }

  stop(): void {
    this.#state = "left";
    this.#cancel();
  }

  async #look(): Promise<void> {
    const now = await this.#options.identify();
    const isSettled = now !== null && now === this.#last;
    this.#last = now;
    if (this.#state !== "watching" || !isSettled || now === this.#own) return;
    this.#cancel();
    this.#state = "replaced";
    this.#options.onReplaced();
    if (this.#options.isIdle()) this.#leave();
    else this.#cancel = this.#options.timers.after(patienceMs, () => this.#leave());
  }

  #leave(): void {
    this.stop();
    this.#options.leave();
  }
}

export function identityOf(path: string): () => Promise<string | null> {
  return async () => {
    try {
      const { ino, size, mtime } = await Deno.stat(path);
      return `${ino} ${size} ${mtime?.getTime()}`;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return null;
      throw error;
    }
  };
}
