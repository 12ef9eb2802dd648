/**
 * Writes a run's signed log, and continues it after a restart or a kill.
 *
 * Lines are signed when a round is reported, a process ends or a file is full. Not synced: the journal's replay fills
 * the gap after a power cut. Hashes are chained, so the next signature covers a killed process's lines. Lines that a
 * full disk refuses are counted, and a line with the log's state follows.
 */

import { plural } from "../../terminal/text/format.ts";
import type { LogEntry, MachineEntry, StartModel } from "../../../core/ledger/entry.ts";
import { scoresEntry, takeEntry } from "../../../core/ledger/ledger.ts";
import { carriedState, pastRounds } from "../../../core/ledger/ledger_state.ts";
import type { PastRounds } from "../../../core/ledger/ledger_state.ts";
import type { Signer, Verify } from "../../../net/auth/hello.ts";
import type { Cancel, Timers } from "../../../net/timers.ts";
import { cutTornEnd, readWholeLines } from "../../terminal/text/whole_lines.ts";
import { type LogDisk, RotatingLog } from "../../files/rotating_log.ts";
import {
  type ChainHead,
  chainLine,
  type LineContent,
  readLine,
  type SignedHead,
  signedText,
} from "../../files/chain_line.ts";
import { putAside } from "../../files/put_aside.ts";
import { exists } from "../../files/run_folder.ts";
import { headPath, keptLedgerFiles, ledgerFileNames, ledgerPath, readHead } from "../../files/ledger_files.ts";
import { LedgerReader } from "./ledger_reader.ts";
import { gapBefore, missingEntries } from "./missing_entries.ts";

export interface LedgerLogOptions {
  readonly folder: string;
  readonly run: string;
  readonly from?: StartModel | null; // whose parameters the run began with; default null: none
  readonly signer: Signer;
  readonly verify: Verify;
  readonly timers: Timers;
  readonly warn: (text: string) => void;
  readonly fileBytes?: number;
  readonly disk?: LogDisk;
}

const groupMs = 100;
const defaultFileBytes = 2 ** 24;
const recentEntries = 8; // to find the place in a replay

/** Cuts off a torn last line. Another run's log is put aside. */
export async function openLedgerLog(options: LedgerLogOptions): Promise<LedgerLog> {
  const opened = await readEarlier(options);
  const { run } = opened.reader;
  if (run === null || run === options.run) return new LedgerLog(options, opened);
  const names = await namesIn(options.folder);
  const [kept] = await putAside({ folder: options.folder, names });
  options.warn(
    `The signed log in '${options.folder}' is of another run, ${run}: it is kept as '${kept}', and a new one begins`,
  );
  return new LedgerLog(options, await readEarlier(options));
}

async function namesIn(folder: string): Promise<string[]> {
  const there = await Promise.all(ledgerFileNames.map((name) => exists(`${folder}/${name}`)));
  return ledgerFileNames.filter((_, i) => there[i]);
}

interface MissingLines {
  readonly head: ChainHead;
  readonly lines: number; // at least
}

interface EarlierLog {
  readonly reader: LedgerReader;
  readonly recent: readonly string[];
  readonly missing: MissingLines | null;
}

async function readEarlier(options: LedgerLogOptions): Promise<EarlierLog> {
  const path = ledgerPath(options.folder);
  const recent: string[] = [];
  const reader = new LedgerReader({
    verify: options.verify,
    checksMembers: false,
    onEntry: (entry) => {
      if (!isOwn(entry)) recent.push(JSON.stringify(entry));
      if (recent.length > recentEntries) recent.shift();
    },
  });
  const file = await readWholeLines(path);
  const hasLines = (file?.lines.length ?? 0) > 0; // a full disk may have refused all lines after a rotation
  const read = hasLines ? file : await readWholeLines(`${path}.1`);
  for (const line of read?.lines ?? []) reader.take(line);
  reader.end();
  if (hasLines && recent.length === 0) recent.push(...await lastEntries(`${path}.1`)); // it only carries the state on
  if (file !== null) await cutTornEnd(path, file);
  if (reader.wrong !== null) {
    const { line, why } = reader.wrong;
    options.warn(
      `Line ${line} of '${path}' does not follow from those before it (${why}); the log begins anew after it`,
    );
  }
  const head = await readHead(headPath(path));
  const proves = head !== null && reader.wrong === null &&
    reader.provesMore(head, { run: options.run, hub: options.signer.address });
  return { reader, recent, missing: proves ? { head, lines: head.line - reader.head.line } : null };
}

