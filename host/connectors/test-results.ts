/** Messages between the sink of a test rule and the event stream of the test, which the main thread serves. */

/** The action of test rules. */
export const testResultsSink = 'ruletest';

/** Results on their way to the event stream. */
export interface TestResults {
  kind: 'results';
  texts: string[];
  bytes: number;
}

/** Results that were passed on. */
export interface TestCredit {
  kind: 'credit';
  messages: number;
  bytes: number;
}
