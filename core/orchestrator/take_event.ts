/** Books an event: each kind goes to its module. */

import { unreachable } from "../assert.ts";
import { onEndLaid } from "./audit/held_out/payload_trials.ts";
import { onStateChecked } from "./audit/shown_states.ts";
import { onRefereed } from "./audit/referee.ts";
import { onSignaturesChecked } from "./audit/signed_answers.ts";
import { type OrchestratorEffect, type OrchestratorEvent, reject } from "./event.ts";
import { onMergeRefereed, onSliceRefereed, onSliceUnavailable } from "./merge/merge_answers.ts";
import { onBlobsChecked } from "./merge/mending.ts";
import { onUploadChecked } from "./merge/believed_upload.ts";
import { onPayloadChecked } from "./merge/payloads/payload_check.ts";
import { changeSettings, onRestarted } from "./restart.ts";
import { onBroughtBack, onMergeUnavailable } from "./merge/restoring.ts";
import { endHalt, onUploadsProbed } from "./merge/losses/lost_rounds.ts";
import { onDisconnected, onDismissed, onReconnected } from "./members/roster.ts";
import { onWiresCompared } from "./step/remaking.ts";
import type { OrchestratorState } from "./state.ts";
import { onCheckpointFailed, onCheckpointWritten, onMergeRepeated } from "./merge/uploads.ts";
import { boundRefusals, takeMessage } from "./take_message.ts";

export function takeEvent(state: OrchestratorState, event: OrchestratorEvent, nowMs: number): OrchestratorEffect[] {
  switch (event.type) {
    case "nodeConnected":
      return event.resumed ? onReconnected(state, { node: event.node, nowMs }) : [];
    case "nodeDisconnected":
      return onDisconnected(state, { node: event.node, nowMs });
    case "nodeDismissed":
      return onDismissed(state, { ...event, nowMs });
    case "messageReceived":
      return takeMessage(state, { ...event, nowMs });
    case "faultReceived":
      return boundRefusals(state, { node: event.node, effects: reject(event.node, event.fault) });
    case "uploadChecked":
      return onUploadChecked(state, event);
    case "payloadChecked":
      return onPayloadChecked(state, event);
    case "sliceRefereed":
      return onSliceRefereed(state, { ...event, nowMs });
    case "sliceUnavailable":
      return onSliceUnavailable(state, event);
    case "blobsChecked":
      return onBlobsChecked(state, { ...event, nowMs });
    case "mergeUnavailable":
      return onMergeUnavailable(state, event);
    case "mergeRefereed": {
      const { parameters, momentum, ...made } = event;
      const refereed = { ...made, merged: { parameters, momentum } };
      return [...onMergeRepeated(state, refereed), ...onMergeRefereed(state, refereed)];
    }
    case "stageRestored":
    case "earlierRoundFound":
      return onBroughtBack(state, event);
    case "checkpointWritten":
      return onCheckpointWritten(state, { ...event, nowMs });
    case "checkpointFailed":
      return onCheckpointFailed(state, { ...event, nowMs });
    case "stateChecked":
      return onStateChecked(state, event);
    case "endLaid":
      return onEndLaid(state, event);
    case "wiresCompared":
      return onWiresCompared(state, event);
    case "taskRefereed":
    case "gradientRefereed":
      return onRefereed(state, event);
    case "signaturesChecked":
      return onSignaturesChecked(state, { ...event, nowMs });
    case "restarted":
      return onRestarted(state, { changes: event.changes ?? [], lost: event.lost ?? [], nowMs });
    case "uploadsProbed":
      return onUploadsProbed(state, { refusal: event.refusal, nowMs });
    case "roundRetried":
      return endHalt(state, nowMs);
    case "settingsChanged":
      return changeSettings(state, event.changes);
    case "tick":
      return [];
    default:
      return unreachable(event);
  }
}
