/** The leaders of two buckets that one server of NATS has: what becomes of the wish to part them is told. */
import type { NatsConnection } from '@nats-io/transport-node';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { silent } from '../../../host/base/log/log.js';
import { Leaders } from '../../../host/cluster/leaders.js';
import { eventually } from '../../support/harness.js';

test('a server that goes on to lead both is told once, with the reason', async () => {
  const leads = { cluster: { leader: 'n1', replicas: [{ name: 'n2', current: true, offline: false }] } };
  let wishes = 0;
  const answerTo = (subject: string) => {
    if (!subject.includes('STEPDOWN')) return { ...leads, config: {}, state: {} };
    wishes++;
    return { error: { code: 503, description: 'the stream has no quorum' } };
  };
  const connection = {
    options: {},
    isClosed: () => false,
    subscribe: () => ({ unsubscribe: () => {} }),
    request: async (subject: string) => {
      const data = Buffer.from(JSON.stringify(answerTo(subject)));
      return { data, string: () => data.toString(), json: () => JSON.parse(data.toString()) };
    },
  } as unknown as NatsConnection;
  const warnings: string[] = [];
  const log = { ...silent, warn: (text: string) => void warnings.push(text) } as typeof silent;
  const buckets = ['one', 'two'].map((name) => ({ name, stream: `KV_${name}` }));
  const leaders = new Leaders(connection, buckets, () => true, log, 5);
  leaders.start();
  await eventually('some wishes', () => wishes > 2);
  leaders.close();
  assert.equal(warnings, ['server n1 of NATS leads one and two, and goes on: the stream has no quorum']);
});

test.run();
