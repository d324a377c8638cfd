/** Faults of a folder of images, whose disk is full. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { sinkFaults } from '../../../support/connectors/faults/sinks.js';
import { Site } from '../../../support/connectors/faults/site.js';
import { announceSkip, eventually, temporaryFolder } from '../../../support/harness.js';
import { fillDisk, smallDisk } from '../../../support/small-disk.js';

const none = async () => {};
const images = 'it takes images: the tests below send some';
sinkFaults(
  test,
  'image',
  async () => ({
    props: { path: join(temporaryFolder(), 'images') },
    arrived: () => [],
    ...{ start: none, kill: none, pause: () => {}, resume: () => {}, close: none },
  }),
  {
    lacks: {
      ...{ rows: images, absence: images, restart: images, rejects: images, full: images, empty: images },
      kill: 'a disk has no process',
      hang: 'a disk that hangs stops its whole process',
      refusal: 'a folder has no login',
      tls: 'a folder is no connection',
    },
  },
);

/** A JPEG with a number as its comment. */
function imageOf(number: number): Buffer {
  const comment = Buffer.from(String(number).padStart(9, '0'));
  const scan = Buffer.of(0xff, 0xda, 0, 3, 1, 7, 7, 0xff, 0, 7, 0xff, 0xd9);
  return Buffer.concat([Buffer.of(0xff, 0xd8, 0xff, 0xfe, 0, comment.length + 2), comment, scan]);
}

/** Numbers of the whole images of a folder. */
function numbersIn(folder: string): number[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.jpeg'));
  return names.map((name) => Number(readFileSync(join(folder, name)).toString('latin1', 6, 15))).sort((a, b) => a - b);
}

/** Has a rule write images with numbers up to the count. */
async function write(site: Site, count: number, path: string): Promise<string> {
  const file = join(site.server.data, 'images.lines');
  const lines = Array.from({ length: count }, (_, i) => `{"image":"${imageOf(i).toString('base64')}"}\n`);
  writeFileSync(file, lines.join(''));
  await site.ask('PUT', '/metadata/sources/file/confKeys/images', { fileType: 'lines', sendInterval: 1 });
  const options = `DATASOURCE="${file}", TYPE="file", FORMAT="json", CONF_KEY="images"`;
  await site.ask('POST', '/streams', { sql: `CREATE STREAM images (image BYTEA) WITH (${options})` });
  return site.rule('images', { image: { path, sendSingle: true, maxCount: 0 } });
}

/** A folder that can't be written for a while: nothing is lost, and nothing comes twice. */
async function survives(path: string, reason: RegExp, spoil: () => void, mend: () => void): Promise<void> {
  const site = await Site.open();
  const count = 500;
  const id = await write(site, count, path);
  await eventually('some images', async () => Number(await site.figure(id, 'sink', 'records_out_total')) > 20);
  spoil();
  await eventually('the reason', async () => reason.test(JSON.stringify(await site.status(id))));
  await site.worksBeside();
  mend();
  await eventually('all images', async () => (await site.figure(id, 'sink', 'records_out_total')) === count);
  await site.delete(id);
  assert.equal(
    numbersIn(path),
    Array.from({ length: count }, (_, i) => i),
  );
  await site.server.stop();
}

const disk = smallDisk(join(temporaryFolder(), 'small'), '16m');
test.after(() => disk?.unmount());
if (disk === undefined) announceSkip('a full disk of images', 'no small disk can be mounted here');
else {
  test('image sink: images wait while the disk is full', () =>
    survives(
      join(disk.path, 'images'),
      /ENOSPC|no space/i,
      () => fillDisk(disk.path),
      () => rmSync(join(disk.path, 'filler')),
    ));
}

test.run();
