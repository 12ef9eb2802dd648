/** Validators that are silent, late, or lie about the loss. */

import type { Timers } from "../../../net/timers.ts";
import { keepsBack } from "../../lab/redteam/hostile_merges.ts";
import { type Hostile, instead, together } from "../../lab/redteam/hostile_node.ts";

export const silent: Hostile = keepsBack("evaluated", "replayed", "requestFailed");

export const evaluatesTo = (loss: number): Hostile => instead("evaluated", ({ message }) => ({ ...message, loss }));

/** 5, then ten times as much each time. */
export function rising(): Hostile {
  let times = 0;
  return instead("evaluated", ({ message }) => ({ ...message, loss: 5 * 10 ** times++ }));
}

export const findsNothingFinite: Hostile = instead("evaluated", ({ message }) => ({ ...message, loss: null }));

/** Says of every request that it could not be done. */
export const givesUp: Hostile = {
  say: ({ message }) =>
    message.type === "evaluated" || message.type === "replayed"
      ? [{ type: "requestFailed", request: message.request, fault: { code: "badBlob", detail: "cannot be had" } }]
      : [message],
};

/** Each part of an evaluation takes so much longer, and the result is this loss. */
export function evaluatesLate(
  { loss, timers, pauseMs }: { loss: number; timers: () => Timers | null; pauseMs: () => number },
): Hostile {
  const pause = () =>
    new Promise<void>((resolve) => {
      const clock = timers();
      if (clock === null) resolve();
      else clock.after(pauseMs(), resolve);
    });
  const slow: Hostile = {
    compute: ({ evaluate }) => ({ evaluate: (...given) => pause().then(() => evaluate(...given)) }),
  };
  return together(evaluatesTo(loss), slow);
}
