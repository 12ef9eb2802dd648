/** The dashboard's files as they are served, and the parts of its program that compute. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { gzipSync } from "node:zlib";
import { openDashboard, pageDocument, pageModules } from "../../../cli/observe/dashboard/dashboard.ts";
import { placeOn, rangeOf, ticksOf } from "../../../cli/observe/dashboard/page/parts/axis.ts";
import { pathOf, smoothed, trainPoints } from "../../../cli/observe/dashboard/page/curves/loss_chart.ts";
import { progressFacts, qualityFacts } from "../../../cli/observe/dashboard/page/summary.ts";
import { previewPng } from "../../../cli/observe/dashboard/preview.ts";
import { runSnapshot } from "../../../cli/observe/public/public_run.ts";
import { anyRecord } from "../../support/any_record.ts";
import { foldAt, openedView, sampleRun } from "../../support/sample_run.ts";
import { servedRun } from "../../support/served_run.ts";
import { prngOf } from "../../support/small_prng.ts";

const programPaths = Object.keys(pageModules).map((path) => `/program/${path}`);
const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor; // a module may wait at its top
const pagePaths = ["/", "/dashboard.css", ...programPaths];

Deno.test("Dashboard: every file is small, complete and may run nothing else", async () => {
  const run = servedRun();
  let compressed = 0;
  for (const path of pagePaths) {
    const response = await run.get(path);
    const text = await response.text();
    compressed += gzipSync(text).length;
    assertEquals([response.status, response.headers.get("x-content-type-options")], [200, "nosniff"], path);
    const policy = response.headers.get("content-security-policy")!;
    assertMatch(policy, /^default-src 'none'; script-src 'self'; style-src 'self'; /);
    assert(!policy.includes("unsafe"), policy);
    assert(
      !/https?:\/\/(?!www\.w3\.org\/2000\/svg)/.test(text.replace(/"[^"]*\/preview\.png"/, "")),
      `${path} names another place`,
    );
  }
  assert(compressed < 150_000, `${compressed} bytes`);
});

Deno.test("Dashboard: its program is JavaScript that imports only what is served", async () => {
  const run = servedRun();
  for (const path of programPaths) {
    const response = await run.get(path);
    const text = await response.text();
    assertEquals(response.headers.get("content-type"), "text/javascript; charset=utf-8");
    for (const [, specifier] of text.matchAll(/^(?:import|export) [^;]*?from "(.*)";$/gm)) {
      const target = new URL(specifier!, `http://hub${path}`).pathname;
      assert(programPaths.includes(target), `${path} imports ${specifier}`);
    }
    assert(!/^import type|\bas [A-Z]\w+\)|: readonly /m.test(text), `types are left in ${path}`);
    new AsyncFunction(text.replace(/^import [^;]*;$/gm, "").replace(/^export /gm, "")); // parses
  }
});

Deno.test("Dashboard: foreign text goes into the page only as text", () => {
  for (const [path, source] of Object.entries(pageModules)) {
    assert(!/innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function|\.style\b/.test(source), path);
  }
});

Deno.test("Dashboard: the page has no inline script or style, and every control has a name", async () => {
  const page = await (await servedRun().get("/")).text();
  assert(!/<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)/.test(page));
  for (const [, id] of page.matchAll(/aria-labelledby="([\w-]+)"/g)) assert(page.includes(`id="${id}"`), id);
  for (const [, rest] of page.matchAll(/<section([^>]*)>/g)) assertMatch(rest!, /aria-label/);
  const ids = [...page.matchAll(/\sid="([\w-]+)"/g)].map(([, id]) => id);
  assertEquals(new Set(ids).size, ids.length);
  const wanted = Object.values(pageModules).flatMap((source) =>
    [...source.matchAll(/byId\("([\w-]+)"\)/g)].map(([, id]) => id)
  );
  const all = new Set([...pageDocument.matchAll(/\sid="([\w-]+)"/g)].map(([, id]) => id));
  for (const id of wanted) assert(all.has(id), `the page has no '${id}'`);
});

Deno.test("Dashboard: the newest loss lies at the newest step, also after the curve was thinned", () => {
  const losses = { values: [4, 3, null, 2], stride: 2, pending: 1, first: 4, last: 1.9 };
  assertEquals(trainPoints({ losses, step: 9 }), [
    { step: 2, loss: 4 },
    { step: 4, loss: 3 },
    { step: 6, loss: null },
    { step: 8, loss: 2 },
  ]);
  const same = (value: number) => value;
  assertEquals(pathOf(trainPoints({ losses, step: 9 }), { x: same, y: same }), "M2.0 4.0L4.0 3.0M8.0 2.0");
});

Deno.test("Dashboard: an axis has round ticks inside its range, whatever the range", () => {
  assertEquals(ticksOf({ low: 0, high: 400 }, 6), [0, 100, 200, 300, 400]);
  assertEquals(ticksOf({ low: 3.17, high: 3.42 }, 5), [3.2, 3.25, 3.3, 3.35, 3.4]);
  assertEquals(ticksOf({ low: 2, high: 2 }, 5), [2]);
  assertEquals([rangeOf([]), rangeOf([NaN])], [null, null]);
  const pick = prngOf(7);
  for (let i = 0; i < 500; i++) {
    const low = (pick(2_000) - 1_000) * 10 ** (pick(20) - 10);
    const range = { low, high: low + (1 + pick(1_000)) * 10 ** (pick(12) - 6) };
    const ticks = ticksOf(range, 5);
    assert(ticks.length <= 8, JSON.stringify({ range, ticks }));
  }
  const place = placeOn({ low: 0, high: 10 }, { from: 100, to: 0 });
  assertEquals([place(0), place(5), place(10)], [100, 50, 0]);
});

Deno.test("Dashboard: numbers have units, and none that is unknown is shown as one", () => {
  const view = openedView();
  const shown = () => {
    const { run } = runSnapshot(view, { sequence: 1, atMs: 100_000 });
    return [...progressFacts(run), ...qualityFacts(run)].map(({ label, value }) => `${label}: ${value}`);
  };
  assert(shown().includes("Training loss: –") && shown().includes("Last merge: none yet"));
  for (const { record, atMs } of sampleRun(40)) foldAt(view, record, atMs);
  const after = shown();
  for (
    const part of ["Step: 40 of 40", "It took: 1.8 s", "Uploaded by each miner: 2.3 MiB", "Audits: 3 passed, 1 failed"]
  ) {
    assert(after.includes(part), `${part} in ${after.join(" · ")}`);
  }
  assertMatch(after.join("\n"), /Throughput: [\d,.]+ tokens\/s\n/);
  const pick = prngOf(3);
  for (let i = 0; i < 2_000; i++) {
    foldAt(view, anyRecord(pick), i);
    for (const fact of shown()) assert(!/NaN|undefined|null|Infinity/.test(fact), fact);
  }
});

Deno.test("Dashboard: a link to it has a picture, at a whole address, also behind a proxy that speaks TLS", async () => {
  const page = openDashboard().pages!["/"]!;
  const imageFor = async (headers: Record<string, string>) => {
    const text = await (await page(new Request("http://run.example:9009/", { headers }), "")).text();
    return /property="og:image" content="([^"]*)"/.exec(text)?.[1];
  };
  assertEquals(await imageFor({}), "http://run.example:9009/preview.png");
  assertEquals(await imageFor({ "x-forwarded-proto": "https" }), "https://run.example:9009/preview.png");
  const run = { step: 2, steps: 4, size: "toy", heldOut: [{ round: 0, step: 0, loss: 6 }] };
  for (const values of [[], [6, null, 5]]) {
    const losses = { values, stride: 1, pending: 0, first: 6, last: 5 };
    const png = previewPng({ ...run, losses });
    assertEquals([...png.subarray(0, 8)], [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
    assertEquals([new DataView(png.buffer).getUint32(16), new DataView(png.buffer).getUint32(20)], [1_200, 630]);
    assert(png.length < 30_000);
  }
});

Deno.test("Curves: a smoothed curve begins at its first loss, a gap stays one, and 0 changes nothing", () => {
  const points = [4, 2, null, 2].map((loss, step) => ({ step, loss }));
  const by = (smoothing: number) => smoothed(points, smoothing).map(({ loss }) => loss);
  assertEquals(by(0), [4, 2, null, 2]);
  const [first, second, gap, last] = by(0.5);
  assertEquals([first, gap], [4, null]);
  assert(second! > 2 && second! < 4 && last! < second! && last! > 2);
});
