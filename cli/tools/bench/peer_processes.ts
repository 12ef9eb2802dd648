/** The two processes at the ends of a relay. Neither outlives the measurement. */

import { unlessAborted } from "../../program/aborted.ts";
import { type Child, lastLines, startChild } from "../../swarm/role_process.ts";
import type { PeerSpec } from "./peer.ts";

const patienceMs = 30_000; // for two processes to start, connect and warm up

export async function betweenPeers<T>(
  spec: Omit<PeerSpec, "part">,
  by: { measure: Promise<T>; seconds: number; signal: AbortSignal },
): Promise<T> {
  const logFolder = await Deno.makeTempDir({ prefix: "iota-bench-" });
  const children = (["source", "sink"] as const).map((part) =>
    startChild({
      name: part,
      words: ["bench", "peer", JSON.stringify({ ...spec, part })],
      logFolder,
      keepsLog: false,
      onLine: () => {},
    })
  );
  try {
    const tooLate = AbortSignal.timeout(1000 * by.seconds * 2 + patienceMs);
    const measured = Promise.race([by.measure, ...children.map(endedEarly)]);
    return await unlessAborted(AbortSignal.any([by.signal, tooLate]), measured);
  } finally {
    for (const child of children) child.kill("SIGKILL");
    await Promise.all(children.map((child) => child.ended));
    await Deno.remove(logFolder, { recursive: true });
  }
}

async function endedEarly({ name, ended, logPath }: Child): Promise<never> {
  const code = await ended;
  throw new Error(`The ${name} of a benchmark ended with code ${code}: ${await lastLines(logPath)}`);
}
