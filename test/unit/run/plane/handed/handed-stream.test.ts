/** A stream that is handed to other data planes: who reads it, and how it is held while rules move. */
import { setTimeout as after, setImmediate as turn } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Block, MemoryBus } from '../../../../../host/connectors/topics/bus.js';
import {
  blockBytes,
  blockOf,
  blocksTopic,
  kinds,
  wishBytes,
  wishesTopic,
  wishOf,
} from '../../../../../host/run/plane/handed/blocks.js';
import { type HandedContext, HandedSource } from '../../../../../host/run/plane/handed/handed-source.js';
import { HandedStream, type HandingSource } from '../../../../../host/run/plane/handed/handed-stream.js';
import { openPlane, passRule } from '../../../../support/engine/plane.js';
import { eventually } from '../../../../support/harness.js';

const key = 1;
const data = Array.from({ length: 1000 }, (_, n) => ({ n }));
const spec = { type: 'simulator', name: 'demo', isShared: true, props: { data, interval: 0, loop: true } };
const retriedMs = 150;

test('what a source writes while it is held is worked on when the hold is over', async () => {
  const { plane, report } = await openPlane();
  const rule = passRule(spec, [{ type: 'nop', props: {} }]);
  await plane.start(rule);
  const { sources, plan } = rule;
  const keeper = { ...passRule(spec, [{ type: 'nop', props: {} }]), sinks: [], isTable: true, hands: key, sources };
  await plane.start({ ...keeper, plan: { ...plan, nodes: [], operators: [] } });
  await report(keeper.run, 'started');
  const rows = () => Number(plane.status(rule.run)!.metrics.sourceRecordsInTotal);
  await eventually('rows', () => rows() > 0);
  assert.ok(await plane.hold(keeper.run, []));
  const before = rows();
  await after(50);
  assert.is(rows(), before);
  plane.release(keeper.run, []);
  await eventually('more rows', () => rows() > before);
  await plane.close();
});

/** As much of a kernel as saves and loads the state of a stream, which is empty. */
const fakeKernel = {
  unreadBytes: () => 0,
  saving: {
    kernel: { saveBegin: () => 0, streamSave: () => {}, saveEnd: () => {} },
    state: { begin: () => {} },
    run: (_what: string, call: () => void) => call(),
    streams: new Map([[1, {}]]),
  },
  loadNode: () => ({ failed: [] }),
};

/** Subscribes to what goes to data plane 1, and notes the sessions that begin. */
function handed() {
  const bus = new MemoryBus();
  const sessions: number[] = [];
  const deliver = ({ bytes, taken }: Block) => {
    const { session, kind } = blockOf(bytes);
    if (kind === kinds.begin) sessions.push(session);
    taken();
  };
  bus.subscribe(blocksTopic(key, 1), { deliver });
  const state = { unread: 0, isHeld: false };
  const source = {
    shared: () => bus,
    form: { framing: 'frames' },
    stream: 1,
    host: { kernel: { ...fakeKernel, unreadBytes: () => state.unread } },
    branches: { all: new Set() },
    connection: { status: 1, lastMessage: '' },
    settle: () => {},
    hold: (isHeld: boolean) => {
      state.isHeld = isHeld;
    },
    whenWorkedOn: async () => true,
    sinkIsFull: () => {},
  };
  const stream = new HandedStream(source as unknown as HandingSource, key);
  const wish = (session: number, isWanted: boolean) =>
    bus.publish(wishesTopic(key), wishBytes({ plane: 1, session, isWanted }), () => {});
  return { stream, state, sessions, wish };
}

test('a begin that had to wait takes nothing from the session that has begun meanwhile', async () => {
  const { stream, state, sessions, wish } = handed();
  state.unread = 1;
  wish(11, true);
  await turn();
  state.unread = 0;
  wish(12, true);
  await after(retriedMs);
  assert.equal(sessions, [12]);
  stream.close();
});

test('a reader that has left is not taken for the one that a release waits for', async () => {
  const { stream, state, sessions, wish } = handed();
  wish(11, true);
  await turn();
  await stream.hold();
  wish(11, false);
  const released = stream.release([1]);
  await after(10);
  assert.ok(state.isHeld, 'nobody reads it there yet');
  wish(12, true);
  await released;
  assert.equal(sessions, [11, 12]);
  assert.not.ok(state.isHeld);
  stream.close();
});

test('a block counts as taken when the last of it had its turn', async () => {
  const bus = new MemoryBus();
  let session = 0;
  bus.subscribe(wishesTopic(key), {
    deliver: ({ bytes, taken }) => {
      session = wishOf(bytes).session;
      taken();
    },
  });
  let hadTurn = () => {};
  const context = {
    shared: () => bus,
    form: { framing: 'frames' },
    host: { kernel: fakeKernel },
    connection: { status: 0, hurry: () => {} },
    isClosed: false,
    isFull: false,
    resetInput: () => {},
    write: () => {
      context.isFull = true;
    },
    whenTaken: () =>
      new Promise<boolean>((resolve) => {
        hadTurn = () => resolve(true);
      }),
  };
  const source = new HandedSource(context as unknown as HandedContext, { key, from: 0, to: 1 });
  const opened = source.open();
  let isTaken = false;
  const publish = (kind: number, done = () => {}) => bus.publish(blocksTopic(key, 1), blockBytes(session, kind), done);
  publish(kinds.begin);
  publish(kinds.up);
  await opened;
  publish(kinds.input, () => {
    isTaken = true;
  });
  await eventually('the write', () => context.isFull);
  await turn();
  assert.not.ok(isTaken, 'some of it waits');
  hadTurn();
  await turn();
  assert.ok(isTaken);
  await source.close();
});

test.run();
