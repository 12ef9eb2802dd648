/** `iota admin`: signs a request with the key of a run's orchestrator and sends it. */

import type { HotkeyPair } from "../../../chain/wallet/hotkey.ts";
import { hotkeyExists, loadHotkey } from "../../../chain/wallet/hotkey_files.ts";
import type { CommandContext } from "../../terminal/command.ts";
import { openHotkeyOf } from "../../terminal/options/wallet_options.ts";
import { readSavedRun, type SavedRun } from "../../files/saved_run.ts";
import { UsageError, UserError } from "../../program/errors.ts";
import { identityAt, type OwnedRun, sendToHub } from "./owner_call.ts";
import { addressOrBeginning } from "./named_node.ts";
import type { OwnerRequest } from "./owner_request.ts";
import { runOwnerPage } from "./run_owner_page.ts";

export async function runAdmin(context: CommandContext): Promise<number> {
  const { positionals: [action], output } = context;
  if (action === "page") return await runOwnerPage(context, await ownedRun(context));
  const request = await requestOf(context);
  const owned = await ownedRun(context);
  const text = await sendToHub(owned, request);
  const { run, pair: { address: hub } } = owned;
  output.answer({ ...request, run, hub, text }, text);
  return 0;
}

async function ownedRun(context: CommandContext): Promise<OwnedRun> {
  const { options } = context;
  const folder = options.text("run");
  const saved = folder === undefined ? null : await savedRunIn(folder);
  const url = urlOf(options.text("orchestrator"), saved);
  const pair = await openKey(context, { folder, saved });
  const { runId: run, hub } = await identityAt(url);
  if (pair.address !== hub) {
    throw new UserError(
      `Only the run's signing key, ${hub}, may change the run; the key here is ${pair.address}`,
      { next: "Pass that wallet: --wallet NAME, or the run's own folder: --run DIR" },
    );
  }
  return { url, pair, run };
}

async function requestOf({ positionals: [action, subject], options }: CommandContext): Promise<OwnerRequest> {
  const lacks = (what: string, example: string) =>
    new UsageError(what, { next: `For example: iota admin ${example} --run runs/demo` });
  const after = options.text("after");
  if (after !== undefined && action !== "stop") throw lacks("--after works only with stop", "stop --after round");
  switch (action) {
    case "pause":
    case "resume":
      return { action };
    case "kick":
    case "admit":
      if (subject === undefined) throw lacks("Name the node by its address", `${action} 5GrwvaEF`);
      return { action, node: await addressOrBeginning(subject, options.text("run")) };
    case "rate": {
      const learningRate = Number(subject ?? NaN);
      if (!Number.isFinite(learningRate)) throw lacks("Give the new learning rate", "rate 0.0005");
      return { action, learningRate };
    }
    case "stop":
      return { action: after === undefined ? "stop" : "stopAfterRound" };
    default:
      throw lacks("iota admin needs an action: pause, resume, kick, admit, rate, stop or page", "pause");
  }
}

async function savedRunIn(folder: string): Promise<SavedRun> {
  const saved = await readSavedRun(folder);
  if (saved !== null && saved !== "damaged") return saved;
  throw new UserError(
    `'${folder}' is not the folder of a run: its run.json is ${saved === null ? "missing" : "damaged"}`,
    { next: "Pass the run's folder, or its address and key: --orchestrator URL --wallet NAME" },
  );
}

function urlOf(given: string | undefined, saved: SavedRun | null): string {
  const text = given ?? (saved?.port === null || saved === null ? undefined : `http://${hostOf(saved)}:${saved.port}`);
  if (text === undefined) {
    throw new UsageError("Name the run by its folder or its address", {
      next: "For example: iota admin pause --run runs/demo, or --orchestrator http://10.0.0.1:9009 --wallet owner",
    });
  }
  const url = URL.parse(text.replace(/^ws/, "http"));
  if (url !== null && (url.protocol === "http:" || url.protocol === "https:")) return url.origin;
  throw new UsageError(
    `--orchestrator must be an address such as http://10.0.0.1:9009, but is '${text}'`,
  );
}

const hostOf = ({ host }: SavedRun): string =>
  host === null || host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host;

/** The named wallet, the one that signs for the run, or the run's own key. */
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
  throw new UserError("The run's signing key was not found on this machine", {
    next: "Pass its wallet: --wallet NAME",
  });
}
