/**
 * The near end of a journal that a thread writes. Entries that come during a write become durable together. When a
 * write fails, only its first item is told; it and all behind it are written again, in order, once that item is offered
 * again.
 */

import { unreachable } from "../../../core/assert.ts";
import type { JournalEntry, Recovered } from "./journal.ts";
import { JournalError } from "../../files/journal_error.ts";
import type { OpenJournalOptions } from "./journal_file.ts";
import {
  type FromJournal,
  type JournalFailure,
  packEntries,
  type Progress,
  type ToJournal,
} from "./journal_messages.ts";

type Content = { readonly entries: readonly JournalEntry[] } | { readonly state: Uint8Array };

export interface JournalTicket {
  readonly content: Content;
  readonly progress: Progress;
  readonly bytes: number;
  isOffered: boolean;
  durable: PromiseWithResolvers<void>;
}

const groupsUnderWay = 2; // one is written while the next is on its way
const groupBytes = 4 * 2 ** 20;
const mostBytes = 16 * 2 ** 20; // not yet durable; more is back-pressure

interface JournalThreadOptions extends OpenJournalOptions {
  readonly onCompacted?: (sequence: number) => void;
  readonly onSnapshotWanted: (because: string) => void;
  /** @default a thread of its own */
  readonly openWriter?: (handlers: WriterHandlers) => WriterLink;
}

export interface WriterHandlers {
  readonly onMessage: (message: FromJournal) => void;
  readonly onStopped: (why: string) => void;
}

/** Messages arrive in order. */
interface WriterLink {
  send(message: ToJournal, transfer: Transferable[]): void;
  end(): void;
}

interface OpenedThread {
  readonly thread: JournalThread;
  readonly recovered: Recovered & { readonly sequence: number };
}

export class JournalThread {
  readonly #writer: WriterLink;
  readonly #options: JournalThreadOptions;
  readonly #tickets: JournalTicket[] = []; // not durable, in order
  readonly #groups: number[] = []; // tickets of each group under way
  #bytes = 0;
  #writes = 0;
  #refusals = 0;
  #stopped: JournalError | null = null;
  readonly #opened = Promise.withResolvers<Recovered & { sequence: number }>();
  readonly #closed = Promise.withResolvers<{ readonly isFenced: boolean }>();

