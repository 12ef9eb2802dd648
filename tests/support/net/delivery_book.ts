/**
 * What was sent and what arrived in one direction of one node's link: the promise of a session, kept as a checker.
 *
 * Owns: the label of each message (which session of its sender, which number in it), the content that belongs to a label, and
 * the check of what arrives. The sender opens a new session when it is told that the old one is over, the receiver likewise.
 * Invariant: within one of the receiver's sessions arrive the messages of one of the sender's sessions, from the first on,
 * each once, in order, unaltered; of an older session nothing arrives any more.
 */

import { Buffer } from "node:buffer";
import { assert, assertEquals } from "@std/assert";

export interface Label {
  readonly session: number; // of its sender, from 1
  readonly index: number; // in that session, from 0
}

const slack = new Uint8Array(4096).map((_, index) => index * 31);

/** Zero to two segments of up to 3 kB, a function of the label alone. */
export function contentOf({ session, index }: Label): Uint8Array[] {
  const mixed = Math.imul(session * 7919 + index, 0x9e37_79b1) >>> 0;
  return Array.from({ length: mixed % 3 }, (_, part) => {
    const start = (mixed >>> (8 + part)) % 1024;
    return slack.subarray(start, start + (mixed >>> (4 + part)) % 3000);
  });
}

export class DeliveryBook {
  readonly #name: string;
  #session = 1;
  #sent = 0;
  #seenSession = 0;
  #seen = 0;
  #isOpen = false; // the receiver has had a message of its present session

  constructor(name: string) {
    this.#name = name;
  }

  /** Of the next message. */
  get next(): Label {
    return { session: this.#session, index: this.#sent };
  }

  /** The message of `next` was taken for delivery. */
  accepted(): void {
    this.#sent++;
  }

  senderLostSession(): void {
    this.#session++;
    this.#sent = 0;
  }

  receiverLostSession(): void {
    this.#isOpen = false;
  }

  arrived(label: Label, segments: readonly Uint8Array[]): void {
    const where = `${this.#name}: message ${label.index} of session ${label.session}`;
    if (!this.#isOpen) {
      assert(label.session > this.#seenSession, `${where} must be of a newer session than ${this.#seenSession}`);
      this.#isOpen = true;
      this.#seenSession = label.session;
      this.#seen = 0;
    }
    assertEquals([label.session, label.index], [this.#seenSession, this.#seen], `${where} must be the next one`);
    this.#seen++;
    const expected = contentOf(label);
    const isEqual = segments.length === expected.length &&
      segments.every((segment, part) => Buffer.compare(segment, expected[part]!) === 0);
    assert(isEqual, `${where} must arrive as it was sent`);
  }

  /** Everything of the sender's present session has arrived. */
  get isSettled(): boolean {
    return this.#sent === 0 || (this.#seenSession === this.#session && this.#seen === this.#sent);
  }
}
