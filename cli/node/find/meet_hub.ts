/**
 * One contact with an orchestrator: whether it is the announced one and admits this node.
 *
 * A hello starts a session, so there are two steps: `meetHub` reads who answers, `prove` exchanges the signed hello.
 * The role dials again afterwards.
 */

import type { Fault } from "../../../core/fault.ts";
import {
  answerChallenge,
  checkAccept,
  type Greeting,
  type NodeIdentity,
  readRefusal,
  type Verify,
} from "../../../net/auth/hello.ts";
import type { NetLimits } from "../../../net/limits.ts";
import { finalCodes } from "../../../net/links/node.ts";
import type { Dial, Wire } from "../../../net/links/wire.ts";
import { decodeFrame, encodeFrame } from "../../../net/messages/frame.ts";
import type { Random, Timers } from "../../../net/timers.ts";
import type { Invite } from "../../address/invite.ts";

/** `later`: it asks for a retry. `refused`: for good. `other`: another orchestrator or run. `silent`: no proof. */
export type Answer =
  | { readonly type: "proven" }
  | { readonly type: "later" | "refused" | "other" | "silent"; readonly why: string };

export type Miss = Exclude<Answer, { type: "proven" }>;

/** `claims`: it names the announced key and run; `prove` checks both. */
export type Meeting =
  | { readonly type: "claims"; prove(): Promise<Answer>; close(): void }
  | Miss;

export interface MeetingOptions {
  readonly identity: Pick<NodeIdentity, "signer" | "role">;
  readonly verify: Verify;
  readonly dial: Dial;
  readonly limits: NetLimits;
  readonly timers: Timers;
  readonly random: Random;
}

const claimMs = 5_000; // a host that drops packets delays the search by this

export async function meetHub({ socket, hub, run }: Invite, options: MeetingOptions): Promise<Meeting> {
  const { identity, random, timers } = options;
  const line = new HelloLine(socket, options);
  const first = await line.next(claimMs);
  const meeting = first.type === "lost" ? silent(first.why) : meetingBy(first.header);
  if (meeting.type !== "claims") line.close();
  return meeting;

  function meetingBy(header: unknown): Meeting {
    const refusal = readRefusal(header);
    if (refusal !== null) return missOf(refusal);
    const wanted = { ...identity, hub, run };
    const greeting = answerChallenge(header, {
      identity: wanted,
      resume: null,
      ticket: null,
      random,
      nowMs: timers.nowMs(),
    });
    if (greeting.ok) {
      return {
        type: "claims",
        prove: () => prove(line, greeting.value, options),
        close: () => line.close(),
      };
    }
    const { code, detail: why } = greeting.fault;
    return code === "unauthenticated" ? { type: "other", why } : missOf(greeting.fault);
  }
}

async function prove(line: HelloLine, greeting: Greeting, { verify, limits }: MeetingOptions): Promise<Answer> {
  line.send(greeting.hello);
  const answer = await line.next(limits.helloMs);
  line.close();
  if (answer.type === "lost") return silent(answer.why);
  const refusal = readRefusal(answer.header);
  if (refusal !== null) return missOf(refusal);
  const proof = checkAccept(answer.header, { greeting, verify });
  return proof.ok ? { type: "proven" } : silent(proof.fault.detail);
}

const silent = (why: string): Miss => ({ type: "silent", why });
const missOf = ({ code, detail }: Fault): Miss => ({ type: finalCodes.has(code) ? "refused" : "later", why: detail });

type Heard = { readonly type: "header"; readonly header: unknown } | { readonly type: "lost"; readonly why: string };

class HelloLine {
  readonly #timers: Timers;
  readonly #wire: Wire;
  readonly #heard: Heard[] = [];
  #listener: ((heard: Heard) => void) | null = null;
  #lost: Heard | null = null;

  constructor(socket: string, { dial, limits, timers }: MeetingOptions) {
    this.#timers = timers;
    this.#wire = dial(socket, {
      opened: () => {},
      frame: (bytes) => {
        const frame = decodeFrame(bytes, { ...limits, frameBytes: limits.helloBytes });
        if (frame.ok) this.#hear({ type: "header", header: frame.value.header });
        else this.#lose(frame.fault.detail);
      },
      closed: (reason, cure) => this.#lose(cure === undefined ? reason : `${reason}; ${cure}`),
    });
  }

  send(header: unknown): void {
    this.#wire.send(encodeFrame({ header }));
  }

  next(deadlineMs: number): Promise<Heard> {
    const heard = this.#heard.shift() ?? this.#lost;
    if (heard !== null) return Promise.resolve(heard);
    const { promise, resolve } = Promise.withResolvers<Heard>();
    const cancel = this.#timers.after(deadlineMs, () => this.#lose(`no answer within ${deadlineMs / 1_000} s`));
    this.#listener = (next) => {
      cancel();
      this.#listener = null;
      resolve(next);
    };
    return promise;
  }

  close(): void {
    this.#wire.close("only looked at");
  }

  #hear(heard: Heard): void {
    if (this.#listener === null) this.#heard.push(heard);
    else this.#listener(heard);
  }

  #lose(why: string): void {
    if (this.#lost !== null) return;
    this.#lost = { type: "lost", why };
    this.#listener?.(this.#lost);
  }
}
