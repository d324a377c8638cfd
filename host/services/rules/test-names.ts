/** Rule tests have this prefix in the engine; ids of rules can't have these characters. */
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
