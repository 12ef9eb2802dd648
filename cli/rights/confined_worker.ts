/**
 * The thread in which a command runs with no rights but its own. See confinement.ts.
 *
 * Owns: running the same command line once more, here; the values of a few variables come with it, so that none need be readable.
 * Ending is the first thread's: it gets the exit code.
 */

import { denoHost, type Host } from "../host.ts";
import type { FromConfined, ToConfined } from "./confinement.ts";

const scope = self as unknown as {
  onmessage: ((event: MessageEvent<ToConfined>) => void) | null;
  postMessage(message: FromConfined): void;
};

// A static import would make main.ts a part that both entries of a bundle share, and which is then nobody's main module.
const { main } = await import("../main.ts");

let awaiting: ((text: string | null) => void)[] = [];

scope.onmessage = ({ data }) => {
  if (data.type === "begin") return run(data);
  const waiting = awaiting;
  awaiting = [];
  for (const resolve of waiting) resolve(data.text);
};

scope.postMessage({ type: "ready" });

function run({ words, variables, hasSensors }: Extract<ToConfined, { type: "begin" }>): void {
  const own = denoHost();
  const host: Host = {
    ...own,
    environment: { system: own.environment.system, get: (name) => variables[name] },
    confine: () => null,
    readSensors: hasSensors ? readSensors : null,
    exit: (code) => scope.postMessage({ type: "exit", code }),
  };
  main(words, host).then((code) => host.exit(code));
}

function readSensors(): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  awaiting.push(resolve);
  if (awaiting.length === 1) scope.postMessage({ type: "readSensors" });
  return promise;
}
