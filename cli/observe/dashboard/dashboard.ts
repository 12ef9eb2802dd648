/**
 * The dashboard's page. Its modules are served with types stripped, so the page shares the terminal's code without a
 * build step. Invariant: the page loads nothing else and runs no other code.
 */

import { stripTypeScriptTypes } from "node:module";
import type { HubPage } from "../../../net/hub_http.ts";
import type { ProjectionConsumer } from "../consumer.ts";
import plural from "../../../core/plural.ts" with { type: "text" };
import format from "../../terminal/text/format.ts" with { type: "text" };
import pageStyle from "./page/dashboard.css" with { type: "text" };
import pageDocument from "./page/index.html" with { type: "text" };
import account from "./page/account.ts" with { type: "text" };
import address from "./page/parts/address.ts" with { type: "text" };
import agreement from "./page/agreement.ts" with { type: "text" };
import beside from "./page/beside.ts" with { type: "text" };
import axis from "./page/parts/axis.ts" with { type: "text" };
import curveChart from "./page/curves/curve_chart.ts" with { type: "text" };
import effectChart from "./page/curves/effect_chart.ts" with { type: "text" };
import readout from "./page/curves/readout.ts" with { type: "text" };
import runCurves from "./page/curves/run_curves.ts" with { type: "text" };
import flight from "./page/pipeline/flight.ts" with { type: "text" };
import earnings from "./page/earnings.ts" with { type: "text" };
import elements from "./page/parts/elements.ts" with { type: "text" };
import followRun from "./page/follow_run.ts" with { type: "text" };
import lossChart from "./page/curves/loss_chart.ts" with { type: "text" };
import lossTools from "./page/curves/loss_tools.ts" with { type: "text" };
import main from "./page/main.ts" with { type: "text" };
import memberPage from "./page/member_page.ts" with { type: "text" };
import owner from "./page/owner.ts" with { type: "text" };
import members from "./page/members.ts" with { type: "text" };
import past from "./page/past.ts" with { type: "text" };
import pathway from "./page/microbatch/pathway.ts" with { type: "text" };
import pathwayChart from "./page/microbatch/pathway_chart.ts" with { type: "text" };
import pipeline from "./page/pipeline/pipeline.ts" with { type: "text" };
import runState from "./page/run_state.ts" with { type: "text" };
import samples from "./page/samples.ts" with { type: "text" };
import summary from "./page/summary.ts" with { type: "text" };
import svg from "./page/parts/svg.ts" with { type: "text" };
import timeTravel from "./page/time_travel.ts" with { type: "text" };
import validators from "./page/validators.ts" with { type: "text" };
import way from "./page/microbatch/way.ts" with { type: "text" };

/** By path in the checkout, so that relative imports hold. */
export const pageModules: Readonly<Record<string, string>> = {
  "core/plural.ts": plural,
  "cli/terminal/text/format.ts": format,
  "cli/observe/dashboard/page/account.ts": account,
  "cli/observe/dashboard/page/parts/address.ts": address,
  "cli/observe/dashboard/page/agreement.ts": agreement,
  "cli/observe/dashboard/page/parts/axis.ts": axis,
  "cli/observe/dashboard/page/beside.ts": beside,
  "cli/observe/dashboard/page/curves/curve_chart.ts": curveChart,
  "cli/observe/dashboard/page/curves/effect_chart.ts": effectChart,
  "cli/observe/dashboard/page/curves/readout.ts": readout,
  "cli/observe/dashboard/page/curves/run_curves.ts": runCurves,
  "cli/observe/dashboard/page/earnings.ts": earnings,
  "cli/observe/dashboard/page/parts/elements.ts": elements,
  "cli/observe/dashboard/page/pipeline/flight.ts": flight,
  "cli/observe/dashboard/page/follow_run.ts": followRun,
  "cli/observe/dashboard/page/curves/loss_chart.ts": lossChart,
  "cli/observe/dashboard/page/curves/loss_tools.ts": lossTools,
  "cli/observe/dashboard/page/main.ts": main,
  "cli/observe/dashboard/page/member_page.ts": memberPage,
  "cli/observe/dashboard/page/members.ts": members,
  "cli/observe/dashboard/page/owner.ts": owner,
  "cli/observe/dashboard/page/past.ts": past,
  "cli/observe/dashboard/page/microbatch/pathway.ts": pathway,
  "cli/observe/dashboard/page/microbatch/pathway_chart.ts": pathwayChart,
  "cli/observe/dashboard/page/pipeline/pipeline.ts": pipeline,
  "cli/observe/dashboard/page/run_state.ts": runState,
  "cli/observe/dashboard/page/samples.ts": samples,
  "cli/observe/dashboard/page/summary.ts": summary,
  "cli/observe/dashboard/page/parts/svg.ts": svg,
  "cli/observe/dashboard/page/time_travel.ts": timeTravel,
  "cli/observe/dashboard/page/validators.ts": validators,
  "cli/observe/dashboard/page/microbatch/way.ts": way,
};

export { pageDocument, pageStyle };

export const programOf = (source: string): string => stripTypeScriptTypes(source);

interface DashboardOptions {
  readonly hasMetrics?: boolean; // @default true
  readonly hasBeside?: boolean; // a second run. @default false
  readonly hasOwner?: boolean; // @default false
}

export function openDashboard(
  { hasMetrics = true, hasBeside = false, hasOwner = false }: DashboardOptions = {},
): ProjectionConsumer {
  const whole = hasMetrics ? pageDocument : pageDocument.replace(/<a id="metrics"[^]*?<\/a>/, "");
  const absent = [...(hasBeside ? [] : ["beside"]), ...(hasOwner ? [] : ["owner"])];
  const document = withoutParts(whole, absent);
  const modules = Object.entries(pageModules).map(([path, source]): [string, HubPage] => [
    `/program/${path}`,
    served("text/javascript", once(() => programOf(source))),
  ]);
  return {
    pages: {
      "/": (request) => served("text/html", () => withPreview(document, request))(),
      "/dashboard.css": served("text/css", () => pageStyle),
      ...Object.fromEntries(modules),
    },
  };
}

export const withoutParts = (document: string, names: readonly string[]): string =>
  names.reduce(
    (text, name) => text.replace(new RegExp(` *<!-- ${name} -->.*?<!-- /${name} -->\\n`, "gs"), ""),
    document,
  );

/** Social networks need an absolute address; a proxy says whether it is https. */
function withPreview(document: string, request: Request): string {
  const url = new URL("/preview.png", request.url);
  if (request.headers.get("x-forwarded-proto") === "https") url.protocol = "https:";
  return document.replace('content="/preview.png"', () => `content="${url.href}"`);
}

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src data:", // the empty icon
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

function served(type: string, text: () => string): () => Response {
  const headers = {
    "content-type": `${type}; charset=utf-8`,
    "content-security-policy": policy,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache", // another version may answer next
  };
  return () => new Response(text(), { headers });
}

function once(make: () => string): () => string {
  let made: string | null = null;
  return () => made ??= make();
}
