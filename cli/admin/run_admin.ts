/**
 * `iota admin`: signs one request with the key of a run's hub and sends it to the running orchestrator.
 *
 * Owns: finding the key and the port, in the run's folder or as told, and what to do when that fails. Out of scope: what the
 * orchestrator does with it (run_owner.ts).
 */

import { createHash } from "node:crypto";
import * as v from "valibot";
import type { HotkeyPair } from "../../chain/wallet/hotkey.ts";
import { hotkeyExists, loadHotkey } from "../../chain/wallet/hotkey_files.ts";
import { type NodeId, nodeId } from "../../core/ids.ts";
import { createAuthorize } from "../../net/auth/request_auth.ts";
import { systemRandom, systemTimers } from "../../net/timers.ts";
import type { CommandContext } from "../command.ts";
import { openHotkeyOf } from "../options/wallet_options.ts";
import { readSavedRun, type SavedRun } from "../orchestrate/saved_run.ts";
import { UsageError, UserError } from "../output/errors.ts";
import { adminPath } from "./admin_page.ts";
import type { OwnerCall, OwnerRequest } from "./owner_request.ts";

const answerMs = 20_000;
const identityShape = v.object({ runId: v.string(), hub: v.string() });

export async function runAdmin(context: CommandContext): Promise<number> {
  const { options, output } = context;
  const request = requestOf(context);
  const folder = options.text("run");
  const saved = folder === undefined ? null : await savedRunIn(folder);
  const url = urlOf(options.text("orchestrator"), saved);
  const pair = await openKey(context, { folder, saved });
  const { runId: run, hub } = await identityAt(url);
  if (pair.address !== hub) {
    throw new UserError(
      `Cannot act on the run as only the key that signs it may, ${hub}: the key here is ${pair.address}`,
      { next: "Pass that wallet: --wallet NAME, or the run's own folder: --run DIR" },
    );
  }
  const text = await send({ url, pair, call: { run, request } });
  output.answer({ ...request, run, hub, text }, text);
  return 0;
}

function requestOf({ positionals: [action, subject], options }: CommandContext): OwnerRequest {
  const lacks = (what: string, example: string) =>
    new UsageError(`Cannot act on the run as ${what}`, { next: `For example: iota admin ${example} --run runs/demo` });
  const after = options.text("after");
  if (after !== undefined && action !== "stop") throw lacks("--after goes with stop only", "stop --after round");
  switch (action) {
    case "pause":
    case "resume":
      return { action };
    case "kick":
    case "admit":
      if (subject === undefined) throw lacks("a node's address must be given", `${action} 5Grwva…`);
      return { action, node: nodeId(subject) };
    case "rate": {
      const learningRate = Number(subject ?? NaN);
      if (!Number.isFinite(learningRate)) throw lacks("a learning rate must be given", "rate 0.0005");
      return { action, learningRate };
    }
    case "stop":
      return { action: after === undefined ? "stop" : "stopAfterRound" };
    default:
      throw lacks("an action must be given: pause, resume, kick, admit, rate or stop", "pause");
  }
}

async function savedRunIn(folder: string): Promise<SavedRun> {
  const saved = await readSavedRun(folder);
  if (saved !== null && saved !== "damaged") return saved;
  throw new UserError(
    `Cannot act on the run as '${folder}' must be the folder of one: its run.json ${
      saved === null ? "is not there" : "is damaged"
    }`,
    { next: "Pass the run's folder, or its address and key: --orchestrator URL --wallet NAME" },
  );
}

function urlOf(given: string | undefined, saved: SavedRun | null): string {
  const text = given ?? (saved?.port === null || saved === null ? undefined : `http://${hostOf(saved)}:${saved.port}`);
  if (text === undefined) {
    throw new UsageError("Cannot act on the run as its folder or its address must be given", {
      next: "For example: iota admin pause --run runs/demo, or --orchestrator http://10.0.0.1:9009 --wallet owner",
    });
  }
  const url = URL.parse(text.replace(/^ws/, "http"));
  if (url !== null && (url.protocol === "http:" || url.protocol === "https:")) return url.origin;
  throw new UsageError(
    `Cannot use --orchestrator as it must be an address such as http://10.0.0.1:9009: it is '${text}'`,
  );
}

/** Of the machine on which the run's folder lies. */
const hostOf = ({ host }: SavedRun): string =>
  host === null || host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host;

/** The wallet that was named, the one that signs for the run, or the run's own key. */
async function openKey(
  context: CommandContext,
  { folder, saved }: { folder: string | undefined; saved: SavedRun | null },
): Promise<HotkeyPair> {
  const named = context.options.given("wallet") ? context.options.text("wallet") : undefined;
  if (named !== undefined) return (await openHotkeyOf(context, named)).pair;
  const { wallet, hotkey = "default", "wallet-path": path } = saved?.options ?? {};
  const place = typeof wallet === "string" && typeof path === "string"
    ? { folder: path, wallet, hotkey: String(hotkey) }
    : { folder: `${folder}/wallets`, wallet: "orchestrator", hotkey: "default" };
  if (folder !== undefined && await hotkeyExists(place)) return await loadHotkey(place);
  throw new UserError("Cannot act on the run as the key that signs it must be here: none was found", {
    next: "Pass its wallet: --wallet NAME",
  });
}

/** What the port says it is; the signature is for this hub and run alone. */
async function identityAt(url: string): Promise<{ runId: string; hub: NodeId }> {
  const response = await reach(url, () => fetch(`${url}/status`, { signal: AbortSignal.timeout(answerMs) }));
  const { success, output } = v.safeParse(identityShape, await response.json().catch(() => null));
  if (success) return { runId: output.runId, hub: nodeId(output.hub) };
  throw new UserError(`Cannot act on the run as ${url} must be its orchestrator: it answers as something else`, {
    next: "Pass the address that the orchestrator printed: --orchestrator URL",
  });
}

interface Sending {
  readonly url: string;
  readonly pair: HotkeyPair;
  readonly call: OwnerCall;
}

async function send({ url, pair, call }: Sending): Promise<string> {
  const body = JSON.stringify(call);
  const signer = { address: nodeId(pair.address), sign: (message: Uint8Array) => pair.sign(message) };
  const authorize = createAuthorize({ signer, receiver: signer.address, timers: systemTimers, random: systemRandom });
  const bodyHash = createHash("sha256").update(body).digest("hex");
  const headers = { ...authorize({ method: "POST", target: adminPath, bodyHash }), "content-type": "application/json" };
  const signal = AbortSignal.timeout(answerMs);
  const response = await reach(url, () => fetch(`${url}${adminPath}`, { method: "POST", headers, body, signal }));
  const answer = await response.json().catch(() => null) as { text?: unknown; detail?: unknown } | null;
  if (response.ok && typeof answer?.text === "string") return answer.text;
  const detail = typeof answer?.detail === "string" ? answer.detail : `the orchestrator answered ${response.status}`;
  throw new UserError(
    detail,
    response.status === 404 ? { next: "Its program is older; upgrade the orchestrator" } : {},
  );
}

async function reach(url: string, ask: () => Promise<Response>): Promise<Response> {
  try {
    return await ask();
  } catch (cause) {
    throw new UserError(`Cannot act on the run as its orchestrator must answer at ${url}: it does not`, {
      next: "Start it, or pass the address that it printed: --orchestrator URL",
      cause,
    });
  }
}
