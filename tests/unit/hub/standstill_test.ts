/** What members are told of a run that stands still. */

import { assertEquals, assertMatch } from "@std/assert";
import { StandstillNews } from "../../../cli/orchestrator/hub/members/member_news.ts";
import { foldNode, openNodeView } from "../../../cli/node/screen/node_view.ts";
import { nodeFrame } from "../../../cli/node/screen/node_panel.ts";
import { noticeText } from "../../../cli/node/screen/notice_text.ts";
import { stageIndex } from "../../../core/ids.ts";
import type { Notice } from "../../../core/protocol/notice.ts";
import { createPaint } from "../../../cli/terminal/text/paint.ts";

function world() {
  const told: Notice[] = [];
  let nowMs = Date.UTC(2026, 10, 27, 15, 44, 10);
  const news = new StandstillNews({ nowMs: () => nowMs, tellAll: (notice) => told.push(notice) });
  return { news, texts: () => told.splice(0).map(noticeText), pass: (ms: number) => nowMs += ms };
}

Deno.test("Standstill: members read which stage has no miner and since when, and that the run goes on", () => {
  const { news, texts, pass } = world();
  news.onRecord({ type: "stagesUnserved", stages: [stageIndex(1)] });
  pass(60_000);
  news.onRecord({ type: "stagesUnserved", stages: [stageIndex(1), stageIndex(2)] });
  assertEquals(texts(), [
    "the run stands still since 2026-11-27 15:44:10 UTC: stage 1 has no miner",
    "the run stands still since 2026-11-27 15:44:10 UTC: stages 1 and 2 have no miner",
  ]);
  news.onRecord({ type: "stagesUnserved", stages: [] });
  assertEquals([news.current, texts()], [null, ["the run goes on"]]);
});

Deno.test("Standstill: a pause of the owner's comes before others, and one that lasts is told when it ends", () => {
  const { news, texts } = world();
  news.onRecord({ type: "runPaused", text: "full" });
  news.set("owner", true);
  news.set("owner", true);
  assertEquals(texts().map((text) => text.replace(/ since .*UTC/, "")), [
    "the run is paused: the orchestrator's disk is full",
    "the run is paused by its owner",
  ]);
  news.set("owner", false);
  assertMatch(texts().join(), /disk is full$/);
  news.onRecord({ type: "runContinued", pausedMs: 1 });
  assertEquals(texts(), ["the run goes on"]);
});

Deno.test("Standstill: a halt is told until the round is repeated, and comes before stages that have no miner", () => {
  const { news, texts } = world();
  news.onRecord({ type: "trainingHalted", text: "The last 2 rounds were lost", retryMs: 60_000 });
  news.onRecord({ type: "stagesUnserved", stages: [stageIndex(1)] });
  const halted =
    "the run is halted since 2026-11-27 15:44:10 UTC, as its last rounds were lost; it tries again by itself";
  assertEquals(texts(), [halted], "once");
  news.onRecord({ type: "stagesUnserved", stages: [] });
  news.onRecord({ type: "trainingRetried", haltedMs: 60_000 });
  assertEquals(texts(), ["the run goes on"]);
});

Deno.test("Standstill: a node's screen shows it instead of working, until the run goes on", () => {
  const view = openNodeView("miner", 0);
  const now = () => nodeFrame(view, facts, room).join("\n");
  const facts = { address: "5Node", rates: { sent: 0, received: 0, sentPerSecond: 0, receivedPerSecond: 0 } };
  const room = { width: 120, height: 20, nowMs: 0, paint: createPaint(false), isDetailed: false };
  view.doing = { type: "working" };
  foldNode(view, { type: "notice", about: "standstill", why: "stages", stages: [1], sinceMs: 0 }, 0);
  assertMatch(now(), /now +the run stands still since 1970-01-01 00:00:00 UTC: stage 1 has no miner/);
  foldNode(view, { type: "notice", about: "standstill", why: null, stages: [], sinceMs: 0 }, 0);
  assertMatch(now(), /now +working/);
});
