/**
 * The compute suite on the reference itself. The numbers agree with themselves here; what this proves is the state rules,
 * and that the suite runs without a device.
 */

import { createReferenceStage } from "../../gpu/reference/stage.ts";
import { computeSuite } from "./compute_suite.ts";

computeSuite("reference", (spec, optimizer) => Promise.resolve(createReferenceStage(spec, { optimizer })));
