/**
 * Where an orchestrator's connections wait until their hello is verified.
 *
 * A guest gets one answer per frame, two at most, and is refused for anything else. Wrong signatures per origin are
 * limited; tickets are always checked.
 */

import { type Fault, fault } from "../../core/fault.ts";
import { Crowd } from "./crowd.ts";
import { FailureBudget } from "../auth/failure_budget.ts";
import { decodeFrame, encodeFrame } from "../messages/frame.ts";
import { checkHello, createChallenge, createRefusal, type ProvenHello } from "../auth/hello.ts";
import type { Challenge } from "../auth/hello_records.ts";
import { type RefusalCounts, Refusals } from "../auth/refusals.ts";
import type { Cancel } from "../timers.ts";
import type { HubOptions } from "./transport.ts";
import type { Wire } from "./wire.ts";

export interface Guest {
  readonly wire: Wire;
  readonly connection: number;
  readonly challenge: Challenge;
  readonly cancel: Cancel;
  wasAskedToSign: boolean;
  challengedAtMs: number;
}

interface ReceptionOptions extends Omit<HubOptions<unknown>, "read" | "onEvent"> {
  readonly onReport: (text: string, counts: RefusalCounts) => void;
}

const helloValues = 64; // a hello holds 27

const crowded = fault("limitExceeded", "Too many connections wait for their hello; try again later");
const tooManyFailures = fault(
  "limitExceeded",
  "Too many signatures from this address were wrong; try again later",
);

export class Reception {
  readonly #options: ReceptionOptions;
  readonly #guests: Crowd<Guest>;
  readonly #refusals: Refusals;
  readonly #failures: FailureBudget;
  #connections = 0;

  constructor(options: ReceptionOptions) {
    const { timers, limits, onReport } = options;
    this.#options = options;
    this.#guests = new Crowd({ most: limits.pendingHellos, shortestMs: limits.crowdedMs });
    this.#refusals = new Refusals({ timers, reportMs: limits.refusalReportMs, onReport });
    this.#failures = new FailureBudget({ perSecond: limits.failedSignaturesPerSecond, timers });
  }

  get refusals(): RefusalCounts {
    return this.#refusals.counts;
  }

  has(guest: Guest): boolean {
    return this.#guests.has(guest);
  }

  /** Null: no room for another stranger of this origin now. */
  greet(wire: Wire): Guest | null {
    const { run, signer, random, timers, limits } = this.#options;
    const challenge = createChallenge(run, signer.address, random);
    const cancel = timers.after(limits.helloMs, () => {
      const detail = `No valid hello arrived within ${limits.helloMs} ms`;
      this.refuse(guest, fault("staleResult", detail)); // from a busy or sleeping node, which may try again
    });
    const guest: Guest = {
      wire,
      connection: ++this.#connections,
      challenge,
      cancel,
      wasAskedToSign: false,
      challengedAtMs: timers.steadyMs(),
    };
    const entry = this.#guests.add(guest, { origin: originOfGuest(guest), nowMs: timers.steadyMs() });
    if (entry.type === "refused") return this.refuse(guest, crowded);
    if (entry.dropped !== null) this.refuse(entry.dropped, crowded);
    wire.send(encodeFrame({ header: challenge }));
    return guest;
  }

  /** Null: refused, or asked to sign. A guest with a verified hello remains one until it is dismissed. */
  takeHello(guest: Guest, bytes: Uint8Array): ProvenHello | null {
    const { limits, verify, admit, tickets, random } = this.#options;
    const frame = decodeFrame(bytes, { ...limits, frameBytes: limits.helloBytes, headerValues: helloValues });
    if (!frame.ok) return this.refuse(guest, frame.fault);
    const { challenge } = guest;
    const origin = originOfGuest(guest);
    const isSigned = showsSignature(frame.value.header);
    if (isSigned && !this.#failures.allows(origin)) return this.refuse(guest, tooManyFailures);
    const verdict = checkHello(frame.value.header, { challenge, verify, admit, tickets, random });
    if (verdict.type === "unproven") return this.#askToSign(guest);
    if (verdict.type === "proven") return verdict.proven;
    if (isSigned && verdict.fault.code === "unauthenticated") this.#failures.failed(origin);
    return this.refuse(guest, verdict.fault);
  }

  dismiss(guest: Guest): void {
    guest.cancel();
    this.#guests.remove(guest);
  }

  refuse(guest: Guest, reason: Fault): null {
    this.dismiss(guest);
    guest.wire.send(encodeFrame({ header: createRefusal(reason) }));
    guest.wire.close(reason.detail);
    this.#refusals.count(reason.code);
    return null;
  }

  /** Drops all guests without a report. */
  close(reason: string): void {
    this.#refusals.close();
    for (const guest of [...this.#guests]) {
      this.dismiss(guest);
      guest.wire.close(reason);
    }
  }

  /** Only once: a connection must not be used for guessing. */
  #askToSign(guest: Guest): null {
    if (guest.wasAskedToSign) {
      const detail = "The hello has another ticket; after an unusable ticket it must be signed";
      return this.refuse(guest, fault("staleResult", detail));
    }
    guest.wasAskedToSign = true;
    guest.challengedAtMs = this.#options.timers.steadyMs();
    guest.wire.send(encodeFrame({ header: guest.challenge }));
    return null;
  }
}

const originOfGuest = ({ wire }: Guest): string => wire.origin ?? "here";

function showsSignature(header: unknown): boolean {
  const proof = (header as { proof?: { type?: unknown } | null } | null)?.proof;
  return proof?.type === "signature";
}
