/** Refusals of rules, rule tests, tags and traces. */
import { errorTable } from '../../base/errors.js';

export const ruleErrors = errorTable('rule', {
  missing: ['notFound', (id: string, why: string) => `rule ${id} is not found${why}`],
  notThere: ['general', (id: string) => `rule ${id} is not found`],
  exists: ['general', (id: string) => `rule ${id} already exists`],
  oldVersion: ['general', (given: unknown, stored: unknown) => `the version ${given} must be greater than ${stored}`],
  neverStarted: ['state', (id: string) => `rule ${id} was never started`],
  notRunning: ['state', (id: string) => `rule ${id} is not running`],
  notWorking: ['general', (id: string) => `rule ${id} is not running`],
  resetType: ['general', (given: unknown, expected: number) => `unknown type ${given}, expected ${expected}`],
  noStream: ['general', (id: string, stream: string) => `rule ${id} has no stream ${stream}`],
  streamRefuses: ['general', (stream: string, reason: string) => `the source of stream ${stream}: ${reason}`],
  noScanTable: ['general', (id: string) => `rule ${id} has no scan table`],
  emptyScanTables: ['general', (id: string) => `the scan tables of rule ${id} hold nothing`],
  notJson: ['general', (id: string, reason: string) => `rule ${id} is no JSON: ${reason}`],
  temporary: ['general', (id: string) => `rule ${id} is temporary and can't be imported`],
  noneMatch: ['general', 'no matching rules'],
  testMissing: ['notFound', (id: string) => `start test rule error: test rule ${id} is not found`],
  testId: ['general', 'the id of the test rule is missing'],
  tooManyTests: ['general', (count: number) => `there are ${count} test rules already`],
  testMember: ['general', (name: string) => `${name} must be an object`],
  traceLimit: ['general', (given: unknown) => `limit is ${given}, expected a whole number from 0`],
  traceMissing: ['notFound', (id: string) => `trace ${id} is not found`],
  traceAction: ['general', (given: unknown) => `action is ${given}, expected start or stop`],
  traceText: ['general', (member: string) => `${member} must be a text`],
  traceStrategy: ['general', 'strategy must be "always" or "head"'],
});
