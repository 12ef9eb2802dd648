/** The thread that reads a run's past beside an orchestrator, whose loop must not wait for it. */

import { type Past, pastOf } from "./past.ts";
import type { PastAnswer, PastQuestion } from "./past_thread.ts";

const scope = self as unknown as {
  onmessage: (event: MessageEvent<PastQuestion>) => void;
  postMessage(message: PastAnswer): void;
};

let past: Past | null = null;

scope.onmessage = async ({ data }) => {
  past ??= pastOf(data.folder);
  try {
    scope.postMessage({ json: await answerTo(past, data) });
  } catch (error) {
    scope.postMessage({ problem: error instanceof Error ? error.message : String(error) });
  }
};

function answerTo(past: Past, question: PastQuestion): Promise<string | null> {
  switch (question.about) {
    case "span":
      return past.span();
    case "moment":
      return past.at(question.sequence);
    case "pathway":
      return past.pathway(question.microbatch);
  }
}
