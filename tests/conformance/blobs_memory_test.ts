/** The memory store keeps the promises of every blob store. */

import { MemoryBlobs } from "../../net/blobs/blob_memory.ts";
import { localBlobSuite, suiteCapacity } from "./blobs_suite.ts";

localBlobSuite("memory", () =>
  Promise.resolve({
    store: new MemoryBlobs(suiteCapacity),
    locates: "nowhere",
    close: () => Promise.resolve(),
  }));
