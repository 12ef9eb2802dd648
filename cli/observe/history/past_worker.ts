/** The thread that reads a run's past, so that the orchestrator's loop does not wait. */

import { type Past, pastOf } from "./past.ts";
import type { PastAnswer, PastQuestion } from "./past_thread.ts";

const scope = self as unknown as {
  onmessage: (event: MessageEvent<PastQuestion>) => void;
  postMessage(message: PastAnswer): void;
};

let past: Past | null = null;

let turn: Promise<void> = Promise.resolve(); // in the order that the asker counts on

scope.onmessage = ({ data }) => {
  turn = turn.then(() => answer(data));
};

async function answer(question: PastQuestion): Promise<void> {
  past ??= pastOf(question.folder);
  try {
    scope.postMessage({ json: await answerTo(past, question) });
  } catch (error) {
    scope.postMessage({ problem: error instanceof Error ? error.message : String(error) });
  }
}

function answerTo(past: Past, question: PastQuestion): Promise<string | null> {
  switch (question.about) {
    case "span":
      return past.span();
    case "moment":
      return past.at(question.sequence);
    case "pathway":
      return past.pathway(question.microbatch);
    case "account":
      return past.account(question.member);
    case "earnings":
      return past.earnings();
  }
}
