/** Counts the bytes of messages and blobs where they are handed over. */

export interface LinkRates {
  readonly sent: number;
  readonly received: number;
  readonly sentPerSecond: number; // over the last minute, or since the start
  readonly receivedPerSecond: number;
}

const windowSeconds = 60;

export class LinkMeter {
  readonly #nowMs: () => number; // monotonic
  readonly #startMs: number;
  #sent = 0;
  #received = 0;
  #seconds: { second: number; sent: number; received: number }[] = []; // ascending

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#startMs = nowMs();
  }

  sent(bytes: number): void {
    this.#sent += bytes;
    this.#slot().sent += bytes;
  }

  received(bytes: number): void {
    this.#received += bytes;
    this.#slot().received += bytes;
  }

  rates(): LinkRates {
    const second = this.#second();
    const recent = this.#seconds.filter((slot) => slot.second > second - windowSeconds);
    const span = Math.min(windowSeconds, Math.max(1, (this.#nowMs() - this.#startMs) / 1_000));
    return {
      sent: this.#sent,
      received: this.#received,
      sentPerSecond: recent.reduce((sum, slot) => sum + slot.sent, 0) / span,
      receivedPerSecond: recent.reduce((sum, slot) => sum + slot.received, 0) / span,
    };
  }

  #second(): number {
    return Math.floor(this.#nowMs() / 1_000);
  }

  #slot(): { sent: number; received: number } {
    const second = this.#second();
    const last = this.#seconds.at(-1);
    if (last?.second === second) return last;
    const slot = { second, sent: 0, received: 0 };
    this.#seconds = [...this.#seconds.filter((each) => each.second > second - windowSeconds), slot];
    return slot;
  }
}
