/**
 * The thread in which a command runs with only its own rights (confinement.ts). It receives the values of a few
 * variables, so the environment need not be readable.
 */

import { main } from "./command_line.ts";
import { denoHost, type Host } from "./rights/host.ts";
import { keyboardVariable, openKeyboard } from "./program/keyboard.ts";
import type { FromConfined, ToConfined } from "./rights/confinement.ts";

const scope = self as unknown as {
  onmessage: ((event: MessageEvent<ToConfined>) => void) | null;
  postMessage(message: FromConfined): void;
};

let awaiting: ((text: string | null) => void)[] = [];

scope.onmessage = ({ data }) => {
  if (data.type === "begin") return run(data);
  const waiting = awaiting;
  awaiting = [];
  for (const resolve of waiting) resolve(data.text);
};

scope.postMessage({ type: "ready" });

function run({ words, variables, hasSensors }: Extract<ToConfined, { type: "begin" }>): void {
  const own = denoHost({ taken: variables, confined: null });
  const host: Host = {
    ...own,
    environment: { system: own.environment.system, get: (name) => variables[name] },
    openKeys: (listener) => variables[keyboardVariable] === undefined ? null : openKeyboard(listener),
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