async function lastEntries(path: string): Promise<string[]> {
  const lines = (await readWholeLines(path))?.lines.slice(-8 * recentEntries) ?? []; // some are signatures and scores
  const contents = lines.flatMap((line) => readLine(line)?.content ?? []);
  const entries = contents.flatMap((content) => "entry" in content && !isOwn(content.entry) ? [content.entry] : []);
  return entries.slice(-recentEntries).map((entry) => JSON.stringify(entry));
}

const isOwn = ({ type }: LogEntry): boolean =>
  type === "begun" || type === "carried" || type === "ended" || type === "scores";

export class LedgerLog {
  readonly #options: LedgerLogOptions;
  readonly #file: RotatingLog;
  readonly #reader: LedgerReader;
  readonly #recent: readonly string[]; // of earlier processes
  #missing: MissingLines | null;
  #replayed: MachineEntry[] = [];
  #head: ChainHead;
  #waiting: LogEntry[] = [];
  #lost: number; // lines missing before the next one
  #hasState: boolean; // later lines can follow one in the file
  #cancel: Cancel | null = null;

  constructor(options: LedgerLogOptions, { reader, recent, missing }: EarlierLog) {
    const { folder, warn, disk } = options;
    const path = ledgerPath(folder);
    this.#options = options;
    this.#reader = reader;
    this.#recent = recent;
    this.#missing = missing;
    this.#head = reader.head;
    this.#lost = reader.wrong === null ? 0 : 1;
    this.#hasState = reader.lines > 0;
    this.#file = new RotatingLog({
      ...{ path, bytes: Infinity, keep: keptLedgerFiles }, // files end in `#flush`
      ...(disk === undefined ? {} : { disk }),
      lostLine: () => JSON.stringify({ lost: this.#lost }),
      onLost: ({ message }) => warn(`The signed log cannot be written to '${path}'; the run continues: ${message}`),
      onRegained: (lost) => warn(`The signed log is written to '${path}' again; it lacks ${plural(lost, "line")}`),
    });
  }

