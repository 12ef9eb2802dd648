/** The thread that reads a run's past beside an orchestrator, whose loop must not wait for it. */

import { type Past, pastOf } from "./past.ts";
import type { PastAnswer, PastQuestion } from "./past_thread.ts";

const scope = self as unknown as {
  onmessage: (event: MessageEvent<PastQuestion>) => void;
  postMessage(message: PastAnswer): void;
};

let past: Past | null = null;

scope.onmessage = async ({ data: { folder, sequence } }) => {
  past ??= pastOf(folder);
  try {
    scope.postMessage({ json: sequence === null ? await past.span() : await past.at(sequence) });
  } catch (error) {
    scope.postMessage({ problem: error instanceof Error ? error.message : String(error) });
  }
};
