/** Keeps a finished run's page up until Enter, Ctrl-C, or `unseenMs` without a viewer. */

import { every, systemTimers, type Timers } from "../../../net/timers.ts";
import type { CommandContext } from "../../terminal/command.ts";
import { RunHistory } from "../history/run_history.ts";
import { UserError } from "../../program/errors.ts";
import type { TlsPair } from "../../files/tls_files.ts";
import { untilAborted } from "../../program/aborted.ts";
import { type FolderPage, openFolderPage } from "./run_dashboard.ts";

const unseenMs = 10 * 60_000; // then a forgotten terminal frees the port
const lookMs = 5_000;

interface KeptPage {
  readonly folder: string;
  readonly host: string;
  readonly port: number;
  readonly url: string; // where people open it
  readonly tls?: TlsPair | null;
}

/** Does nothing without a terminal, with --json or --quiet, or if CI is set. */
export async function keepPage(context: CommandContext, { folder, url, ...at }: KeptPage): Promise<void> {
  const { output, environment } = context;
  const interruption = context.interruption();
  if (output.mode !== "live" || interruption.aborted || environment.get("CI")) return;
  const history = new RunHistory(folder);
  try {
    await history.refresh();
    const page = await openFolderPage(context, { history, folder, ...at });
    const seen = { interruption, timers: systemTimers, page, openKeys: output.openKeys.bind(output) };
    const hasKeys = await untilUnseen(seen, (keys) => {
      const end = keys ? "Enter" : "Ctrl-C";
      output.line(`The page stays at ${url} until ${end}, or 10 minutes without a viewer`);
    });
    if (hasKeys) output.closeLive();
    await page.close();
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    output.log.warn(`The page ends with the run: ${error.message}`); // its port is taken
  } finally {
    await history.close();
  }
}

interface Watched {
  readonly interruption: AbortSignal;
  readonly timers: Timers;
  readonly page: Pick<FolderPage, "viewedAtMs">;
  readonly openKeys: CommandContext["output"]["openKeys"];
}

export async function untilUnseen(
  { interruption, timers, page, openKeys }: Watched,
  onOpen: (hasKeys: boolean) => void,
): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const hasKeys = openKeys({
    onBytes: (bytes) => {
      if (bytes.some((byte) => endKeys.has(byte))) resolve();
    },
    onResize: () => {},
    onContinue: () => {},
  });
  onOpen(hasKeys);
  const openedAtMs = timers.steadyMs();
  const cancel = every(timers, lookMs, () => {
    const seenAtMs = Math.max(openedAtMs, page.viewedAtMs());
    if (timers.steadyMs() - seenAtMs >= unseenMs) resolve();
  });
  await Promise.race([promise, untilAborted(interruption)]);
  cancel();
  return hasKeys;
}

const endKeys: ReadonlySet<number> = new Set(["\r", "\n", "q"].map((key) => key.charCodeAt(0)));
