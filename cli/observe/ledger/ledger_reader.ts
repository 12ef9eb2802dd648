/**
 * Reads a signed log up to the first line that does not follow: a number or hash off the chain, a signature that is not
 * the orchestrator's, or an entry that contradicts earlier ones (core/ledger).
 */

import type { LogEntry, StartModel } from "../../../core/ledger/entry.ts";
import { takeEntry } from "../../../core/ledger/ledger.ts";
import { carriedState, type Ledger, openLedger } from "../../../core/ledger/ledger_state.ts";
import type { NodeId } from "../../../core/ids.ts";
import type { Verify } from "../../../net/auth/hello.ts";
import { isGenuine } from "../../roles/signatures/signature_check.ts";
import {
  type ChainHead,
  hashOf,
  noLines,
  type ReadLine,
  readLine,
  type SignedHead,
  signedText,
} from "../../files/chain_line.ts";
import { entryProblem } from "./entry_shape.ts";
import { signatureProblem, signedParts } from "./entry_signatures.ts";

export interface WrongLine {
  readonly line: number;
  readonly why: string;
}

interface LedgerReaderOptions {
  readonly verify: Verify;
  readonly checksMembers?: boolean; // @default true
  readonly onEntry?: (entry: LogEntry, line: number) => void;
}

export class LedgerReader {
  ledger: Ledger = openLedger();
  head: ChainHead = noLines;
  run: string | null = null;
  hub: NodeId | null = null;
  from: StartModel | null | undefined; // whose parameters the run began with; undefined: no line says it
  lines = 0;
  firstLine = 1; // older ones are gone
  lostLines = 0; // to full disks
  scores = 0; // recomputed
  signatures = 0;
  unsigned = 0;
  signedLine = 0; // signed up to here
  wrong: WrongLine | null = null;
  readonly #verify: Verify;
  readonly #checksMembers: boolean;
  readonly #onEntry: (entry: LogEntry, line: number) => void;
  readonly #hashes = new Map<number, string>();
  #lostBefore: number | null = null; // lines missing before the next one
  #scoresLine = 0; // newest line with scores
  #isTorn = false;

  /** `checksMembers`: a millisecond each; the log's writer has checked them. */
  constructor({ verify, checksMembers = true, onEntry = () => {} }: LedgerReaderOptions) {
    this.#verify = verify;
    this.#checksMembers = checksMembers;
    this.#onEntry = onEntry;
  }

