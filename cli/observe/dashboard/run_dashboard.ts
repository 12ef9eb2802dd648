/** `iota dashboard`: shows or exports a folder's run, finished or live. It only reads. */

import { openProgress } from "../../terminal/output/progress.ts";
import { listen, noNodes } from "../../../net/server.ts";
import { defaultNetLimits } from "../../../net/limits.ts";
import { every, systemTimers } from "../../../net/timers.ts";
import type { CommandContext } from "../../terminal/command.ts";
import { openPast } from "../history/past.ts";
import { RunHistory } from "../history/run_history.ts";
import { untilAborted } from "../../program/aborted.ts";
import { attempting, UsageError, UserError } from "../../program/errors.ts";
import { StepPlaces } from "../history/step_places.ts";
import { plural } from "../../terminal/text/format.ts";
import { shellWords } from "../../program/shell_words.ts";
import type { PublicSpan } from "../public/public_shape.ts";
import type { ServedAt } from "../../address/public_address.ts";
import type { TlsPair } from "../../files/tls_files.ts";
import { openDashboard } from "./dashboard.ts";
import { exportRun, isWanted } from "./export_run.ts";
import { besidePages, pastPages } from "./past_api.ts";
import { openRunApi } from "./run_api.ts";

const followMs = 500;
const bytesPerSecond = 2 ** 27; // the reader's own machine

export async function runDashboard(context: CommandContext): Promise<number> {
  const { options } = context;
  const folder = options.text("run") ?? ".";
  const beside = options.text("beside");
  const [page, csv, tensorboard] = ["export", "csv", "tensorboard"].map((name) => options.text(name));
  const wanted = { page, csv, tensorboard };
  if (beside !== undefined && isWanted(wanted)) throw onlyServed(beside);
  const history = new RunHistory(folder);
  const other = beside === undefined ? null : openBeside(beside);
  try {
    await readRun(context, { history, folder });
    if (isWanted(wanted)) return await exportRun(context, { folder, wanted });
    if (other !== null) await readRun(context, other);
    return await serveFolder(context, { history, folder, ...(other === null ? {} : { beside: other }) });
  } finally {
    await history.close();
    await other?.history.close();
  }
}

interface BesideRun {
  readonly folder: string;
  readonly history: RunHistory;
  readonly places: StepPlaces;
}

export function openBeside(folder: string): BesideRun {
  const places = new StepPlaces();
  return { folder, places, history: new RunHistory(folder, { onRecord: (entry) => places.take(entry) }) };
}

function onlyServed(beside: string): UsageError {
  return new UsageError(
    `Cannot write two runs to a file: --beside '${beside}' works only in the served dashboard`,
    {
      next: "Leave out --beside, or the options --export, --csv and --tensorboard",
    },
  );
}

async function readRun(
  context: CommandContext,
  { history, folder }: { history: RunHistory; folder: string },
): Promise<void> {
  const progress = openProgress(context.output, "reading the run's log", "bytes");
  const span = await attempting(
    { action: "read the run's records", value: `${folder}/records.jsonl` },
    () => history.refresh((done, total) => progress.at(done, total)),
  ).finally(() => progress.close());
  const { facts, nodes } = history.newest.view;
  const isEmpty = facts.run === "" && Object.keys(nodes).length === 0;
  if (span.last === 0 || (span.damaged > 0 && isEmpty)) throw noRecords(folder, span);
  sayGaps(context, span);
}

function noRecords(folder: string, { damaged }: PublicSpan): UserError {
  const found = damaged === 0 ? "it has none" : `${plural(damaged, "line")} cannot be read`;
  return new UserError(`Cannot show '${folder}': its records.jsonl holds no record: ${found}`, {
    next: "Pass the folder that an orchestrator or a swarm wrote: --run runs/demo",
  });
}

function sayGaps({ output }: CommandContext, { first, missing, damaged }: PublicSpan): void {
  if (first > 1) output.line(`The first ${plural(first - 1, "record")} are no longer kept`);
  if (missing > 0) {
    output.log.warn(`Missing in the log: ${plural(missing, "record")}; moments after a gap may lack them`);
  }
  if (damaged > 0) output.log.warn(`Left out as unreadable: ${plural(damaged, "line")} of the log`);
}

