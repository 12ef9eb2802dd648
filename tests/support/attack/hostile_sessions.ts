/** Attackers that use sessions and time: coming back empty-handed, leaving instead of answering, ever slower but never late. */

import type { Holding, NodeMessage } from "../../../core/protocol/message.ts";
import type { Timers } from "../../../net/timers.ts";
import type { Hostile } from "../../lab/redteam/hostile_node.ts";

const join = (holding: Holding | null): NodeMessage => ({
  type: "join",
  role: "miner",
  adapter: "hostile",
  previousStage: null,
  listens: null,
  holding,
});

/** In place of a gradient commitment: "I am back, and hold nothing of this step". */
export function returnsEmptyHanded(stepsPerRound = 3): Hostile {
  let assignment = 0;
  return {
    say: ({ message }) => {
      if (message.type === "ready") assignment = message.assignment;
      if (message.type !== "stepSealed") return [message];
      const { step } = message;
      const header = step === 0 ? null : step - 1;
      return [join({ assignment, round: Math.floor(step / stepsPerRound), step: header, tasks: [] })];
    },
  };
}

/** In place of a gradient commitment: a new member, with or without a farewell. */
export const beginsAnew = ({ isPolite }: { isPolite: boolean }): Hostile => ({
  say: ({ message }) => {
    if (message.type !== "stepSealed") return [message];
    return isPolite ? [{ type: "leaving", reason: "bye" }, join(null)] : [join(null)];
  },
});

/** Each task takes a tenth longer than the last, but not as long as a lease. */
export function everSlower({ timers, mostMs }: { timers: () => Timers | null; mostMs: number }): Hostile {
  let ms = 100;
  const pass = () => {
    ms = Math.min(mostMs, 1.1 * ms);
    return new Promise<void>((resolve) => {
      const clock = timers();
      if (clock === null) resolve();
      else clock.after(ms, resolve);
    });
  };
  return {
    compute: ({ forward, backward, turnaround }) => ({
      forward: (...given) => pass().then(() => forward(...given)),
      backward: (...given) => pass().then(() => backward(...given)),
      turnaround: (...given) => pass().then(() => turnaround(...given)),
    }),
  };
}

/** In place of every result: so many new members, one after the other. */
export const joinsTimes = (times: number): Hostile => ({
  say: ({ message }) => message.type === "taskDone" ? Array.from({ length: times }, () => join(null)) : [message],
});