  take(text: string): void {
    if (this.wrong !== null) return;
    const lost = lostLines(text);
    if (lost === null) this.#settleTorn();
    if (this.wrong !== null) return;
    if (lost !== null) {
      this.#isTorn = false;
      if (lost <= (this.#lostBefore ?? 0)) return this.#refuse("lines that are lost must be counted");
      this.lostLines += lost - (this.#lostBefore ?? 0); // a disk that fills again goes on counting
      this.#lostBefore = lost;
      return;
    }
    const read = readLine(text);
    if (read === null) {
      this.#isTorn = true;
      return;
    }
    const problem = this.#chainProblem(read) ?? this.#contentProblem(read);
    if (problem !== null) return this.#refuse(problem);
    this.head = { line: read.line, hash: read.hash };
    this.#hashes.set(read.line, read.hash);
    this.lines += 1;
  }

  /** Lines that the head beside the log covers must be there. */
  takeHead(head: SignedHead): void {
    if (this.wrong !== null) return;
    if (this.run === null) return this.#refuse(`it is missing: the head beside the log signs ${head.line} lines`);
    if (head.run !== this.run) return;
    if (!this.#isSigned(head, head)) return this.#refuse("the head beside the log is not signed by the orchestrator");
    if (head.line > this.head.line) {
      return this.#refuse(`it is missing: the orchestrator has signed ${head.line} lines, and the log ends before`);
    }
    const hash = this.#hashes.get(head.line);
    if (hash !== undefined && hash !== head.hash) {
      this.wrong = { line: head.line, why: "the head beside the log signs another line with this number" };
    }
  }

  provesMore(head: SignedHead, own: { run: string; hub: NodeId }): boolean {
    return head.line > this.head.line && head.run === own.run && this.#isSigned(head, head, own);
  }

  end(): void {
    this.#settleTorn();
  }

  /** Scores and their signature are one write, which only a power cut separates. */
  requireSigned(): void {
    if (this.wrong !== null || this.#scoresLine <= this.signedLine) return;
    this.wrong = { line: this.#scoresLine, why: "no signature of the orchestrator follows it" };
  }

  /** A full disk may cut a line; the number of lost lines follows. */
  #settleTorn(): void {
    if (this.#isTorn && this.wrong === null) this.#refuse("it is not a line of a log");
    this.#isTorn = false;
  }

  #refuse(why: string): void {
    this.wrong = { line: this.head.line + 1, why };
  }

  #chainProblem({ line, body, hash, content }: ReadLine): string | null {
    const carried = "entry" in content && content.entry?.type === "carried" ? content.entry : null;
    const lost = this.#lostBefore;
    const isAnchor = carried !== null && (this.lines === 0 || lost !== null);
    if (lost !== null) {
      if (carried === null) return "a line that carries the log's state must follow lost lines";
      if (carried.lost !== lost) return `it must say that ${lost} lines are lost: it says ${carried.lost}`;
      const missing = line - this.head.line - 1; // lines counted as lost may be there
      if (this.lines > 0 && (missing < 0 || missing > lost)) {
        return `its number must be at most ${this.head.line + lost + 1}, after lost lines, but is ${line}`;
      }
    }
    const previous = "previous" in content ? content.previous : this.head.hash;
    if (!isAnchor) {
      if (line !== this.head.line + 1) return `its number must be ${this.head.line + 1}, but is ${line}`;
      if (previous !== this.head.hash) return "it must continue the line before it: it names another hash";
    }
    if (hashOf(previous, body) !== hash) return "its hash must be that of its text and the line before it";
    if (isAnchor) {
      if (this.lines === 0) this.firstLine = line;
      this.head = { line: line - 1, hash: previous };
    }
    return null;
  }

  #contentProblem(read: ReadLine): string | null {
    const { content } = read;
    if ("signer" in content) {
      if (!this.#isSigned(this.head, content)) {
        return `its signature is not the orchestrator's over line ${this.head.line}`;
      }
      this.signedLine = this.head.line;
      return null;
    }
    const { entry } = content;
    const problem = entryProblem(entry) ?? this.#originProblem(entry) ?? this.#carriedProblem(entry) ??
      takeEntry(this.ledger, entry) ?? this.#membersProblem(entry);
    if (problem !== null) return problem;
    if (entry.type === "scores") {
      this.#scoresLine = read.line;
      this.scores += entry.scores.length + entry.differing.reduce((sum, { scores }) => sum + scores.length, 0);
    }
    this.#onEntry(entry, read.line);
    return null;
  }

  #membersProblem(entry: LogEntry): string | null {
    const { run } = this;
    if (!this.#checksMembers || run === null) return null;
    const parts = signedParts(entry);
    this.signatures += parts.signed.length;
    this.unsigned += parts.unsigned;
    return signatureProblem(parts, (signed) => isGenuine(signed, { run, verify: this.#verify }));
  }

  /** They are in the first line and never change. */
  #originProblem(entry: LogEntry): string | null {
    if (entry.type !== "begun" && entry.type !== "carried") {
      return this.run === null ? "a log must begin with its run and orchestrator" : null;
    }
    this.run ??= entry.run;
    this.hub ??= entry.hub;
    if (entry.run !== this.run) return `its run must be ${this.run}, but is ${entry.run}`;
    if (entry.hub !== this.hub) return `its orchestrator must be ${this.hub}, but is ${entry.hub}`;
    if (entry.type === "carried") return null;
    const { from = null } = entry;
    this.from ??= from;
    return from?.parameters === this.from?.parameters && from?.name === this.from?.name
      ? null
      : `the run must have begun from ${startText(this.from)}, not from ${startText(from)}`;
  }

  /** Where the lines before it are known. */
  #carriedProblem(entry: LogEntry): string | null {
    if (entry.type !== "carried") return null;
    const isKnown = this.lines > 0 && this.#lostBefore === null;
    this.#lostBefore = null;
    if (!isKnown || JSON.stringify(entry.state) === JSON.stringify(carriedState(this.ledger))) return null;
    return "what it carries must follow from the lines before it";
  }

  #isSigned(
    head: ChainHead,
    { signer, signature }: { signer: NodeId; signature: string },
    { run, hub }: { run: string | null; hub: NodeId | null } = this,
  ): boolean {
    if (signer !== hub || run === null || !/^([0-9a-f]{2})+$/.test(signature)) return false;
    const bytes = Uint8Array.from(signature.match(/../g) ?? [], (byte) => parseInt(byte, 16));
    return this.#verify({ address: signer, message: signedText(run, head), signature: bytes });
  }
}

function lostLines(text: string): number | null {
  const match = /^\{"lost":(\d{1,15})\}$/.exec(text);
  return match === null ? null : Number(match[1]);
}

export const startText = (from: StartModel | null): string =>
  from === null ? "random parameters" : `${from.name}, parameters ${from.parameters}`;