  /** For a run that goes on without its journal. */
  get past(): PastRounds {
    return pastRounds(this.#reader.ledger);
  }

  /** Null: the log is empty. */
  get step(): number | null {
    return this.#reader.lines === 0 ? null : this.#reader.ledger.nextStep;
  }

  replay(entry: MachineEntry): void {
    this.#replayed.push(entry);
  }

  begin({ step, round, isJournaled }: { step: number; round: number; isJournaled: boolean }): void {
    const { run, signer: { address: hub }, from: model = null } = this.#options;
    const known = model === null ? { run, hub } : { run, hub, from: model };
    const { entries, isJoined } = missingEntries(this.#replayed, this.#recent);
    this.#replayed = [];
    if (isJournaled && isJoined) this.#missing = null; // the replay gives the entries
    const { ledger, run: begun } = this.#reader;
    const gap = isJournaled ? gapBefore(ledger, { entries, end: { step, round } }) : null;
    if (gap !== null) this.#missing ??= { head: this.#head, lines: 1 };
    if (gap !== null || (entries.length > 0 && begun === null)) {
      const from = gap ?? { step: ledger.nextStep, round: 0 };
      this.#add({ type: "begun", ...known, ...from, isJournaled });
    }
    for (const entry of entries) this.take(entry);
    this.#add({ type: "begun", ...known, step, round, isJournaled });
  }

  take(entry: MachineEntry): void {
    this.#add(entry);
  }

  end({ finished, reason }: { finished: boolean; reason: string }): void {
    this.#add({ type: "ended", finished, reason });
  }

  /** `writes` false: another process writes the log now. */
  close({ writes = true } = {}): void {
    if (writes) this.#flush({ signs: true });
    this.#cancel?.();
    this.#file.close();
  }

  #add(entry: LogEntry): void {
    this.#waiting.push(entry);
    this.#cancel ??= this.#options.timers.after(groupMs, () => this.#flush());
  }

  #flush({ signs = false } = {}): void {
    this.#cancel?.();
    this.#cancel = null;
    const waiting = this.#waiting;
    if (waiting.length === 0 && !signs) return;
    this.#waiting = [];
    const group = this.#missing === null ? new LineGroup(this.#options, this.#head) : this.#after(this.#missing);
    const begins = this.#file.endFileAt(this.#options.fileBytes ?? defaultFileBytes);
    if (this.#lost > 0 || (begins && this.#hasState)) this.#carry(group);
    for (const entry of waiting) this.#put(group, entry);
    if (signs && (waiting.length > 0 || this.#reader.signedLine < this.#head.line)) group.sign();
    this.#write(group);
  }

  /** Tells verifiers of the missing lines. */
  #after({ head, lines }: MissingLines): LineGroup {
    this.#missing = null;
    this.#lost = lines;
    const path = ledgerPath(this.#options.folder);
    this.#options.warn(
      `'${path}' lacks at least ${plural(lines, "line")} at its end, and no journal has all that they said: ` +
        "the log says so and goes on; what was reported or decided in them does not count",
    );
    const group = new LineGroup(this.#options, head);
    group.lines.push(JSON.stringify({ lost: this.#lost }));
    return group;
  }

  #carry(group: LineGroup): void {
    const { run, signer: { address: hub } } = this.#options;
    const state = carriedState(this.#reader.ledger);
    group.put({ previous: group.head.hash, entry: { type: "carried", run, hub, lost: this.#lost, state } });
  }

  #put(group: LineGroup, entry: LogEntry): void {
    const { ledger } = this.#reader;
    takeEntry(ledger, entry); // verifiers find broken rules
    group.put({ entry });
    if (entry.type !== "round") return;
    const scores = scoresEntry(ledger);
    takeEntry(ledger, scores);
    group.put({ entry: scores });
    group.sign();
  }

  #write({ lines, head, signed }: LineGroup): void {
    if (lines.length === 0) return;
    this.#head = head;
    if (!this.#file.write(lines.join("\n"), lines.length)) {
      this.#lost += lines.length;
      return;
    }
    this.#lost = 0;
    this.#hasState = true;
    if (signed !== null) this.#keepHead(signed);
  }

  #keepHead(head: SignedHead): void {
    const path = headPath(ledgerPath(this.#options.folder));
    try {
      Deno.writeTextFileSync(`${path}.new`, `${JSON.stringify(head)}\n`);
      Deno.renameSync(`${path}.new`, path);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      this.#options.warn(`The head of the signed log cannot be kept in '${path}': ${error.message}`);
    }
  }
}

class LineGroup {
  readonly lines: string[] = [];
  head: ChainHead;
  signed: SignedHead | null = null;
  readonly #options: Pick<LedgerLogOptions, "run" | "signer">;

  constructor(options: Pick<LedgerLogOptions, "run" | "signer">, head: ChainHead) {
    this.#options = options;
    this.head = head;
  }

  put(content: LineContent): void {
    const { text, head } = chainLine(this.head, content);
    this.lines.push(text);
    this.head = head;
  }

  sign(): void {
    const { run, signer } = this.#options;
    const signature = hexOf(signer.sign(signedText(run, this.head)));
    this.signed = { ...this.head, run, signer: signer.address, signature };
    this.put({ signer: signer.address, signature });
  }
}

const hexOf = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
