/** Refusals of the lives of rules and of their schedules. */
import { errorTable } from '../../base/errors.js';

export const lifeErrors = errorTable('life', {
  missing: ['notFound', (id: string) => `Rule ${id} is not found`],
  portable: ['general', (reason: string) => reason],
  notRunning: ['state', (id: string) => `rule ${id} is not running`],
  every: ['general', (given: string) => `option cron: ${given} needs a duration of at least 1s, such as @every 1m30s`],
  fields: ['general', (given: string) => `option cron: ${given} must have five fields: minute hour day month weekday`],
  cron: ['general', (given: string, reason: string) => `option cron: ${given} is no cron expression: ${reason}`],
  periods: ['general', 'option cronDatetimeRange must be a list of periods'],
  period: ['general', (where: string) => `${where} must be an object`],
  beginAfterEnd: ['general', (where: string) => `${where}: begin is after end`],
  time: ['general', (where: string, given: string) => `${where} is ${given}, expected "YYYY-MM-DD hh:mm:ss"`],
});
