/** Bytes that are appended once and then read at any place: in memory, or in a file where they may not fit. */

import { attemptingSync } from "../../program/errors.ts";
import { present } from "../../../core/assert.ts";

export interface Spool {
  readonly bytes: number;
  append(bytes: Uint8Array): void;
  read(from: number, to: number): Uint8Array<ArrayBuffer>;
  /** Makes what was appended durable. */
  sync(): void;
  close(): void;
}

export class MemorySpool implements Spool {
  #memory = new Uint8Array(2 ** 20);
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  append(bytes: Uint8Array): void {
    const end = this.#bytes + bytes.length;
    if (end > this.#memory.length) {
      const grown = new Uint8Array(Math.max(end, 2 * this.#memory.length));
      grown.set(this.#memory.subarray(0, this.#bytes));
      this.#memory = grown;
    }
    this.#memory.set(bytes, this.#bytes);
    this.#bytes = end;
  }

  read(from: number, to: number): Uint8Array<ArrayBuffer> {
    return this.#memory.slice(from, to);
  }

  sync(): void {}
  close(): void {}
}

const bufferBytes = 2 ** 20;

export class FileSpool implements Spool {
  readonly #path: string;
  readonly #file: Deno.FsFile;
  readonly #buffer = new Uint8Array(bufferBytes);
  #buffered = 0;
  #written: number;

  /** `bytes`: as many are kept of an existing file. */
  constructor(path: string, bytes: number) {
    this.#path = path;
    this.#file = this.#attempt(() => Deno.openSync(path, { read: true, write: true, create: true }));
    this.#attempt(() => this.#file.truncateSync(bytes));
    this.#written = bytes;
  }

  get bytes(): number {
    return this.#written + this.#buffered;
  }

  append(bytes: Uint8Array): void {
    if (this.#buffered + bytes.length > bufferBytes) this.#flush();
    if (bytes.length > bufferBytes) return this.#write(bytes);
    this.#buffer.set(bytes, this.#buffered);
    this.#buffered += bytes.length;
  }

  read(from: number, to: number): Uint8Array<ArrayBuffer> {
    this.#flush();
    const bytes = new Uint8Array(to - from);
    this.#attempt(() => {
      this.#file.seekSync(from, Deno.SeekMode.Start);
      for (let done = 0; done < bytes.length;) {
        done += present(this.#file.readSync(bytes.subarray(done)), `${this.#path} must keep its size`);
      }
    });
    return bytes;
  }

  sync(): void {
    this.#flush();
    this.#attempt(() => this.#file.syncDataSync());
  }

  close(): void {
    this.#file.close();
  }

  #flush(): void {
    const bytes = this.#buffer.subarray(0, this.#buffered);
    this.#buffered = 0;
    if (bytes.length > 0) this.#write(bytes);
  }

  #write(bytes: Uint8Array): void {
    this.#attempt(() => {
      this.#file.seekSync(this.#written, Deno.SeekMode.Start);
      for (let done = 0; done < bytes.length;) done += this.#file.writeSync(bytes.subarray(done));
    });
    this.#written += bytes.length;
  }

  #attempt<T>(body: () => T): T {
    return attemptingSync({ action: "write", value: this.#path }, body);
  }
}
