/** The end of all rules of a thread, which has a time: what would be lost comes first. */
import type { RuleRun } from './rule-run.js';

/** Rules that end between two turns of the event loop, so that those before can send and write meanwhile. */
const slice = 200;

/** Ends the rules; those with checkpoints at one instant and before the others. */
export async function endAll(rules: Iterable<RuleRun>, end: (rule: RuleRun) => Promise<void>): Promise<void> {
  const all = [...rules];
  const ending = all.filter(({ checkpoints }) => checkpoints !== undefined).map(end);
  const others = all.filter(({ checkpoints }) => checkpoints === undefined);
  for (let i = 0; i < others.length; i += slice) {
    for (const rule of others.slice(i, i + slice)) ending.push(end(rule));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(ending);
}
