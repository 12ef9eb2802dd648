/** Replaces this thread's compute workers as the thread's address says (losing_confined.ts). */

import { withLosingWorkers } from "./losing_workers.ts";

const queries = new URLSearchParams(self.location.search).get("queries") ?? "";
withLosingWorkers(queries.split(" ").filter((query) => query !== ""));
