/** What the engine calls rule tests: by names that no rule has. */

/** Names of test rules in the engine can't meet those of rules, which have no such characters. */
const testPrefix = '$test:';

export function engineId(id: string): string {
  return testPrefix + id;
}

export function testIdOf(engineId: string): string {
  return engineId.slice(testPrefix.length);
}

/** Tells whether the engine knows a rule test by this name. */
export function isTestRun(engineId: string): boolean {
  return engineId.startsWith(testPrefix);
}
