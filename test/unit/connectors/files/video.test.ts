/** Videos: how images are told apart, what ffmpeg may read, what becomes of a program that ends, hangs or is slow. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { AllowedPaths } from '../../../../host/base/files/allowed-paths.js';
import { nextFrame } from '../../../../host/connectors/messages/frames.js';
import type { SourceContext } from '../../../../host/connectors/running.js';
import { argumentsOf, type VideoInput } from '../../../../host/connectors/video/arguments.js';
import { ImageSplitter } from '../../../../host/connectors/video/image-splitter.js';
import { inputArgsReason, urlReason } from '../../../../host/connectors/video/input.js';
import { VideoSource } from '../../../../host/connectors/video/source.js';
import { sourceContract } from '../../../support/connectors/contract.js';
import { eventually, temporaryFolder } from '../../../support/harness.js';
import { makeImage, makeVideo, needsFfmpeg } from '../../../support/servers/ffmpeg.js';

if (!needsFfmpeg('the video connector')) process.exit(0);

const folder = temporaryFolder();
const video = join(folder, 'video.mp4');
test.before(() => makeVideo(video, 1));

sourceContract(
  test,
  () => ({
    type: 'video',
    dataSource: '',
    props: { url: video },
    refused: [
      [{}, /url is required/],
      [{ url: 'lavfi://testsrc' }, /url must be a path, or begin with one of/],
      [{ url: 'concat:/a|/b' }, /url must be a path/],
      [{ url: 'rtsp://x', codec: 'h264' }, /codec must be one of mjpeg, png/],
      [{ url: 'rtsp://x', inputArgs: { report: '' } }, /inputArgs must not have report/],
      [{ url: 'rtsp://x', interval: 'soon' }, /interval must be a duration/],
    ],
  }),
  'video',
);

test('what could read or write other files is refused', () => {
  for (const url of ['', 'pipe:0', 'fd:3', 'file:a', 'subfile,,start,0,end,9,,:/etc/passwd', 'tee:/x', 'data:,x']) {
    assert.ok(urlReason(url) !== undefined, url);
  }
  for (const url of ['rtsp://me:secret@h/1', 'https://h/a.m3u8', '/a/b.mp4', 'a.mp4', 'file:///a.mp4']) {
    assert.is(urlReason(url), undefined, url);
  }
  for (const inputArgs of [
    { protocol_whitelist: 'file' },
    { i: '/etc/passwd' },
    { f: 'lavfi' },
    { f: 'concat' },
    { y: '' },
    { dump_attachment: '/x' },
    { filter_complex: 'movie=/etc/passwd' },
    { 'f mjpeg /tmp/x': '' },
    { timeout: { a: 1 } },
    { timeout: '' },
  ]) {
    assert.ok(inputArgsReason(inputArgs) !== undefined, JSON.stringify(inputArgs));
  }
  assert.is(inputArgsReason({ rtsp_transport: 'tcp', re: '', f: 'mpegts', timeout: 5 }), undefined);
  const input = {
    url: 'rtsp://h/1',
    interval: 500,
    codec: 'mjpeg',
    inputArgs: { re: '', timeout: -1 },
    debugResp: false,
  };
  assert.match(argumentsOf(input, undefined).join(' '), / -re -timeout -1 -i rtsp:\/\/h\/1 .* -vf fps=1000\/500 /);
});

test('a playlist does not lead to a file of the machine', () => {
  const secret = join(folder, 'secret.mp4');
  makeVideo(secret, 1);
  const list = join(folder, 'list.m3u8');
  writeFileSync(list, `#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile://${secret}\n#EXT-X-ENDLIST\n`);
  const concat = join(folder, 'list.ffconcat');
  writeFileSync(concat, `ffconcat version 1.0\nfile secret.mp4\n`);
  for (const path of [list, concat]) {
    const input = { url: path, interval: 0, codec: 'mjpeg', inputArgs: {}, debugResp: false };
    const made = spawnSync('ffmpeg', argumentsOf(input, path));
    assert.is.not(made.status, 0);
    assert.is(made.stdout.length, 0, made.stderr.toString());
  }
});

for (const codec of ['mjpeg', 'png'] as const) {
  test(`images are told apart however they are cut, ${codec}`, () => {
    const image = makeImage(codec);
    fc.assert(
      fc.property(fc.nat(4), fc.array(fc.integer({ min: 1, max: 3000 })), (count, cuts) => {
        const all = Buffer.concat([Buffer.from('noise'), ...Array.from({ length: count }, () => image)]);
        const splitter = new ImageSplitter(codec);
        const found: Buffer[] = [];
        let at = 0;
        for (const cut of [...cuts, all.length]) {
          for (const one of splitter.add(Buffer.from(all.subarray(at, at + cut)))) found.push(Buffer.from(one));
          at = Math.min(all.length, at + cut);
        }
        assert.is(found.length, count);
        assert.ok(found.every((one) => one.equals(image)));
      }),
      { numRuns: 100 },
    );
  });
}

interface Opened {
  readonly source: VideoSource;
  readonly images: Buffer[];
  readonly metas: unknown[];
  readonly lost: string[];
  isFull: boolean;
  resume: () => void;
}

function opened(conf: Partial<VideoInput>): Opened {
  const at: Opened = { images: [], metas: [], lost: [], isFull: false, resume: () => {} } as unknown as Opened;
  const context = {
    paths: AllowedPaths.any(),
    log: { info: () => {}, warn: () => {}, debug: () => {}, error: () => {} },
    write: (bytes: Uint8Array) => {
      const { payload, meta } = nextFrame(Buffer.from(bytes), 0)!;
      at.images.push(payload);
      at.metas.push(JSON.parse(meta.toString()));
      return !at.isFull;
    },
    ready: () => new Promise<void>((resolve) => Object.assign(at, { resume: resolve })),
    disconnected: (reason: string) => void at.lost.push(reason),
  } as unknown as SourceContext;
  const all = { url: video, interval: 0, codec: 'mjpeg', inputArgs: {}, debugResp: false, ...conf };
  return Object.assign(at, { source: new VideoSource(all, context) });
}

test('each image of a video comes, again and again, or one in each interval', async () => {
  const every = opened({ codec: 'png' });
  await every.source.open();
  await eventually('two rounds', () => every.images.length >= 20);
  assert.ok(every.images.every((image) => image.toString('latin1', 1, 4) === 'PNG'));
  assert.equal(every.metas[0], { url: video });
  await every.source.close();
  const some = opened({ interval: 500 });
  await some.source.open();
  await eventually('the images', () => some.images.length >= 2);
  assert.ok(some.images[0]!.subarray(0, 2).equals(Buffer.of(0xff, 0xd8)));
  await some.source.close();
  assert.equal(some.lost, []);
});

test('a rule that is full makes the program wait', async () => {
  const long = join(folder, 'long.mp4');
  makeVideo(long, 60);
  const slow = opened({ url: long, codec: 'png' });
  slow.isFull = true;
  await slow.source.open();
  await eventually('an image', () => slow.images.length === 1);
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.is(slow.images.length, 1);
  slow.isFull = false;
  slow.resume();
  await eventually('the others', () => slow.images.length > 100);
  await slow.source.close();
});

test('an address without a video is told with what ffmpeg says, without its password', async () => {
  const lost = opened({ url: 'rtsp://me:sec@ret@127.0.0.1:1/x?token=hidden', inputArgs: { timeout: 1_000_000 } });
  await lost.source.open().then(
    () => assert.unreachable('there is no video'),
    (error: Error) => {
      assert.match(error.message, /Connection refused/);
      assert.not.match(error.message, /sec@|ret@|hidden/);
    },
  );
  await lost.source.close();
  const text = join(folder, 'text.mp4');
  writeFileSync(text, 'no video');
  const none = opened({ url: text });
  await none.source.open().then(
    () => assert.unreachable('there is no video'),
    (error: Error) => assert.match(error.message, /Invalid data/),
  );
  await none.source.close();
});

/** Runs with another program in the place of ffmpeg. */
async function withProgram(script: string | undefined, run: () => Promise<void>): Promise<void> {
  const bin = join(temporaryFolder(), 'bin');
  mkdirSync(bin);
  const { PATH } = process.env;
  if (script !== undefined) {
    writeFileSync(join(bin, 'ffmpeg'), `#!/bin/sh\n${script}\n`);
    chmodSync(join(bin, 'ffmpeg'), 0o755);
    for (const tool of ['sh', 'sleep', 'cat', 'echo']) {
      const at = PATH!.split(delimiter).map((one) => join(one, tool));
      const found = at.find((path) => spawnSync('test', ['-x', path]).status === 0);
      if (found !== undefined) symlinkSync(found, join(bin, tool));
    }
  }
  process.env.PATH = bin;
  try {
    await run();
  } finally {
    process.env.PATH = PATH;
  }
}

