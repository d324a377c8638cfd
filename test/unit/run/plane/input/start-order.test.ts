/** Rules that start together and share a stream: it begins when all of them are there. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import '../../../../../host/connectors/index.js';
import type { RuleStart, SinkSpec } from '../../../../../host/run/link/protocol.js';
import { asRenewed, StartOrder } from '../../../../../host/run/plane/input/start-order.js';

const ruleOf = (run: number, stream: string, isShared = true) =>
  ({ run, sources: [{ name: stream, isShared, type: 'mqtt', props: {} }], sinks: [] }) as unknown as RuleStart;

/** Says whether the stream may begin, after a turn of all timers that were due. */
async function mayBegin(order: StartOrder, stream: string): Promise<boolean> {
  let begins = false;
  void order.sharersOf(stream).then(() => {
    begins = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 0));
  return begins;
}

test('a shared stream waits for all rules that start and share it, and for no others', async () => {
  const order = new StartOrder(new Set());
  assert.ok(await mayBegin(order, 's'), 'nobody starts');
  order.begin(ruleOf(1, 'other'));
  order.begin(ruleOf(2, 's', false));
  assert.ok(await mayBegin(order, 's'), 'rules of other streams');
  const begun = [order.begin(ruleOf(3, 's')), order.begin(ruleOf(4, 's'))] as const;
  assert.not(await mayBegin(order, 's'));
  const all = order.sharersOf('s');
  order.end(3);
  assert.not(await mayBegin(order, 's'));
  begun[1].isStopped = true;
  await all;
});

test('while the rules of the server are still being sent, all shared streams wait', async () => {
  const order = new StartOrder(new Set());
  order.isMoreComing = true;
  assert.not(await mayBegin(order, 's'));
  const all = order.sharersOf('s');
  order.isMoreComing = false;
  await all;
});

test('sinks of a rule that starts take a new password, and nothing else of what they would be now', () => {
  const sinkOf = (props: object) => ({ type: 'mqtt', props: { server: 'tcp://127.0.0.1:1883', ...props } }) as SinkSpec;
  const cache = { bufferBytes: 1 };
  const old = [sinkOf({ topic: 'a', password: 'old' }), sinkOf({ topic: 'b', password: 'old' })];
  const order = new StartOrder(new Set());
  const entry = order.begin({ ...ruleOf(1, 's'), sinks: old.map((sink) => ({ ...sink, cache })) } as never);
  for (const password of ['second', 'third']) {
    const sinks = [sinkOf({ topic: 'a', password }), sinkOf({ topic: 'other', password })];
    entry.renewals.push({ sources: [], lookups: [], sinks });
  }
  const [first, second] = asRenewed(entry).sinks;
  assert.equal(first, { ...sinkOf({ topic: 'a', password: 'third' }), cache });
  assert.equal(second, { ...old[1], cache });
});

test.run();
