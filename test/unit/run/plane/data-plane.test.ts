import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { planRule } from '../../../../host/plan/index.js';
import type { RuleStart } from '../../../../host/run/link/protocol.js';
import type { LinkedNode, NodeHandle } from '../../../../kernels/api.js';
import { FakeKernel } from '../../../support/engine/fake-kernel.js';
import { openPlane, passRule } from '../../../support/engine/plane.js';
import { catalogOf, noFold, ruleOf } from '../../../support/engine/planned-rules.js';
import { eventually, temporaryFolder } from '../../../support/harness.js';

test('reads a file to its end, writes all of it, and says that it is done', async () => {
  const folder = temporaryFolder();
  const lines = Array.from({ length: 5000 }, (_, i) => `{"id":${i}}`);
  writeFileSync(join(folder, 'in.txt'), lines.join('\n'));
  const { plane, report } = await openPlane();
  const out = join(folder, 'out.txt');
  const rule = passRule({ type: 'file', dataSource: 'in.txt', props: { path: folder, fileType: 'lines' } }, [
    { type: 'file', props: { path: out } },
  ]);
  await plane.start(rule);
  const { metrics } = await report(rule.run, 'ended');
  assert.equal(readFileSync(out, 'utf8').trimEnd().split('\n'), lines);
  assert.is(metrics.sourceRecordsInTotal, 5000);
  assert.is(metrics.sinkRecordsOutTotal, 5000);
  assert.is(metrics.sink_file_0_0_records_out_total, 5000);
  assert.is(metrics.source_demo_0_connection_status, 1);
  await plane.close();
});

test('reads a JSON array of any layout', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'in.json'), '[ {"a":"]}\\""} ,\n{"b":[1,{"c":2}]}, 5 ,"x,y"]\n');
  const { plane, report } = await openPlane();
  const out = join(folder, 'out.txt');
  const rule = passRule({ type: 'file', dataSource: 'in.json', props: { path: folder } }, [
    { type: 'file', props: { path: out } },
  ]);
  await plane.start(rule);
  await report(rule.run, 'ended');
  assert.is(readFileSync(out, 'utf8'), '{"a":"]}\\""}\n{"b":[1,{"c":2}]}\n5\n"x,y"\n');
  await plane.close();
});

test('a rule whose login changes while it starts uses the new one from the first', async () => {
  const logins = new Set<string>();
  const server = createServer((request, response) => {
    logins.add(`${request.headers.authorization}`);
    response.end('{"id":1}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const withLogin = (authorization: string) => ({ type: 'httppull', props: { url, headers: { authorization } } });
  const { plane } = await openPlane();
  const rule = passRule(withLogin('old'), [{ type: 'nop', props: {} }]);
  const started = plane.start(rule);
  plane.renew(rule.run, { sources: [{ ...rule.sources[0]!, ...withLogin('new') }], lookups: [], sinks: [] });
  await started;
  await eventually('a request', () => logins.size > 0);
  assert.equal([...logins], ['new']);
  await plane.close();
  server.close();
});

test('a missing file fails the rule with the reason', async () => {
  const { plane, report } = await openPlane();
  const rule = passRule({ type: 'file', dataSource: 'none', props: { path: temporaryFolder() } }, [
    { type: 'nop', props: {} },
  ]);
  await plane.start(rule);
  assert.match((await report(rule.run, 'failed')).reason, /file source: ENOENT/);
  await plane.close();
});

test('a stopped rule leaves nothing in the kernel', async () => {
  let kernel: FakeKernel | undefined;
  const { plane, report } = await openPlane((calls) => {
    kernel = new FakeKernel(calls);
    return kernel;
  });
  const rule = passRule({ type: 'simulator', props: { interval: 1 } }, [{ type: 'nop', props: {} }]);
  await plane.start(rule);
  await report(rule.run, 'started');
  assert.is(kernel?.memory().inUse, 2);
  await plane.stop(rule.run);
  await report(rule.run, 'stopped');
  assert.is(kernel?.memory().inUse, 0);
  await plane.close();
});

/** Notes which operators come and go. */
class NotingKernel extends FakeKernel {
  readonly notes: string[] = [];

  override addNode(parent: Parameters<FakeKernel['addNode']>[0], linked: LinkedNode): NodeHandle {
    const handle = super.addNode(parent, linked);
    const above = parent === null ? '' : 'stream' in parent ? ' below a stream' : ' below an operator';
    const into = linked.target === undefined ? '' : ` into ${this.nodes.get(linked.target)?.plan.plan.kind}`;
    this.notes.push(`+${linked.plan.kind}${above}${into}`);
    return handle;
  }

  override releaseNode(node: NodeHandle): void {
    this.notes.push(`-${this.nodes.get(node)?.plan.plan.kind}`);
    super.releaseNode(node);
  }
}

/** A rule over two simulated streams; the source of the second is of the type given. */
function joinRule(second: string): RuleStart {
  const streams = catalogOf('CREATE STREAM x () WITH (TYPE="simulator")', 'CREATE STREAM y () WITH (TYPE="simulator")');
  const sql = 'SELECT a, b FROM x INNER JOIN y ON x.id = y.id GROUP BY TUMBLINGWINDOW(ss, 10)';
  const rule = passRule({ type: 'simulator', props: { interval: 1 } }, [{ type: 'nop', props: {} }]);
  const [source] = rule.sources;
  const plan = planRule(ruleOf(sql, {}, [{ type: 'nop', props: {} }]), streams, noFold);
  return {
    ...rule,
    plan,
    sources: [
      { ...source!, name: 'x' },
      { ...source!, name: 'y', type: second },
    ],
  };
}

test('a join links a merge without a parent, a port below each stream, and goes in the reverse order', async () => {
  let kernel: NotingKernel | undefined;
  const { plane, report } = await openPlane((calls) => {
    kernel = new NotingKernel(calls);
    return kernel;
  });
  const rule = joinRule('simulator');
  await plane.start(rule);
  await report(rule.run, 'started');
  const linked = [
    '+merge',
    '+port below a stream into merge',
    '+port below a stream into merge',
    '+window below an operator',
    '+join below an operator',
    '+encode below an operator',
  ];
  assert.equal(kernel?.notes, linked);
  await plane.stop(rule.run);
  await report(rule.run, 'stopped');
  assert.equal(kernel?.notes.slice(linked.length), ['-encode', '-join', '-window', '-port', '-port', '-merge']);
  assert.is(kernel?.memory().inUse, 0);
  await plane.close();
});

test('a join whose second source cannot be made leaves nothing of the first', async () => {
  let kernel: FakeKernel | undefined;
  const { plane, report } = await openPlane((calls) => {
    kernel = new FakeKernel(calls);
    return kernel;
  });
  const rule = joinRule('nop');
  await plane.start(rule);
  assert.match((await report(rule.run, 'failed')).reason, /nop/);
  assert.is(kernel?.memory().inUse, 0);
  await plane.close();
});

test.run();
