/**
 * Tickets, which a node presents in its next hello instead of a signature.
 *
 * Like TLS session tickets (RFC 5077; RFC 8446, section 4.6.1) they hold what the orchestrator would otherwise store:
 * secret, role and time, sealed with a key derived from its hotkey, so that tickets outlive a kill. A ticket may travel
 * in clear: both sides must prove the secret in it. Unlike in TLS the secret is not renewed at each use, because it
 * encrypts nothing; `ticketMs` limits how long a stolen one is valid.
 */

import { createCipheriv, createDecipheriv } from "node:crypto";
import { assert } from "../../core/assert.ts";
import type { NodeId } from "../../core/ids.ts";
import { PROTOCOL_VERSION, type Role } from "../../core/protocol/message.ts";
import { LinkSecret, secretBytes } from "./link_secret.ts";
import type { Random, Timers } from "../timers.ts";

export const ticketKeyBytes = 32;

export interface HeldTicket {
  readonly run: string;
  readonly hub: NodeId;
  readonly ticket: string; // hexadecimal, opaque to the node
  readonly secret: LinkSecret;
}

interface TicketBoxOptions {
  readonly key: Uint8Array; // stays the same across restarts, so that nodes need not sign again
  readonly run: string;
  readonly hub: NodeId;
  readonly ticketMs: number;
  readonly timers: Timers;
  readonly random: Random;
}

interface TicketContent {
  readonly role: Role;
  readonly secret: LinkSecret;
}

const cipher = "aes-256-gcm";
const nonceBytes = 12; // random: safe for 2^32 tickets per key (NIST SP 800-38D, section 8.3)
const tagBytes = 16;
const contentBytes = secretBytes + 8 + 1; // secret, time of sealing, role
const ticketBytes = nonceBytes + contentBytes + tagBytes;
const roles = ["miner", "validator"] as const satisfies readonly Role[];

export class TicketBox {
  readonly #options: TicketBoxOptions;

  constructor(options: TicketBoxOptions) {
    assert(options.key.length === ticketKeyBytes, `The ticket key must have ${ticketKeyBytes} bytes`);
    this.#options = options;
  }

  seal({ node, role, secret }: TicketContent & { node: NodeId }): string {
    const { key, timers, random } = this.#options;
    const content = new Uint8Array(contentBytes);
    content.set(secret.bytes());
    const view = new DataView(content.buffer);
    view.setFloat64(secretBytes, timers.nowMs());
    view.setUint8(secretBytes + 8, roles.indexOf(role));
    const nonce = random.bytes(nonceBytes);
    const sealing = createCipheriv(cipher, key, nonce).setAAD(this.#purpose(node));
    const sealed = sealing.update(content);
    sealing.final();
    return nonce.toHex() + sealed.toHex() + sealing.getAuthTag().toHex();
  }

  /** Null: not our ticket for this node, or too old. `ticket` is hexadecimal. */
  open({ node, ticket }: { node: NodeId; ticket: string }): TicketContent | null {
    const { timers, ticketMs } = this.#options;
    if (ticket.length !== 2 * ticketBytes) return null;
    const content = this.#unseal(Uint8Array.fromHex(ticket), node);
    if (content === null) return null;
    const view = new DataView(content.buffer, content.byteOffset);
    const ageMs = timers.nowMs() - view.getFloat64(secretBytes);
    const role = roles[view.getUint8(secretBytes + 8)];
    if (role === undefined || !(ageMs >= 0 && ageMs <= ticketMs)) return null;
    return { role, secret: new LinkSecret(content.slice(0, secretBytes)) };
  }

  #unseal(ticket: Uint8Array, node: NodeId): Uint8Array | null {
    const nonce = ticket.subarray(0, nonceBytes);
    const opening = createDecipheriv(cipher, this.#options.key, nonce)
      .setAAD(this.#purpose(node))
      .setAuthTag(ticket.subarray(-tagBytes));
    const content = opening.update(ticket.subarray(nonceBytes, -tagBytes));
    try {
      opening.final();
    } catch {
      return null; // the library throws if the tag is wrong
    }
    return content;
  }

  /** Authenticated, not sent. */
  #purpose(node: NodeId): Uint8Array {
    const { run, hub } = this.#options;
    return new TextEncoder().encode(JSON.stringify(["iota ticket", PROTOCOL_VERSION, run, hub, node]));
  }
}
