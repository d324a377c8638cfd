/** Rows of random whole numbers, one at each interval. */
import { field } from '../../base/fields/field.js';
import { plainSource } from '../common.js';
import { defineConnector } from '../define.js';

export default defineConnector({
  name: 'random',
  doc: 'Makes rows of random whole numbers.',
  chinese: async () => (await import('./chinese.js')).chinese,
  source: {
    props: {
      ...plainSource,
      interval: field.duration().min(0).default(1000).doc('Pause between two rows'),
      seed: field
        .int()
        .min(1)
        .max(2 ** 48)
        .default(1)
        .doc('How many numbers each column may have, from that of the pattern on'),
      pattern: field
        .object()
        .default({ count: 50 })
        .check(patternReason)
        .doc('Columns with their smallest numbers: {"count":50}'),
      deduplicate: field
        .int()
        .default(0)
        .doc('A row is left out that is among the last ones, so many; with -1 among the last million'),
    },
    form: () => ({ framing: 'frames', waits: true }),
    defaultKey: { interval: 1000, seed: 1, pattern: { count: 50 }, deduplicate: 0 },
    load: async () => {
      const { RandomSource } = await import('./source.js');
      return (conf, context) => new RandomSource(conf, context);
    },
  },
});

function patternReason(pattern: Record<string, unknown>): string | undefined {
  const wrong = Object.keys(pattern).find((name) => !Number.isSafeInteger(pattern[name]));
  return wrong === undefined ? undefined : `must have whole numbers only, which ${wrong} is not`;
}