interface ShownFolder {
  readonly history: RunHistory;
  readonly folder: string;
  readonly beside?: BesideRun;
}

async function serveFolder(context: CommandContext, shown: ShownFolder): Promise<number> {
  const { history, folder } = shown;
  const { output, options } = context;
  const interruption = context.interruption();
  const page = await openFolderPage(context, {
    ...shown,
    host: options.text("host")!,
    port: options.number("port")!,
  });
  output.event({ type: "dashboard", url: page.url, run: folder });
  output.line(`Dashboard: ${page.url} (Ctrl-C ends it)`);
  await untilAborted(interruption);
  await page.close();
  output.summary({ url: page.url, run: folder, lastRecord: history.newest.sequence });
  return 0;
}

export interface FolderPage {
  readonly url: string;
  /** Steady clock. */
  viewedAtMs(): number;
  close(): Promise<void>;
}

export async function openFolderPage(
  { output }: Pick<CommandContext, "output">,
  { history, folder, beside, host, port, tls = null }: ShownFolder & ServedAt & { readonly tls?: TlsPair | null },
): Promise<FolderPage> {
  const timers = systemTimers;
  const api = openRunApi({
    get view() {
      return history.newest.view;
    },
    sequence: () => history.newest.sequence,
    nowMs: () => history.newest.atMs,
    ...{ folder, output, timers, identity: null, refused: () => ({ total: 0, byCode: {} }) },
  });
  const past = openPast(history, folder);
  const pages = {
    ...openDashboard({ hasMetrics: false, hasBeside: beside !== undefined }).pages,
    ...api.pages,
    ...pastPages(past, { timers, bytesPerSecond }),
    ...(beside === undefined ? {} : besidePages(beside, { timers, bytesPerSecond })),
  };
  let viewedAtMs = -Infinity;
  let known = history.newest.sequence;
  const cancel = every(timers, followMs, () => {
    Promise.all([history.refresh(), beside?.history.refresh()]).then(([{ last }]) => {
      if (last !== known) api.onRecord?.({ sequence: last, atMs: 0, record: { type: "runContinued", pausedMs: 0 } });
      known = last;
    }, (error: Error) => output.log.debug(`The log cannot be read now: ${error.message}`));
  });
  const next = `Use another port: ${shellWords(["iota", "dashboard", "--run", folder, "--port", "0"])}`;
  const listener = await attempting(
    { action: "serve the dashboard on", value: `${host}:${port}` },
    () =>
      listen({
        ...{ host, port, limits: defaultNetLimits, ...(tls === null ? {} : { tls }) },
        accept: noNodes,
        fetch: (request, _trust, origin) => {
          const { pathname, hostname } = new URL(request.url);
          const isRead = request.method === "GET" || request.method === "HEAD";
          if (!isRead || (isOnlyHere(host) && !isOnlyHere(hostname))) return notFound();
          const page = pages[pathname];
          if (page !== undefined && isAskedByPage(pathname)) viewedAtMs = timers.steadyMs();
          return page?.(request, origin) ?? notFound();
        },
        onNotice: (text) => output.log.warn(text),
      }),
  ).catch((error) => {
    cancel();
    throw error instanceof UserError && error.next === undefined ? new UserError(error.message, { next }) : error;
  });
  const close = async () => {
    cancel();
    api.close?.();
    await listener.close();
  };
  return { url: `${listener.url}/`, viewedAtMs: () => viewedAtMs, close };
}

/** Monitors, crawlers and scrapers ask for other pages. */
const isAskedByPage = (pathname: string): boolean => pathname === "/events" || pathname.startsWith("/api/");

/** Any other name is a stranger's site that wants to read this machine's page. */
const isOnlyHere = (host: string): boolean => ["127.0.0.1", "localhost", "::1", "[::1]"].includes(host);

const notFound = (): Response =>
  Response.json({ code: "missing", detail: "There is no such page; try /" }, { status: 404 });
