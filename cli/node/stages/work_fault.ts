/** A failed job's fault, as reported to the orchestrator. */

import { type Fault, fault } from "../../../core/fault.ts";
import { isTooLarge } from "../../../gpu/worker_client.ts";
import { UploadError } from "../../../net/blobs/blobs.ts";

export class WorkRefused extends Error {
  override name = "WorkRefused";
  readonly fault: Fault;

  constructor(reason: Fault) {
    super(reason.detail);
    this.fault = reason;
  }
}

export function faultOf(error: unknown): Fault {
  if (error instanceof WorkRefused) return error.fault;
  if (isTooLarge(error)) return fault("tooLarge", error.message);
  if (error instanceof UploadError) return { ...fault("uploadFailed", error.message), upload: error.upload };
  return fault("badBlob", error instanceof Error ? error.message : String(error));
}
