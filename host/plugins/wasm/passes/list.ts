/**
 * The passes over modules of users, in their order. One with `optional` only speeds calls up: without its line here all
 * modules give the same results. Passes that need a missing one are left out with it.
 */
import { defaultLimits } from '../binary/limits.js';
import { dense } from './dense.js';
import { exportMemory } from './export-memory.js';
import { inline } from './inline.js';
import { meterModule } from './meter.js';
import type { Pass, PassModule, Stage } from './pass.js';
import { uncharged } from './uncharged.js';
import { unroll } from './unroll.js';

export const passes: readonly Pass[] = [meterModule, exportMemory, uncharged, inline, dense, unroll];

/** A module that no pass has seen. */
export function unpassed(bytes: Uint8Array<ArrayBuffer>, given: Partial<PassModule> = {}): PassModule {
  return {
    bytes,
    limits: defaultLimits,
    rowFunctions: [],
    memory: undefined,
    uncharged: new Set(),
    inlined: new Map(),
    hasDenseLoop: false,
    unrolled: new Map(),
    ...given,
  };
}

/** Runs the passes of a stage; those of earlier stages have run before. */
export function runPasses(stage: Stage, module: PassModule, list: readonly Pass[] = passes): PassModule {
  const run = runnable(list).filter((pass) => pass.stage === stage);
  return run.reduce((on, pass) => pass.run(on), module);
}

/** Passes whose needs are in front of them. */
function runnable(list: readonly Pass[]): Pass[] {
  const before = new Set<string>();
  return list.filter(({ name, needs, optional }) => {
    const missing = needs.find((need) => !before.has(need));
    if (missing === undefined) before.add(name);
    else if (optional === undefined) throw new Error(`the pass ${name} needs ${missing}, which does not run before it`);
    return missing === undefined;
  });
}
