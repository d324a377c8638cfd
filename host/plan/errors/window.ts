/** Refusals of windows and GROUP BY. */
import { planErrors } from './table.js';

export const windowErrors = planErrors('window', {
  sendMeta: (what: string) => `option sendMetaToSink cannot be used with ${what}`,
  eventTime: (kind: string) => `${kind}WINDOW cannot be used with event time`,
  orderBy: 'ORDER BY cannot be used with a window',
  overWhen: 'OVER (WHEN) belongs to SLIDINGWINDOW only',
  partitionByClock: (name: string) =>
    `PARTITION BY has no effect on ${name}WINDOW, which ends by the clock for all rows: give the values in GROUP BY`,
  groupByOr: (meant: string) => `GROUP BY needs a window, did you mean ${meant}?`,
  groupBy: 'GROUP BY needs a window',
  stateCondition: 'STATEWINDOW needs a condition',
});
