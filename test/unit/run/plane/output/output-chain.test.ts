/** What a sink with a queue tells of messages that were refused. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { AllowedPaths } from '../../../../../host/base/files/allowed-paths.js';
import { silent } from '../../../../../host/base/log/log.js';
import type { SinkContext } from '../../../../../host/connectors/running.js';
import { type ChainOwner, OutputChain } from '../../../../../host/run/plane/output/output-chain.js';
import { chunkOf } from '../../../../../host/run/plane/queue/item.js';
import { numbered } from '../../../../support/engine/cache-items.js';
import { eventually } from '../../../../support/harness.js';

test('a message that the other side refuses for good leaves the queue, the others go on', async () => {
  const refused: string[] = [];
  let makeSafe = () => {};
  let out = 0;
  const owner: ChainOwner = {
    isAcknowledged: false,
    ruleId: 'r',
    label: 'sink test',
    dynamic: new Set(),
    log: silent,
    paths: AllowedPaths.any(),
    shared: (_key, make) => make(),
    limitBytes: 1 << 20,
    measuresAll: false,
    host: {},
    taken: () => {},
    accepted: (_bytes, messages) => {
      out += messages;
    },
    failed: () => assert.unreachable(),
    refused: () => assert.unreachable(),
    lost: (message, messages, reason, safe) => {
      refused.push(`${messages}: ${reason}: ${Buffer.from(message).toString()}`);
      makeSafe = safe;
    },
    disconnected: () => {},
  };
  const cache = {
    pageMessages: 16,
    memoryMessages: 32,
    maxMessages: 1000,
    dropsOldest: false,
    isSynced: false,
    isCleanedAtStop: false,
    resendIntervalMs: 0,
  };
  let context: SinkContext | undefined;
  let got = 0;
  const chain = new OutputChain({ cache }, owner, (given) => {
    context = given;
    const write = ({ messages }: { messages: number }) => {
      got += messages;
    };
    return { open: async () => {}, write, flush: async () => {}, close: async () => {} };
  });
  await chain.open();
  chain.write(chunkOf(numbered(0, 3)));
  await eventually('handed over', () => got === 3);
  context!.accepted(0, 1);
  context!.refused(Buffer.from('{"id":1}'), 0, 1, 'no such table');
  assert.equal(refused, ['1: no such table: {"id":1}']);
  context!.accepted(0, 1);
  assert.is(out, 2);
  // Kept until its dead letter is safe, and so are those behind it.
  assert.is(chain.current!.length, 2);
  makeSafe();
  assert.is(chain.current!.length, 0);
  assert.ok(chain.current!.isIdle);
  await chain.close();
});

test.run();