  static async open(options: JournalThreadOptions): Promise<OpenedThread> {
    const thread = new JournalThread(options);
    try {
      return { thread, recovered: await thread.#opened.promise };
    } catch (error) {
      thread.#writer.end();
      throw error;
    }
  }

  private constructor(options: JournalThreadOptions) {
    this.#options = options;
    const { path, identity, maxBytes, openWriter = openThread } = options;
    this.#writer = openWriter({
      onMessage: (message) => this.#receive(message),
      onStopped: (why) => this.#stop(why),
    });
    this.#send({ type: "open", options: { path, identity, maxBytes } });
  }

  get isBehind(): boolean {
    return this.#bytes > mostBytes;
  }

  get writes(): number {
    return this.#writes;
  }

  append(entries: readonly JournalEntry[], progress: Progress): JournalTicket {
    return this.#add({ entries }, progress, entries.reduce((sum, { event }) => sum + event.byteLength, 0));
  }

  snapshot(state: Uint8Array, progress: Progress): JournalTicket {
    return this.#add({ state }, progress, state.byteLength);
  }

  again(ticket: JournalTicket): Promise<void> {
    if (!ticket.isOffered) {
      ticket.isOffered = true;
      ticket.durable = Promise.withResolvers();
      this.#pump();
    }
    return ticket.durable.promise;
  }

  /** What was sent is still written. */
  async close(): Promise<void> {
    if (this.#stopped !== null) return this.#writer.end();
    this.#send({ type: "close" });
    const { isFenced } = await this.#closed.promise;
    if (!isFenced) this.#writer.end(); // ending the thread would close the file: see journal.ts, abandoned
  }

  #add(content: Content, progress: Progress, bytes: number): JournalTicket {
    const ticket: JournalTicket = { content, progress, bytes, isOffered: true, durable: Promise.withResolvers() };
    this.#tickets.push(ticket);
    this.#bytes += bytes;
    this.#pump();
    return ticket;
  }

  #pump(): void {
    let sent = this.#groups.reduce((sum, count) => sum + count, 0);
    if (this.#stopped !== null) return this.#refuse(this.#stopped);
    while (this.#groups.length < groupsUnderWay && this.#tickets[sent]?.isOffered === true) {
      const group = this.#groupAt(sent);
      this.#groups.push(group.length);
      sent += group.length;
      this.#write(group);
    }
  }

  #groupAt(start: number): JournalTicket[] {
    const group: JournalTicket[] = [];
    let bytes = 0;
    for (let i = start; i < this.#tickets.length && bytes < groupBytes; i++) {
      const ticket = this.#tickets[i]!;
      if (i > start && "state" in ticket.content) break;
      group.push(ticket);
      bytes += ticket.bytes;
      if ("state" in ticket.content) break;
    }
    return group;
  }

  #write(group: readonly JournalTicket[]): void {
    const attempt = this.#refusals;
    const { content, progress } = group.at(-1)!;
    if ("state" in content) {
      return this.#send({ type: "write", attempt, item: { type: "snapshot", state: content.state, progress } });
    }
    const entries = group.flatMap(({ content }) => "entries" in content ? content.entries : []);
    const packed = packEntries(entries);
    this.#send({ type: "write", attempt, item: { type: "append", entries: packed, progress } }, [packed.buffer]);
  }

  #send(message: ToJournal, transfer: Transferable[] = []): void {
    this.#writer.send(message, transfer);
  }

  #receive(message: FromJournal): void {
    switch (message.type) {
      case "opened":
        return this.#opened.resolve({ ...message.recovered, sequence: message.sequence });
      case "notOpened":
        return this.#opened.reject(errorOf(message.failure));
      case "durable":
        return this.#onDurable();
      case "refused":
        this.#refusals += 1;
        this.#groups.length = 0;
        return this.#refuse(errorOf(message.failure));
      case "compacted":
        return this.#options.onCompacted?.(message.sequence);
      case "snapshotWanted":
        return this.#options.onSnapshotWanted(message.because);
      case "closed":
        return this.#closed.resolve(message);
      default:
        return unreachable(message);
    }
  }

  #onDurable(): void {
    const count = this.#groups.shift() ?? 0;
    this.#writes += 1;
    const durable = this.#tickets.splice(0, count);
    for (const { bytes } of durable) this.#bytes -= bytes;
    this.#pump();
    for (const ticket of durable) ticket.durable.resolve();
  }

  /** Nobody waits for a snapshot, so it waits with the next item. */
  #refuse(error: JournalError): void {
    const told = this.#tickets.find(({ content }) => "entries" in content);
    if (told === undefined || !told.isOffered) return;
    told.isOffered = false;
    told.durable.reject(error);
  }

  #stop(why: string): void {
    this.#stopped = new JournalError("storage", `Cannot write the journal '${this.#options.path}': ${why}`);
    this.#groups.length = 0;
    this.#opened.reject(this.#stopped);
    this.#closed.resolve({ isFenced: false });
    this.#refuse(this.#stopped);
  }
}

function openThread({ onMessage, onStopped }: WriterHandlers): WriterLink {
  const worker = new Worker(workerUrl(), { type: "module", name: "journal" });
  worker.onmessage = ({ data }: MessageEvent<FromJournal>) => onMessage(data);
  worker.onerror = (event) => {
    event.preventDefault(); // otherwise an error in the worker ends this process
    onStopped(`its thread stopped: ${event.message}`);
  };
  worker.onmessageerror = () => onStopped("its thread sent a message that cannot be read");
  return { send: (message, transfer) => worker.postMessage(message, transfer), end: () => worker.terminate() };
}

function errorOf({ code, message }: JournalFailure): JournalError {
  return new JournalError(code, message);
}

/** A bundle is JavaScript. */
function workerUrl(): URL {
  return import.meta.url.endsWith(".js")
    ? new URL("./journal_worker.js", import.meta.url)
    : new URL("./journal_worker.ts", import.meta.url);
}
