/**
 * The hub's own view of its blob store.
 */

import type { BlobRef } from "../../core/ids.ts";
import type { BlobAccess } from "./blob_access.ts";

export interface HubBlobs extends BlobAccess {
  /** Deleting what is not there is no error. */
  delete(ref: BlobRef): Promise<void>;
}
