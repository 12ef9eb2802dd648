/** A raw, ill-behaved connection: bytes out, bytes in, and when it ends. */

import { connect, type Socket } from "node:net";

export class Stranger {
  readonly #socket: Socket;
  readonly opened: Promise<boolean>; // false: it never came about
  readonly closed: Promise<void>;
  received = "";
  #isClosed = false;
  #onReceived: (() => void)[] = [];

  constructor({ port, from = "127.0.0.1" }: { port: number; from?: string }) {
    this.#socket = connect({ host: "127.0.0.1", port, localAddress: from, noDelay: true });
    this.opened = new Promise((resolve) => {
      this.#socket.on("connect", () => resolve(true));
      this.#socket.on("close", () => resolve(false));
    });
    this.closed = new Promise((resolve) =>
      this.#socket.on("close", () => {
        this.#isClosed = true;
        resolve();
        this.#wake();
      })
    );
    this.#socket.on("error", () => {}); // `close` follows
    this.#socket.on("data", (bytes: Uint8Array) => {
      this.received += new TextDecoder("latin1").decode(bytes);
      this.#wake();
    });
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Resolves when the system has the bytes; false: the connection is over. */
  send(bytes: Uint8Array | string): Promise<boolean> {
    const data = typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes;
    const written = new Promise<boolean>((resolve) => {
      this.#socket.write(data, (error?: Error | null) => resolve(error === undefined || error === null));
    });
    return Promise.race([written, this.closed.then(() => false)]);
  }

  /** Waits until this text arrives or the connection is over. */
  async hears(text: string): Promise<boolean> {
    while (!this.received.includes(text)) {
      if (this.#isClosed) return false;
      await new Promise<void>((resolve) => this.#onReceived.push(resolve));
    }
    return true;
  }

  /** Upgrades it to a WebSocket, up to the challenge. */
  async upgrade(): Promise<boolean> {
    await this.opened;
    await this.send(upgradeRequest);
    return await this.hears("challenge");
  }

  async leave(): Promise<void> {
    this.#socket.destroy();
    await this.closed;
  }

  #wake(): void {
    for (const resolve of this.#onReceived.splice(0)) resolve();
  }
}

const upgradeHead = ["GET / HTTP/1.1", "Host: orchestrator", "Upgrade: websocket", "Connection: Upgrade"];
const key = btoa("sixteen bytes!!!");
export const upgradeRequest = [...upgradeHead, `Sec-WebSocket-Key: ${key}`, "Sec-WebSocket-Version: 13", "", ""].join(
  "\r\n",
);

/** The beginning of a binary WebSocket message of that many bytes, masked with zeros. */
export function messageHead(bytes: number): Uint8Array {
  const head = new Uint8Array(14);
  head[0] = 0x82;
  head[1] = 0x80 | 127;
  new DataView(head.buffer).setBigUint64(2, BigInt(bytes));
  return head;
}
