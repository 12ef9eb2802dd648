/**
 * Answers from a run's logs: `/api/v1/history`, `past`, `pathway`, `member`, `earnings`, and `beside` (a second run).
 */

import type { HubPage } from "../../../net/hub_http.ts";
import { type Past, publicMoment } from "../history/past.ts";
import { PastThread } from "../history/past_thread.ts";
import type { RunHistory } from "../history/run_history.ts";
import type { StepPlaces } from "../history/step_places.ts";
import type { ConsumerContext, ProjectionConsumer } from "../consumer.ts";
import { jsonHeaders, numberIn, openRations, type RationOptions, refusal } from "./rations.ts";

const hubBytesPerSecond = 2 ** 20;
const searchBytes = 2 ** 17;
const accountBytes = 2 ** 19;
const longestAddress = 64; // characters

type Pages = Readonly<Record<string, HubPage>>;

/** Without a record log, `history` is `null`. */
export function openPastApi({ folder, timers }: ConsumerContext): ProjectionConsumer {
  if (folder === null) return { pages: { "/api/v1/history": () => Response.json(null, { headers: jsonHeaders }) } };
  const past = new PastThread(folder, timers);
  return { pages: pastPages(past, { timers, bytesPerSecond: hubBytesPerSecond }), close: () => past.close() };
}

export function pastPages(past: Past, options: RationOptions): Pages {
  const answer = openRations(options);
  return {
    "/api/v1/history": (_, origin) => answer({ origin, json: () => past.span() }),
    "/api/v1/past": async (request, origin) => {
      const sequence = numberIn(request, "at");
      if (sequence !== null) return await answer({ origin, json: () => past.at(sequence) });
      return refusal("badRequest", "'at' must be the whole number of a record");
    },
    "/api/v1/pathway": async (request, origin) => {
      const microbatch = numberIn(request, "microbatch");
      if (microbatch === null) {
        return refusal("badRequest", "'microbatch' must be a whole number");
      }
      const lacks = `Cannot show microbatch ${microbatch}: the run's record log holds no finished task of it`;
      return await answer({ origin, json: () => past.pathway(microbatch), lacks, leastBytes: searchBytes });
    },
    "/api/v1/earnings": (_, origin) => answer({ origin, json: () => past.earnings(), leastBytes: accountBytes }),
    "/api/v1/member": async (request, origin) => {
      const node = new URL(request.url).searchParams.get("node") ?? "";
      if (!/^\w+$/.test(node) || node.length > longestAddress) {
        return refusal("badRequest", "'node' must be the address of a member");
      }
      const json = async () => await past.account(node) ?? "null";
      return await answer({ origin, json, leastBytes: accountBytes });
    },
  };
}

export function besidePages(
  { history, places }: { readonly history: RunHistory; readonly places: StepPlaces },
  options: RationOptions,
): Pages {
  const answer = openRations(options);
  return {
    "/api/v1/beside": async (request, origin) => {
      const step = numberIn(request, "step");
      if (step === null) return refusal("badRequest", "'step' must be a whole number");
      const json = () => history.at(places.sequenceOf(step), (moment) => JSON.stringify(publicMoment(moment)));
      return await answer({ origin, json });
    },
  };
}
