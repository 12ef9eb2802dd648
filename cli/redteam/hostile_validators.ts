/** Hostile validators: silent ones, and ones that lie about parameters or miners. */

import type { Timers } from "../../../net/timers.ts";
import { type Hostile, instead, together } from "./hostile_node.ts";
import { keepsBack } from "./hostile_merges.ts";

export const silent: Hostile = keepsBack("evaluated", "replayed", "requestFailed");

export const evaluatesTo = (loss: number): Hostile => instead("evaluated", ({ message }) => ({ ...message, loss }));

/** 5, then ten times as much each time. */
export function rising(): Hostile {
  let times = 0;
  return instead("evaluated", ({ message }) => ({ ...message, loss: 5 * 10 ** times++ }));
}

export const findsNothingFinite: Hostile = instead("evaluated", ({ message: { request } }) => ({
  type: "requestFailed",
  request,
  fault: { code: "badNumbers", detail: "a non-finite value" },
}));

export const failsEverybody: Hostile = instead("replayed", ({ message }) => ({
  ...message,
  innovationError: 1e6,
  equalShare: 0,
}));

export const passesEverybody: Hostile = instead("replayed", ({ message }) => ({
  ...message,
  innovationError: 0,
  equalShare: 1,
  lossError: message.lossError === null ? null : 0,
}));

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