test('without ffmpeg the reason is clear', () =>
  withProgram(undefined, async () => {
    const none = opened({});
    await none.source.open().then(
      () => assert.unreachable('there is no ffmpeg'),
      (error: Error) => assert.match(error.message, /ffmpeg is not installed, or not in PATH/),
    );
    await none.source.close();
  }));

test('a program that fails later is a lost connection, and is started again by opening', async () => {
  const image = join(folder, 'image.jpg');
  writeFileSync(image, makeImage('mjpeg'));
  await withProgram(`cat ${image}; sleep 0.2; echo it broke >&2; exit 3`, async () => {
    const failing = opened({});
    await failing.source.open();
    await eventually('the failure', () => failing.lost.length === 1);
    assert.is(failing.lost[0], 'ffmpeg: it broke');
    await failing.source.open();
    await eventually('it again', () => failing.images.length === 2);
    assert.ok(failing.images[1]!.equals(readFileSync(image)));
    await failing.source.close();
  });
});

test('a program that hangs ends with the source', () =>
  withProgram('echo $$ >&2; exec sleep 600', async () => {
    const hanging = opened({});
    await hanging.source.open();
    const began = performance.now();
    await hanging.source.close();
    assert.ok(performance.now() - began < 1000);
    assert.equal(hanging.lost, []);
  }));

test.run();
