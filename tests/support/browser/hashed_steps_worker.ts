/** A worker that answers each message with the hash of hashed_steps.ts: a page's own thread may not wait for others. */

import { hashedSteps } from "./hashed_steps.ts";

const scope = self as unknown as {
  onmessage: (event: MessageEvent<{ steps: number; threads: number }>) => void;
  postMessage(message: { hash: string } | { error: string }): void;
};

scope.onmessage = async ({ data }) => {
  try {
    scope.postMessage({ hash: await hashedSteps(data) });
  } catch (error) {
    scope.postMessage({ error: String(error) });
  }
};
