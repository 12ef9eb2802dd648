/** The lives of a swarm's process, with scripted processes: what is restarted, and what is not. */

import { assertEquals, assertMatch } from "@std/assert";
import type { Child } from "../../../cli/swarm/role_process.ts";
import { type Death, type Line, maxDeaths, SupervisedProcess } from "../../../cli/swarm/supervised_process.ts";
import { EventLog } from "../../support/event_log.ts";

interface Life {
  readonly type: "life";
  readonly pid: number;
  readonly words: readonly string[];
  readonly signals: Deno.Signal[];
  readonly say: (line: Line) => void;
  readonly exit: (code: number) => void;
}

class World {
  readonly lives = new EventLog<Life>();
  readonly deaths: Death[] = [];
  readonly process = new SupervisedProcess({
    name: "miner-0",
    words: (life) => Promise.resolve(["miner", `${life}`]),
    start: (life) => this.#start(life),
    onLine: () => {},
    isProgress: (line) => line["type"] === "taskComputed",
    onStarted: () => {},
    onRestart: (death) => this.deaths.push(death),
  });

  #start(life: { number: number; words: readonly string[]; onLine: (line: Line) => void }): Child {
    const { promise, resolve } = Promise.withResolvers<number>();
    const signals: Deno.Signal[] = [];
    const pid = 100 + life.number;
    this.lives.push({ type: "life", pid, words: life.words, signals, say: life.onLine, exit: resolve });
    const kill = (signal: Deno.Signal) => {
      signals.push(signal);
      if (signal === "SIGKILL") resolve(137);
    };
    return { name: "miner-0", pid, logPath: "/dev/null", ended: promise, kill };
  }
}

Deno.test("Supervised process: a kill on purpose is followed by another life, however often", async () => {
  const { lives, process, deaths } = new World();
  for (let pid = 101; pid < 110; pid++) {
    const life = await lives.next("life");
    assertEquals([life.pid, life.words], [pid, ["miner", `${pid - 100}`]]);
    assertEquals(process.isRunning, true);
    const next = process.kill();
    assertEquals(process.isRunning, false);
    assertEquals(await next, pid + 1);
  }
  assertEquals([process.restarts, deaths.length], [9, 0]);
});

Deno.test("Supervised process: unexpected deaths are bounded in a row, and progress begins a new row", async () => {
  const { lives, process, deaths } = new World();
  const die = async () => (await lives.next("life")).exit(139);
  await die();
  await die();
  (await lives.next("life")).say({ type: "taskComputed" });
  lives.all.at(-1)!.exit(139);
  for (let count = 1; count <= maxDeaths; count++) await die();
  const { code, isAsked, error } = await process.ended;
  assertEquals([code, isAsked], [139, false]);
  assertMatch(error!.message, /^The miner-0 ended early with code 139/);
  assertEquals(deaths.map(({ count }) => count), [1, 2, 1, 2, 3]);
  assertEquals(process.restarts, 5);
});

Deno.test("Supervised process: an end with its own last word causes no restart", async () => {
  const check = async (line: Line | null, code: number, message: string | undefined) => {
    const { lives, process, deaths } = new World();
    const life = await lives.next("life");
    if (line !== null) life.say(line);
    life.exit(code);
    const end = await process.ended;
    assertEquals([end.code, end.error?.message, deaths.length, process.restarts], [code, message, 0, 0]);
  };
  await check(null, 0, undefined);
  await check({ type: "summary", finished: false }, 1, undefined);
  await check({ type: "error", message: "Cannot use --steps" }, 2, "Cannot use --steps");
});

Deno.test("Supervised process: a released process has no other life, and waiters are notified", async () => {
  const running = new World();
  const life = await running.lives.next("life");
  running.process.letGo("SIGTERM");
  assertEquals(life.signals, ["SIGTERM"]);
  life.exit(143);
  assertEquals(await running.process.ended, { code: 143, isAsked: true, error: null });
  assertEquals(await running.process.nextPid(), null);

  const replaced = new World();
  await replaced.lives.next("life");
  const next = replaced.process.kill();
  replaced.process.letGo();
  assertEquals(await next, null);
  assertEquals(replaced.process.restarts, 0);

  const early = new World();
  early.process.letGo("SIGTERM");
  assertEquals((await early.process.ended).code, 0);
  assertEquals(early.lives.all.length, 0);
});
