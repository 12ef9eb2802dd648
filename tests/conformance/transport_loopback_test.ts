/** The in-memory transport keeps the promises of every transport. */

import { createLoopback } from "../../net/links/loopback.ts";
import { transportSuite } from "./transport_suite.ts";

transportSuite("loopback", ({ accept }) =>
  Promise.resolve({
    url: "loopback",
    dial: createLoopback(accept),
    stop: () => Promise.resolve(),
  }));
