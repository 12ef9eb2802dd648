import { createReferenceStage } from "../../gpu/reference/stage.ts";
import { computeSuite } from "./compute_suite.ts";

// The numbers agree with themselves here; what this proves is the state rules, and that the suite runs without a device.
computeSuite("reference", (spec) => Promise.resolve(createReferenceStage(spec)));
