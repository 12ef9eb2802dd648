/**
 * Joins the first announced run, in the order of vouching, whose orchestrator proves the announced key and run.
 *
 * A stopped run stays announced, so silent ones are passed over. Between several answering runs that only stake vouches
 * for, a person must choose.
 */

import type { Announcement } from "../../address/announcements.ts";
import type { Pinned } from "../../address/hub_pin.ts";
import type { Answer, Meeting, Miss } from "./meet_hub.ts";

export interface Missed extends Miss {
  readonly announcement: Announcement;
}

type Pick =
  | { readonly type: "found"; readonly announcement: Announcement }
  | { readonly type: "ambiguous"; readonly runs: readonly Announcement[] }
  | { readonly type: "unprepared"; readonly announcement: Announcement; readonly missing: string }
  | { readonly type: "none"; readonly missed: readonly Missed[] };

export function fittingRuns(runs: readonly Announcement[], wanted: Pinned): Announcement[] {
  return runs.filter(({ invite }) =>
    (wanted.run === null || invite.run === wanted.run) && (wanted.hub === null || invite.hub === wanted.hub)
  );
}

interface PickerOptions {
  readonly meet: (announcement: Announcement) => Promise<Meeting>;
  readonly steadyMs: () => number;
}

interface Met {
  readonly announcement: Announcement;
  readonly meeting: Meeting;
}

/** A new orchestrator, or one that has not seen this node's registration yet, admits it within a minute. */
const patienceMs = 60_000;

export class RunPicker {
  readonly #options: PickerOptions;
  readonly #putOffMs = new Map<string, number>(); // when a run first said "try again", by invite

  constructor(options: PickerOptions) {
    this.#options = options;
  }

  /** `runs`: best vouched first. `prepare` returns what is still missing, or null. */
  async pick(runs: readonly Announcement[], prepare: () => Promise<string | null>): Promise<Pick> {
    const { meet } = this.#options;
    const met = await Promise.all(
      runs.map(async (announcement) => ({ announcement, meeting: await meet(announcement) })),
    );
    try {
      return await this.#pickMet(met, prepare);
    } finally {
      for (const { meeting } of met) if (meeting.type === "claims") meeting.close();
    }
  }

  async #pickMet(met: readonly Met[], prepare: () => Promise<string | null>): Promise<Pick> {
    const claiming = met.filter(({ meeting }) => meeting.type === "claims");
    if (claiming[0] !== undefined) {
      const missing = await prepare();
      if (missing !== null) return { type: "unprepared", announcement: claiming[0].announcement, missing };
    }
    const staked = claiming.filter(({ announcement }) => announcement.by === "stake").map((each) => each.announcement);
    const missed: Missed[] = [];
    for (const each of met) {
      const { announcement } = each;
      const isOpen = staked.length > 1 && each.meeting.type === "claims" && announcement.by === "stake";
      if (isOpen) return { type: "ambiguous", runs: staked };
      const answer = await this.#answerOf(each);
      if (answer.type === "proven") return { type: "found", announcement };
      missed.push({ announcement, ...answer });
      if (answer.type === "later" && this.#isWorthWaiting(announcement)) return { type: "none", missed };
    }
    const refusing = missed.find(({ type }) => type === "refused");
    return refusing === undefined ? { type: "none", missed } : { type: "found", announcement: refusing.announcement };
  }

  /** The hello may have timed out during the preparation. */
  async #answerOf({ announcement, meeting }: Met): Promise<Answer> {
    if (meeting.type !== "claims") return meeting;
    const answer = await meeting.prove();
    if (answer.type === "proven" || answer.type === "refused") return answer;
    const again = await this.#options.meet(announcement);
    return again.type === "claims" ? await again.prove() : again;
  }

  #isWorthWaiting({ invite: { socket, run, hub } }: Announcement): boolean {
    const key = [socket, run, hub].join(" ");
    const nowMs = this.#options.steadyMs();
    const sinceMs = this.#putOffMs.get(key) ?? nowMs;
    this.#putOffMs.set(key, sinceMs);
    return nowMs - sinceMs < patienceMs;
  }
}
