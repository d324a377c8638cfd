/** When the lease of a silent node is over for the others. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { silent } from '../../../host/base/log/log.js';
import { Deaths, type DeathsOptions } from '../../../host/cluster/deaths.js';
import { eventually } from '../../support/harness.js';

test('the time of a lease counts from the answer of NATS: the beat may be newer than the question', async () => {
  let clock = 0;
  let looks = 0;
  const written: string[] = [];
  const bucket = {
    peek: async () => {
      // NATS is slow at first, and the node has sent its beat meanwhile.
      if (looks++ === 0) clock = 100;
      return { key: 'beat.b', revision: 7, text: '{"session":"s"}' };
    },
    write: async ({ key }: { key: string }) => written.push(key),
  };
  const options = {
    beats: [bucket],
    bucket,
    view: {
      nodes: () => [['a'], ['b']],
      node: () => ({ value: { session: 's' }, revision: 1 }),
      noteNode: () => {},
    },
    node: 'a',
    ttlMs: 120,
    now: () => clock,
    log: silent,
  };
  const deaths = new Deaths(options as unknown as DeathsOptions);
  deaths.start();
  await eventually('the first look', () => looks > 0);
  clock = 200;
  const seen = looks;
  await eventually('further looks', () => looks > seen + 2);
  assert.equal(written, []);
  clock = 221;
  await eventually('the end of the session', () => written.length >= 2);
  deaths.close();
  assert.equal(written.slice(0, 2), ['beat.b', 'node.b']);
});

test.run();
