/** The live screen's key with which a run's owner pauses and resumes it. */

import { loadHotkey } from "../../../chain/wallet/hotkey_files.ts";
import type { KeyAction } from "../../terminal/screen/live_screen.ts";
import { identityAt, sendToHub } from "./owner_call.ts";
import type { OwnerRequest } from "./owner_request.ts";

interface PauseKeyOptions {
  readonly isPaused: () => boolean;
  /** Returns what was done; rejects with the reason. */
  readonly act: (request: OwnerRequest) => Promise<string>;
}

export const pauseKey = ({ isPaused, act }: PauseKeyOptions): KeyAction => ({
  key: "p",
  word: "pause",
  doc: "pause the run, or let it go on; nothing is lost meanwhile",
  act: async () => {
    const text = await act({ action: isPaused() ? "resume" : "pause" });
    return text.replace("iota admin resume lets it go on", "p lets it go on");
  },
});

/** `url`: without a path. */
export async function askOwnHub(
  { folder, url }: { folder: string; url: string },
  request: OwnerRequest,
): Promise<string> {
  const pair = await loadHotkey({ folder: `${folder}/wallets`, wallet: "orchestrator", hotkey: "default" });
  const { runId: run } = await identityAt(url);
  return await sendToHub({ url, pair, run }, request);
}
