/** Checkpoints of several rules that count together, killed in between. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { CheckpointFiles, type CheckpointHead } from '../../../host/run/plane/checkpoint/files.js';
import { Marks } from '../../../host/run/plane/checkpoint/marks.js';
import { temporaryFolder } from '../../harness.js';

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
  await new Marks(root).finish();
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
  await new Marks(root).finish();
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

test.run();
