/**
 * A compute worker whose device is lost at given points: `?lose=12` after the twelfth submit of its queue, `?crash=12` ends the
 * whole worker there. Everything else is the production worker. Stands for `gpu/worker.ts` (losing_workers.ts).
 */

import "./losing_device.ts"; // before the worker opens one
import "../../../gpu/worker.ts";
