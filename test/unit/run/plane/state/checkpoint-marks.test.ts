/** Checkpoints of several rules that count together, killed in between. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { silent } from '../../../../../host/base/log/log.js';
import { CheckpointFiles } from '../../../../../host/run/plane/state/checkpoint/files.js';
import type { CheckpointHead } from '../../../../../host/run/plane/state/checkpoint/head.js';
import { Marks } from '../../../../../host/run/plane/state/checkpoint/marks.js';
import { temporaryFolder } from '../../../../support/harness.js';

const state = Buffer.from('state');

function headOf(rule: string, epoch: number, id: string): CheckpointHead {
  const joint = { id, others: [] };
  return { rule, epoch, at: 0, stateBytes: state.length, sources: {}, sinks: {}, joint, pending: { m: 3, n: 2 } };
}

async function written(root: string, rule: string, epoch: number, id: string): Promise<CheckpointFiles> {
  const files = new CheckpointFiles(join(root, rule));
  await files.write(headOf(rule, epoch, id), [state, Buffer.from('abc'), Buffer.from('de')]);
  return files;
}

test('those that a mark names count after a kill, whether one had its name already or not', async () => {
  const root = join(temporaryFolder(), 'checkpoints');
  const a = await written(root, 'a', 4, 'x');
  const b = await written(root, 'b', 7, 'y');
  await new Marks(root).set('x', [
    { folder: 'a', epoch: 4, id: 'x' },
    { folder: 'b', epoch: 7, id: 'y' },
    { folder: 'gone', epoch: 1, id: 'z' },
  ]);
  await a.publish(4);
  await new Marks(root).finish('a', silent);
  assert.equal([(await a.list()).map(({ epoch }) => epoch), (await b.list()).map(({ epoch }) => epoch)], [[4], [7]]);
  assert.equal(readdirSync(join(root, '../checkpoint-marks')), []);
  const found = await b.read((await b.list())[0]!.path);
  assert.is(Buffer.concat([...found.state]).toString(), 'state');
  assert.equal(
    [...found.pending].map(([stream, bytes]) => [stream, bytes.toString()]),
    [
      ['m', 'abc'],
      ['n', 'de'],
    ],
  );
});

test('without a mark they do not, nor does another one of that number', async () => {
  const root = join(temporaryFolder(), 'checkpoints');
  const a = await written(root, 'a', 4, 'other');
  const b = await written(root, 'b', 7, 'y');
  await new Marks(root).set('x', [{ folder: 'a', epoch: 4, id: 'x' }]);
  await new Marks(root).finish('a', silent);
  assert.equal([await a.list(), await b.list()], [[], []]);
  assert.ok(existsSync(b.unfinished(7)));
});

test('one that is damaged is told from one that is gone', async () => {
  const root = join(temporaryFolder(), 'checkpoints');
  const files = await written(root, 'a', 4, 'x');
  await files.publish(4);
  const marks = new Marks(root);
  const name = { folder: 'a', epoch: 4 };
  assert.equal([await marks.isDamaged(name), await marks.isDamaged({ folder: 'a', epoch: 3 })], [false, false]);
  const { path } = (await files.list())[0]!;
  const bytes = readFileSync(path);
  bytes[bytes.length - 40]! ^= 1;
  writeFileSync(path, bytes);
  assert.ok(await marks.isDamaged(name));
});

test('a mark keeps no segment from checkpoints that need it, older ones and such as do not count yet', async () => {
  const root = join(temporaryFolder(), 'checkpoints');
  const rowsOf = (epoch: number) => `${String(epoch).padStart(12, '0')}.rows`;
  const put = async (epoch: number, id: string) => {
    const files = new CheckpointFiles(join(root, 'a'));
    const segment = await files.writeSegment(epoch, () => false);
    const rows = { least: 0, count: 0, segments: [segment] };
    await files.write({ ...headOf('a', epoch, id), rows }, [state, Buffer.from('abc'), Buffer.from('de')]);
    return files;
  };
  await (await put(1, 'u')).publish(1);
  await (await put(2, 'v')).publish(2);
  await put(3, 'x');
  await put(4, 'y');
  // The order of their names is not that of the checkpoints.
  await new Marks(root).set('b', [{ folder: 'a', epoch: 3, id: 'x' }]);
  await new Marks(root).set('a', [{ folder: 'a', epoch: 4, id: 'y' }]);
  await put(5, 'z');
  await new Marks(root).finish('other', silent);
  const files = new CheckpointFiles(join(root, 'a'));
  assert.equal(
    (await files.list()).map(({ epoch }) => epoch),
    [4, 3],
  );
  assert.equal(
    readdirSync(join(root, 'a')).filter((name) => name.endsWith('.rows')),
    [3, 4, 5].map(rowsOf),
  );
});

test('one that was damaged meanwhile sends the others back to the one before', async () => {
  const root = join(temporaryFolder(), 'checkpoints');
  const files = await written(root, 'a', 4, 'x');
  writeFileSync(files.unfinished(4), readFileSync(files.unfinished(4)).subarray(1));
  const marks = new Marks(root);
  await marks.set('x', [{ folder: 'a', epoch: 4, id: 'x' }]);
  await marks.finish('b', silent);
  assert.ok(await marks.isDamaged({ folder: 'a', epoch: 4 }));
});

test('a damaged mark is told, and holds up nobody', async () => {
  const root = join(temporaryFolder(), 'checkpoints');
  await new Marks(root).set('x', []);
  const lines: string[] = [];
  await new Marks(root).finish('a', { ...silent, error: (line: string) => void lines.push(line) } as typeof silent);
  assert.match(lines.join(), /x\.json is damaged/);
  assert.equal(readdirSync(join(root, '../checkpoint-marks')), []);
});

test('a mark that names folders elsewhere is damaged, and what is no file is no mark', async () => {
  const root = join(temporaryFolder(), 'checkpoints');
  const outside = await written(join(root, '..'), 'outside', 4, 'x');
  await written(root, 'a', 4, 'x');
  const marks = join(root, '../checkpoint-marks');
  await new Marks(root).set('far', [{ folder: '../outside', epoch: 4, id: 'x' }]);
  await new Marks(root).set('near', [{ folder: 'a', epoch: 4, id: 'x' }]);
  for (const name of ['folder', 'folder.json']) mkdirSync(join(marks, name));
  const lines: string[] = [];
  await new Marks(root).finish('a', { ...silent, error: (line: string) => void lines.push(line) } as typeof silent);
  assert.is(lines.length, 3);
  assert.match(lines.join(), /far\.json is damaged/);
  assert.match(lines.join(), /folder\.json is no mark/);
  assert.equal(await outside.list(), []);
  assert.ok(existsSync(outside.unfinished(4)));
  assert.is((await new CheckpointFiles(join(root, 'a')).list()).length, 1);
});

test('of a disk that refuses for long no more is left than a rule keeps', async () => {
  const root = join(temporaryFolder(), 'checkpoints');
  const marks = new Marks(root);
  for (let epoch = 1; epoch < 6; epoch++) {
    await written(root, 'a', epoch, `x${epoch}`);
    await marks.set(`m${epoch}`, [{ folder: 'a', epoch, id: `x${epoch}` }]);
    await marks.leave(`m${epoch}`, [{ folder: 'a', epoch, id: `x${epoch}` }]);
  }
  assert.equal(readdirSync(join(root, '../checkpoint-marks')), ['m4.json', 'm5.json']);
  assert.is(readdirSync(join(root, 'a')).length, 2);
  await marks.finish('a', silent);
  assert.equal(
    (await new CheckpointFiles(join(root, 'a')).list()).map(({ epoch }) => epoch),
    [5, 4],
  );
});

test.run();
