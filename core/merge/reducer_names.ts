/**
 * Who averages the payloads of a stage's merge, as people type it.
 *
 * The hub's result decides in any case (orchestrator/merge/reducing.ts). `hub`: it averages alone, which halves what a merge
 * sends; `replicas`: pairs of replicas share the work and the hub repeats it; `auto`: the hub where it has little to read.
 */

export const reducerNames = ["auto", "hub", "replicas"] as const;

export type Reducers = typeof reducerNames[number];

/** Also of a configuration that names none. */
export const defaultReducers: Reducers = "auto";
