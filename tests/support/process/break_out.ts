/**
 * What a compromised program would try, run in its own process: gives up rights as the program does, then tries everything.
 *
 * Owns: the attempts, in the first thread and in the one that holds the rights; successes are reported as one JSON line per
 * thread. Its only argument is a `Plan` as JSON.
 */

import { confine, type FromConfined } from "../../../cli/rights/confinement.ts";
import type { HeldRights } from "../../../cli/rights/rights.ts";

const attempts: Readonly<Record<string, (place: { inside: string; outside: string }) => unknown>> = {
  runProgram: () => new Deno.Command("/bin/true").outputSync().code,
  runSelf: () => new Deno.Command(Deno.execPath(), { args: ["--version"] }).outputSync().code,
  loadLibrary: () => Deno.dlopen("libc.so.6", {}),
  readPasswords: () => Deno.readTextFileSync("/etc/passwd"),
  readOutside: ({ outside }) => Deno.readTextFileSync(`${outside}/secret`),
  writeOutside: ({ outside }) => Deno.writeTextFileSync(`${outside}/new`, ""),
  linkOutside: ({ inside, outside }) => {
    Deno.symlinkSync(`${outside}/secret`, `${inside}/link`);
    return Deno.readTextFileSync(`${inside}/link`);
  },
  climbOutside: ({ inside, outside }) =>
    Deno.readTextFileSync(`${inside}/..${outside.slice(outside.lastIndexOf("/"))}/secret`),
  readMemory: () => Deno.readFileSync("/proc/self/environ"),
  readVariable: () => Deno.env.get("IOTA_TEST_SECRET"),
  readVariables: () => Deno.env.toObject(),
  listen: () => Deno.listen({ hostname: "127.0.0.1", port: 0 }).close(),
  hostname: () => Deno.hostname(),
  askForMore: () => {
    if (Deno.permissions.requestSync({ name: "run" }).state !== "granted") throw new Error("refused");
  },
  readInside: ({ inside }) => Deno.readTextFileSync(`${inside}/own`),
  writeInside: ({ inside }) => Deno.writeTextFileSync(`${inside}/written`, ""),
};

function tryAll(thread: string, place: { inside: string; outside: string }): void {
  const done = Object.entries(attempts).flatMap(([name, attempt]) => {
    try {
      attempt(place);
      return [name];
    } catch (error) {
      return error instanceof Error ? [] : [`${name}: ${error}`];
    }
  });
  console.log(JSON.stringify({ thread, done }));
}

export interface Plan {
  readonly held: HeldRights;
  readonly inside: string;
  readonly outside: string;
}

if (!("WorkerGlobalScope" in globalThis)) {
  const plan = JSON.parse(Deno.args[0]!) as Plan;
  const elsewhere = confine({
    held: plan.held,
    words: [Deno.args[0]!],
    variables: {},
    code: new URL(import.meta.url),
  });
  const code = await elsewhere;
  tryAll(code === null ? "only" : "first", plan);
  Deno.exit(0);
} else {
  const scope = self as unknown as { postMessage(message: FromConfined): void };
  self.addEventListener("message", (event) => {
    tryAll("confined", JSON.parse((event as MessageEvent).data.words[0]) as Plan);
    scope.postMessage({ type: "exit", code: 0 });
  });
  scope.postMessage({ type: "ready" });
}
