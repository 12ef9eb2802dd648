/** The processor's backend against the float64 reference. */

import { createCpuStage } from "../../gpu/cpu/cpu_stage.ts";
import { computeSuite } from "./compute_suite.ts";

const activationBytes = 2 ** 20; // some of these stages keep all forwards of the suite, the larger ones a few

computeSuite("cpu", (spec) => createCpuStage(spec, { activationBytes }));
