/** When lost connections are tried again. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Logger, silent } from '../../../../../host/base/log/log.js';
import { nothingSecret } from '../../../../../host/base/secrets/redact.js';
import { Connection } from '../../../../../host/run/plane/connect/connection.js';
import { Reconnects } from '../../../../../host/run/plane/connect/reconnects.js';
import { eventually } from '../../../../support/harness.js';

/** Nobody lives to see the second attempt. */
class Patient extends Reconnects {
  override delayMs(): number {
    return 3_600_000;
  }
}

/** A connection to a peer that is up or down. */
function open(reconnects: Reconnects, peer: string, isUp: boolean) {
  const state = { isUp, attempts: 0 };
  const connection = new Connection({
    label: 'test',
    log: silent,
    peer,
    reconnects,
    connect: async () => {
      state.attempts++;
      if (!state.isUp) throw new Error('nobody there');
    },
    givenUp: () => {},
    attemptFailed: () => {},
    redact: nothingSecret,
  });
  connection.start();
  return { connection, state };
}

test('delays grow up to a bound and are never the same for all', () => {
  for (const [policy, bound] of [
    [new Reconnects(), 5000],
    [new Reconnects(700), 700],
  ] as const) {
    const delays = Array.from({ length: 200 }, (_, i) => policy.delayMs(i + 1));
    assert.ok(Math.max(...delays) <= bound);
    assert.ok(delays[0]! <= 200 && delays[0]! < delays[3]!);
    assert.ok(new Set(delays.slice(100)).size > 50, 'late attempts are spread');
    assert.ok(Math.min(...delays.slice(100)) > bound / 2);
  }
});

test('a connection that others use successfully is tried at once; those to another side are not', async () => {
  const reconnects = new Patient();
  const first = open(reconnects, 'broker', false);
  const other = open(reconnects, 'elsewhere', false);
  await eventually('the failed attempts', () => first.connection.status === -1 && other.connection.status === -1);
  first.state.isUp = true;
  const second = open(reconnects, 'broker', true);
  await eventually('the connection', () => first.connection.status === 1);
  assert.is(second.connection.status, 1);
  assert.is(first.state.attempts, 2);
  assert.is(other.state.attempts, 1);
  for (const { connection } of [first, second, other]) connection.stop();
});

test('a connection that was lost does not hurry: two that end each other would never stop', async () => {
  const reconnects = new Patient();
  const first = open(reconnects, 'broker', true);
  await eventually('the connection', () => first.connection.status === 1);
  first.connection.lost('taken over');
  // It hears of others once more and proves by it that the first one would have, too.
  const witness = open(reconnects, 'broker', false);
  await eventually('the failed attempt', () => witness.connection.status === -1);
  witness.state.isUp = true;
  const second = open(reconnects, 'broker', true);
  await eventually('the witness', () => witness.connection.status === 1);
  assert.is(first.state.attempts, 1);
  for (const { connection } of [first, second, witness]) connection.stop();
});

test('one cause is one line in the log, whatever was tried; another cause is another line', async () => {
  const lines: string[] = [];
  const reasons = ['ENOSPC: no space left, write', 'ENOSPC: no space left, ftruncate', 'EACCES: denied, open'];
  let attempts = 0;
  const connection = new Connection({
    label: 'sink file',
    log: { ...silent, warn: (line: string) => lines.push(line) } as Logger,
    reconnects: new Reconnects(1),
    connect: async () => {
      throw new Error(reasons[Math.min(attempts++, reasons.length - 1)]);
    },
    givenUp: () => {},
    attemptFailed: () => {},
    redact: nothingSecret,
  });
  connection.start();
  await eventually('all attempts', () => attempts > reasons.length || undefined);
  connection.stop();
  assert.equal(lines, [
    'sink file is disconnected: ENOSPC: no space left, write',
    'sink file is disconnected: EACCES: denied, open',
  ]);
});

test.run();
