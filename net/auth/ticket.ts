/**
 * Tickets: what a node shows at its next hello instead of a signature.
 *
 * As session tickets of TLS (RFC 5077; RFC 8446, section 4.6.1) they hold what the hub would have to remember of the node,
 * sealed so that only the hub can read it: the secret that both agreed on at a signed hello, the node's role, and when it was.
 * The hub keeps nothing, so thousands of nodes and a hub that was killed cost it no table; the key comes from its hotkey and
 * outlives the process. A ticket may travel in clear, as it is worth nothing by itself: node and hub both have to prove the
 * secret in it. Unlike in TLS the secret is not renewed at each use, for it encrypts nothing; `ticketMs` bounds how long one
 * is good for that was stolen from a process's memory together with its ticket.
 *
 * Owns: sealing and opening. Refuses: proofs (link_secret.ts, hello.ts, request_auth.ts), who is admitted. Invariant: what
 * opens was sealed with this key for this run, hub, node and protocol version, at most `ticketMs` ago by the hub's wall clock.
 * Setting that clock may end tickets, which costs a signature each, and no session.
 */

import { createCipheriv, createDecipheriv } from "node:crypto";
import { assert } from "../../core/assert.ts";
import type { NodeId } from "../../core/ids.ts";
import { PROTOCOL_VERSION, type Role } from "../../core/protocol/message.ts";
import { LinkSecret, secretBytes } from "./link_secret.ts";
import type { Random, Timers } from "../timers.ts";

export const ticketKeyBytes = 32;

/** What a node keeps of its hub. */
export interface HeldTicket {
  readonly run: string;
  readonly hub: NodeId;
  readonly ticket: string; // hexadecimal, opaque to the node
  readonly secret: LinkSecret;
}

export interface TicketBoxOptions {
  readonly key: Uint8Array; // the same after a restart, or every node has to sign again
  readonly run: string;
  readonly hub: NodeId;
  readonly ticketMs: number;
  readonly timers: Timers;
  readonly random: Random;
}

export interface TicketContent {
  readonly role: Role;
  readonly secret: LinkSecret;
}

const cipher = "aes-256-gcm";
const nonceBytes = 12; // drawn at random: good for 2^32 tickets of one key (NIST SP 800-38D, section 8.3)
const tagBytes = 16;
const contentBytes = secretBytes + 8 + 1; // secret, time of sealing, role
const ticketBytes = nonceBytes + contentBytes + tagBytes;
const roles = ["miner", "validator"] as const satisfies readonly Role[];

export class TicketBox {
  readonly #options: TicketBoxOptions;

  constructor(options: TicketBoxOptions) {
    assert(options.key.length === ticketKeyBytes, `Tickets must be sealed with a key of ${ticketKeyBytes} bytes`);
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

  /** Null: no ticket of ours for this node, or too old. `ticket` is hexadecimal. */
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
      return null; // how the library says that the tag is wrong
    }
    return content;
  }

  /** Authenticated, not sent: a ticket for anything else does not open. */
  #purpose(node: NodeId): Uint8Array {
    const { run, hub } = this.#options;
    return new TextEncoder().encode(JSON.stringify(["iota ticket", PROTOCOL_VERSION, run, hub, node]));
  }
}
