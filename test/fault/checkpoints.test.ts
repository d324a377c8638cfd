/** Checkpoints when parts of the engine fail: the thread of the data plane, the disk, sinks. */
import {
  appendFileSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { RuleStatus } from '../../host/model/engine.js';
import type { Loss } from '../../host/model/losses.js';
import { openEngine, ruleOf, type TestEngine } from '../support/engine/engine-harness.js';
import { eventually, temporaryFolder } from '../support/harness.js';

let opened: TestEngine;
let data: string;
test.before.each(() => {
  data = temporaryFolder();
  opened = openEngine({ folders: { data } });
});
test.after.each(() => opened.close());

const options = { qos: 1, checkpointIntervalMs: 50 };
const collect = 'SELECT collect(id) AS ids FROM s GROUP BY COUNTWINDOW(4)';

/** A stream of the lines in a file, which is looked at again after an hour. */
function fileStream(isShared: boolean): void {
  writeFileSync(join(data, 'in'), '{"id":0}\n{"id":1}\n{"id":2}\n');
  const shared = isShared ? ', SHARED="true"' : '';
  opened.stream(`CREATE STREAM s () WITH (TYPE="file", DATASOURCE="in", CONF_KEY="s"${shared})`, {
    path: data,
    fileType: 'lines',
    interval: 3_600_000,
  });
}

const append = (id: number) => appendFileSync(join(data, 'in'), `{"id":${id}}\n`);
const textOf = (name: string): string => {
  try {
    return readFileSync(join(data, name), 'utf8');
  } catch {
    return '';
  }
};

test('the death of the thread costs no row of windows, also of rules that share a stream', async () => {
  fileStream(true);
  for (const id of ['a', 'b']) opened.run(id, collect, [['file', { path: join(data, id) }]], options);
  for (const id of ['a', 'b']) {
    await opened.figure(id, 'source_s_0_records_in_total', (value) => value === 3);
    await opened.figure(id, 'checkpointsTotal', (value) => value > 0);
  }
  // Read when the thread is another one.
  append(3);
  await opened.engine.planes.first.kill();
  for (const id of ['a', 'b']) {
    await eventually(`the window of rule ${id}`, () => textOf(id) !== '');
    assert.is(textOf(id), '[{"ids":[0,1,2,3]}]\n');
  }
});

test('a checkpoint does not count before its output is with the sink', async () => {
  fileStream(false);
  opened.run('r', 'SELECT id FROM s', [['mqtt', { server: 'tcp://127.0.0.1:1', topic: 't' }]], {
    ...options,
    forceExitTimeoutMs: 100,
  });
  await opened.figure('r', 'source_s_0_records_in_total', (value) => value === 3);
  const before = opened.engine.planes.first.threadId;
  await opened.engine.planes.first.kill();
  await eventually('another thread', () => opened.engine.planes.first.threadId !== before);
  // All rows come again: nobody has them.
  await opened.figure('r', 'source_s_0_records_in_total', (value) => value === 3);
  assert.is((await opened.engine.status('r')).metrics.checkpointsTotal, 0);
});

test('a disk that takes no checkpoint is told in the status, and so is that it does again', async () => {
  fileStream(false);
  const folder = join(data, 'checkpoints');
  opened.run('r', collect, [['file', { path: join(data, 'out') }]], options);
  await opened.figure('r', 'source_s_0_records_in_total', (value) => value === 3);
  await opened.figure('r', 'checkpointsTotal', (value) => value > 0);
  rmSync(folder, { recursive: true });
  writeFileSync(folder, '');
  assert.is(await opened.engine.resetSource('r', 's', {}), undefined);
  const failure = async () => String((await opened.engine.status('r')).metrics.lastCheckpointFailure);
  await eventually('the failure', async () => (await failure()) !== '');
  assert.match(await failure(), /no checkpoint could be written: E[A-Z]+/);
  assert.ok((await opened.engine.status('r')).troubles.some((text) => text.includes('no checkpoint')));
  assert.is(opened.engine.state('r'), 'running');
  rmSync(folder);
  await eventually('a checkpoint', async () => (await failure()) === '', 30_000);
});

test('a symbolic link in place of the folder of a rule is not followed, at its start and while it runs', async () => {
  fileStream(false);
  const elsewhere = temporaryFolder();
  const folder = join(data, 'checkpoints', 'r');
  const sink: [string, Record<string, unknown>] = ['file', { path: join(data, 'out') }];
  opened.run('r', collect, [sink], options);
  await opened.figure('r', 'source_s_0_records_in_total', (value) => value === 3);
  await opened.figure('r', 'checkpointsTotal', (value) => value > 0);
  renameSync(folder, join(elsewhere, 'r'));
  symlinkSync(join(elsewhere, 'r'), folder);
  const before = readdirSync(join(elsewhere, 'r'));
  assert.is(await opened.engine.resetSource('r', 's', {}), undefined);
  const failure = async () => String((await opened.engine.status('r')).metrics.lastCheckpointFailure);
  await eventually('the failure', async () => (await failure()) !== '');
  assert.match(await failure(), `no checkpoint could be written: ${folder} is a symbolic link`);
  await opened.engine.stop('r');
  opened.engine.start('r');
  const { message } = await opened.reach('r', 'stopped by error');
  assert.match(message, `${folder} is a symbolic link`);
  assert.equal(readdirSync(join(elsewhere, 'r')), before);
  rmSync(folder);
  renameSync(join(elsewhere, 'r'), folder);
  append(3);
  opened.engine.start('r');
  await eventually('the window', () => textOf('out').endsWith('[{"ids":[0,1,2,3]}]\n'));
});

const flip = (path: string, at: number) => {
  const bytes = readFileSync(path);
  bytes[at < 0 ? bytes.length + at : at]! ^= 1;
  writeFileSync(path, bytes);
};

/** Runs a rule until it has two checkpoints, and again after something was done to them, the newest first. */
async function damaged(
  damage: (newest: string, older: string) => void,
): Promise<{ losses: Loss[]; status: RuleStatus }> {
  fileStream(false);
  const losses: Loss[] = [];
  opened.engine.onLoss = (loss) => losses.push(loss);
  opened.run('r', collect, [['file', { path: join(data, 'out') }]], options);
  await opened.figure('r', 'checkpointsTotal', (value) => value > 0);
  await opened.engine.stop('r');
  append(9);
  opened.engine.start('r');
  await opened.figure('r', 'checkpointsTotal', (value) => value > 0);
  await opened.engine.stop('r');
  const folder = join(data, 'checkpoints', 'r');
  const [older, newest] = readdirSync(folder).sort();
  damage(join(folder, newest!), join(folder, older!));
  opened.engine.start('r');
  const status = await opened.reach('r', 'running');
  return { losses, status };
}

test('a rule whose checkpoints are damaged says in its status that it began without its state', async () => {
  const { losses, status } = await damaged((newest, older) => {
    for (const path of [newest, older]) flip(path, -40);
  });
  const { stateAtStart } = status.metrics;
  assert.match(
    String(stateAtStart),
    /^began without its state: the checkpoint \S+ can't be used: its bytes are damaged; the /,
  );
  assert.is(String(stateAtStart).split("can't be used").length, 3, 'both are named');
  assert.equal(
    losses.map(({ resource, name, what }) => [resource, name, what]),
    [['rule', 'r', 'state']],
  );
  // It stays there when checkpoints are written again.
  await opened.figure('r', 'checkpointsTotal', (value) => value > 0);
  assert.is((await opened.engine.status('r')).metrics.stateAtStart, stateAtStart);
  assert.is((await opened.engine.status('r')).metrics.lastCheckpointFailure, '');
});

test('a rule that goes on from the checkpoint before says so, and why', async () => {
  const { losses, status } = await damaged((newest) => flip(newest, -40));
  assert.match(
    String(status.metrics.stateAtStart),
    /^goes on with its state of \S+; newer ones can't be used: .* damaged$/,
  );
  assert.equal(
    losses.map(({ name, what }) => [name, what]),
    [['r', 'newestState']],
  );
});

test('checkpoints of a newer release are told as such', async () => {
  const { losses, status } = await damaged((newest, older) => {
    for (const path of [newest, older]) {
      const bytes = readFileSync(path);
      bytes.writeUInt32LE(99, 8);
      writeFileSync(path, bytes);
    }
  });
  const text = /a newer release has written it, in format 99, and this one knows those up to \d+/;
  assert.match(String(status.metrics.stateAtStart), text);
  assert.match(losses[0]!.reason, text);
});

test('what a rule kept before it was set to qos 0 does not come back with qos 1', async () => {
  fileStream(false);
  const sink: [string, Record<string, unknown>] = ['file', { path: join(data, 'out') }];
  opened.run('r', collect, [sink], options);
  await opened.figure('r', 'source_s_0_records_in_total', (value) => value === 3);
  for (const qos of [0, 1]) {
    opened.engine.define(ruleOf('r', collect, [sink], { ...options, qos }));
    await opened.engine.restart('r');
    await opened.figure('r', 'source_s_0_records_in_total', (value) => value === 3);
  }
});

test('a rule that read its file to the end reads at its next start what was appended', async () => {
  writeFileSync(join(data, 'in'), '{"id":0}\n{"id":1}\n{"id":2}\n');
  const sql = 'CREATE STREAM s () WITH (TYPE="file", DATASOURCE="in", CONF_KEY="s")';
  opened.stream(sql, { path: data, fileType: 'lines' });
  opened.run('r', 'SELECT id FROM s', [['file', { path: join(data, 'out'), sendSingle: true }]], {
    ...options,
    qos: 2,
  });
  await opened.reach('r', 'stopped');
  append(3);
  opened.engine.start('r');
  await eventually('the new line', () => textOf('out').endsWith('{"id":3}\n'));
  assert.is(textOf('out'), '{"id":0}\n{"id":1}\n{"id":2}\n{"id":3}\n');
});

test('the state of a rule with qos 0 is kept over a stop that is to keep it, once', async () => {
  fileStream(false);
  opened.run('r', collect, [['file', { path: join(data, 'out') }]], { enableSaveStateBeforeStop: true });
  await opened.figure('r', 'source_s_0_records_in_total', (value) => value === 3);
  await opened.engine.stop('r');
  append(3);
  opened.engine.start('r');
  await eventually('the window', () => textOf('out') === '[{"ids":[0,1,2,3]}]\n');
  // What was kept then is old now.
  await opened.engine.planes.first.kill();
  await opened.figure('r', 'source_s_0_records_in_total', (value) => value === 4);
});

test('an interval longer than any timer of the system takes is waited for all the same', async () => {
  opened.stream('CREATE STREAM n () WITH (TYPE="simulator", CONF_KEY="n")', { data: [{ id: 1 }], interval: 5 });
  opened.run('r', 'SELECT count(*) AS n FROM n GROUP BY COUNTWINDOW(10000)', [['nop', {}]], {
    qos: 1,
    checkpointIntervalMs: 1_000_000 * 3_600_000,
  });
  await opened.figure('r', 'source_n_0_records_in_total', (value) => value > 50);
  await opened.figure('r', 'checkpointsTotal', (value) => value === 0);
});

test(
  'a rule with much state brings it to disk in pieces before it ends: at the end it is only what has changed ' +
    'since',
  async () => {
    const row = (id: number) => `{"id":${id},"text":"${'x'.repeat(1000)}"}\n`;
    writeFileSync(join(data, 'in'), Array.from({ length: 20_000 }, (_, id) => row(id)).join(''));
    opened.stream('CREATE STREAM s () WITH (TYPE="file", DATASOURCE="in", CONF_KEY="s", SHARED="true")', {
      path: data,
      fileType: 'lines',
      interval: 3_600_000,
    });
    const sql = 'SELECT id, text FROM s GROUP BY COUNTWINDOW(1000000)';
    opened.run('r', sql, [['nop', {}]], { qos: 1, checkpointIntervalMs: 3_600_000 });
    await opened.figure('r', 'source_s_0_records_in_total', (value) => value === 20_000);
    assert.is((await opened.engine.status('r')).metrics.checkpointsTotal, 0);
    await opened.engine.stop('r');
    const folder = join(data, 'checkpoints', 'r');
    const sizes = readdirSync(folder).map((name) => [name, statSync(join(folder, name)).size] as const);
    const states = sizes.filter(([name]) => name.endsWith('.checkpoint'));
    assert.is(states.length, 2, JSON.stringify(sizes));
    const segments = sizes.filter(([name]) => !name.endsWith('.checkpoint'));
    assert.is(segments.length, 1, 'the rows are there once');
    assert.ok(segments[0]![1] > 20_000_000 && states.every(([, size]) => size < 100_000), JSON.stringify(sizes));
    opened.engine.start('r');
    const { metrics } = await eventually('the state', async () => {
      const status = await opened.engine.status('r');
      return status.status === 'running' && Number(status.metrics.stateBytes) > 20_000_000 ? status : undefined;
    });
    assert.is(metrics.exceptionsTotal, 0);
    assert.match(opened.engine.restored('r'), /^goes on with its state of /);
  },
);

test(
  'a rule with much state whose sink is away is not held up at its end by a checkpoint that can not ' + 'count',
  async () => {
    const row = (id: number) => `{"id":${id},"text":"${'x'.repeat(1000)}"}\n`;
    writeFileSync(join(data, 'in'), Array.from({ length: 6000 }, (_, id) => row(id)).join(''));
    opened.stream('CREATE STREAM s () WITH (TYPE="file", DATASOURCE="in", CONF_KEY="s")', {
      path: data,
      fileType: 'lines',
      interval: 3_600_000,
    });
    const sql = 'SELECT id, text FROM s GROUP BY SLIDINGWINDOW(hh, 1) OVER (WHEN id = 5)';
    const away = { server: 'tcp://127.0.0.1:1', topic: 't' };
    opened.run('r', sql, [['mqtt', away]], { ...options, checkpointIntervalMs: 3_600_000, forceExitTimeoutMs: 100 });
    await opened.figure('r', 'source_s_0_records_in_total', (value) => value === 6000);
    assert.ok(Number((await opened.engine.status('r')).metrics.stateBytes) > 4 << 20);
    const stopped = opened.engine.stop('r').then(() => true);
    const late = new Promise<false>((resolve) => setTimeout(() => resolve(false), 20_000).unref());
    assert.ok(await Promise.race([stopped, late]), 'it has ended before the checkpoint is given up');
  },
);

test.run();
