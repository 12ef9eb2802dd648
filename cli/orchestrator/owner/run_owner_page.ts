/** `iota admin page`: the dashboard of an orchestrator on this machine, with the owner's controls. Until Ctrl-C. */

import { fault, type Parsed, parsed, refused } from "../../../core/fault.ts";
import { defaultNetLimits } from "../../../net/limits.ts";
import { listen, noNodes } from "../../../net/server.ts";
import { systemRandom } from "../../../net/timers.ts";
import type { CommandContext } from "../../terminal/command.ts";
import { untilAborted } from "../../program/aborted.ts";
import { attempting } from "../../program/errors.ts";
import { type OwnedRun, sendToHub } from "./owner_call.ts";
import { createHash, timingSafeEqual } from "node:crypto";
import { outboundFetch } from "../../program/outbound.ts";
import { openDashboard } from "../../observe/dashboard/dashboard.ts";
import { answerOf, headers, type OwnerRequest, readBody, readOwnerRequest, refusal } from "./owner_request.ts";

const host = "127.0.0.1"; // anyone with the page and its key acts as the owner
const keyBytes = 32;

export async function runOwnerPage(context: CommandContext, owned: OwnedRun): Promise<number> {
  const { output, options } = context;
  const interruption = context.interruption();
  const port = options.number("port")!;
  const key = systemRandom.bytes(keyBytes).toHex();
  let requests = 0;
  const fetch = openOwnerPage({
    hub: owned.url,
    key,
    act: async (request) => {
      try {
        const text = await sendToHub(owned, request);
        requests += 1;
        output.event({ type: "acted", ...request, text });
        output.line(text);
        return parsed(text);
      } catch (error) {
        if (!(error instanceof Error)) throw error;
        output.log.warn(error.message);
        return asRefusal(error);
      }
    },
  });
  const listener = await attempting({ action: "serve the owner's page on", value: `${host}:${port}` }, () =>
    listen({
      ...{ host, port, limits: defaultNetLimits, fetch, onNotice: (text) => output.log.warn(text) },
      accept: noNodes,
    }));
  const url = `${listener.url}/#owner=${key}`;
  output.event({ type: "page", url, run: owned.run });
  output.line(`Owner's page: ${url} (for your browser alone; Ctrl-C ends it)`);
  await untilAborted(interruption);
  await listener.close();
  output.summary({ run: owned.run, requests });
  return 0;
}

/** `/owner` acts, everything else is the orchestrator's. */
interface OwnerPageOptions {
  readonly hub: string; // without a path
  readonly key: string;
  readonly act: (request: OwnerRequest) => Promise<Parsed<string>>;
}

const passedOn = /^\/(events|status|metrics|grafana\.json|api\/v1\/[a-z/.-]+)$/;

export function openOwnerPage({ hub, key, act }: OwnerPageOptions): (request: Request) => Promise<Response> {
  const { pages = {} } = openDashboard({ hasOwner: true });
  return async (request) => {
    const { pathname, search, hostname } = new URL(request.url);
    if (!ownNames.has(hostname)) {
      return refusal(
        fault("notAdmitted", `This page answers only requests to this machine, not to '${hostname}'`),
      );
    }
    if (pathname === "/owner") return await answer(request, { key, act });
    if (request.method !== "GET") return refusal(fault("malformedMessage", "Only GET is answered here"));
    const page = pages[pathname];
    if (page !== undefined) return await page(request, "local");
    if (!passedOn.test(pathname)) return unavailable("missing", 404, "There is no such page; try /");
    return await passOn(`${hub}${pathname}${search}`, request);
  };
}

const ownNames = new Set(["127.0.0.1", "localhost", "[::1]"]);

async function answer(request: Request, { key, act }: Pick<OwnerPageOptions, "key" | "act">): Promise<Response> {
  if (request.method !== "POST") return refusal(fault("malformedMessage", "Only POST is answered here"));
  if (!isSame(request.headers.get("x-iota-owner") ?? "", key)) {
    const again = "open the address that iota admin page printed";
    return refusal(fault("unauthenticated", `The page was opened without its key; ${again}`));
  }
  const body = await readBody(request);
  const asked = body.ok ? readOwnerRequest(body.value) : body;
  return answerOf(asked.ok ? await act(asked.value) : asked);
}

/** In constant time. */
function isSame(a: string, b: string): boolean {
  const [first, second] = [a, b].map((text) => createHash("sha256").update(text).digest());
  return timingSafeEqual(first!, second!);
}

async function passOn(url: string, { signal }: Request): Promise<Response> {
  try {
    const { status, body, headers: its } = await outboundFetch(url, { signal });
    const kept = ["content-type", "cache-control", "retry-after"].flatMap((name): [string, string][] => {
      const value = its.get(name);
      return value === null ? [] : [[name, value]];
    });
    return new Response(body === null ? null : untilBroken(body), {
      status,
      headers: [...kept, ["x-content-type-options", "nosniff"]],
    });
  } catch {
    return unavailable("storage", 502, "The orchestrator does not answer");
  }
}

function untilBroken(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream({
    pull: async (to) => {
      const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }));
      if (done || value === undefined) to.close();
      else to.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

const unavailable = (code: string, status: number, detail: string): Response =>
  Response.json({ code, detail }, { status, headers });

const asRefusal = (error: Error): Parsed<string> => refused("wrongPhase", error.message);
