/** Input that is to be acknowledged is held by the nodes that gather rows of it, and no others are asked. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { AllowedPaths } from '../../../../../host/base/files/allowed-paths.js';
import { silent } from '../../../../../host/base/log/log.js';
import type { Connector } from '../../../../../host/connectors/define.js';
import { Gathering } from '../../../../../host/run/plane/acknowledge/gathering.js';
import { Reconnects } from '../../../../../host/run/plane/connect/reconnects.js';
import type { SourceHost } from '../../../../../host/run/plane/feed/source-host.js';
import { SourceRun } from '../../../../../host/run/plane/input/source-run.js';
import type { InputAtWork } from '../../../../../host/run/plane/running/running.js';
import type { NodeHandle } from '../../../../../kernels/api.js';
import { FakeKernel } from '../../../../support/engine/fake-kernel.js';

/** Says that some nodes gather, and counts who is asked for its batch. */
class GatheringKernel extends FakeKernel {
  holding: number[] = [];
  asked: number[] = [];

  override gathering(): readonly NodeHandle[] {
    return this.holding as NodeHandle[];
  }

  override gatheredBatch(node: NodeHandle): number {
    this.asked.push(node);
    return this.holding.includes(node) ? 1 : 0;
  }
}

test('a chunk asks the nodes that gather rows now, not all that may', () => {
  const kernel = new GatheringKernel({} as never);
  const connector = {
    name: 'test',
    source: {
      props: {},
      form: () => ({ framing: 'lines' }),
      create: () => ({ open: async () => {}, close: async () => {} }),
    },
  } as unknown as Connector;
  const gathers: Gathering[] = [];
  let waits = 0;
  let atWork: InputAtWork | undefined;
  const host = {
    kernel,
    log: silent,
    coalesceMs: 0,
    reconnects: new Reconnects(),
    now: () => 1000,
    paths: AllowedPaths.any(),
    work: (_whose: unknown, call: () => void, input?: InputAtWork) => {
      atWork = input;
      call();
    },
    gathers: (gathering: Gathering) => gathers.push(gathering),
    holdWaiting: () => {},
    waits: () => waits++,
    tried: () => {},
    userCalls: { makerOf: () => undefined },
  } as unknown as SourceHost;
  const spec = { name: 's', type: 'test', dataSource: '', props: {}, isShared: false, format: 'json', schema: null };
  const source = new SourceRun({ ...spec, strict: false } as never, connector, host, 's');
  source.start();
  const acknowledged: number[] = [];
  source.onAcknowledge((ids) => acknowledged.push(...ids));
  for (let node = 1; node <= 1000; node++) {
    source.gatherings.set(node as NodeHandle, new Gathering(node as NodeHandle, [], kernel));
  }
  const write = (id: number) => {
    const feed = kernel.feed.bind(kernel);
    kernel.feed = (...args) => {
      source.taken(new Uint32Array([id]), atWork?.barrier);
      return feed(...args);
    };
    source.write(Buffer.from('{"a":1}\n'));
    kernel.feed = feed;
  };
  write(1);
  assert.equal([kernel.asked, acknowledged], [[], [1]]);
  // 5000 is below the stream, but keeps no messages.
  kernel.holding = [17, 400, 5000];
  write(2);
  assert.equal([kernel.asked, acknowledged, waits], [[17, 400], [1], 1]);
  assert.equal(
    gathers.map(({ node }) => node),
    [17, 400],
  );
  kernel.holding = [];
  for (const gathering of gathers) gathering.settle();
  assert.equal(acknowledged, [1, 2]);
});

test.run();
