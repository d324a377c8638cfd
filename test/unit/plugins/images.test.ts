/** Functions over images: what they make, what they refuse, and images that claim to be huge. */
import sharp from 'sharp';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { RowCode } from '../../../host/plugins/define.js';
import { openImages } from '../../../host/plugins/library/images.js';
import type { Value } from '../../../kernels/values/value.js';

const images: RowCode = openImages();

/** An image whose left half is red and whose right half is green. */
async function halves(width: number, height: number, kind: 'png' | 'jpeg' | 'gif' | 'webp'): Promise<Uint8Array> {
  const pixels = Buffer.alloc(width * height * 3);
  for (let i = 0; i < width * height; i++) pixels[i * 3 + (i % width < width / 2 ? 0 : 1)] = 200;
  return sharp(pixels, { raw: { width, height, channels: 3 } })
    .toFormat(kind)
    .toBuffer();
}

async function formOf(image: Value): Promise<string> {
  const { format, width, height } = await sharp(image as Uint8Array).metadata();
  return `${format} ${width}x${height}`;
}

async function refusal(entry: string, ...args: Value[]): Promise<string> {
  try {
    return `gave ${await images.call(entry, args)}`;
  } catch (error) {
    return (error as Error).message;
  }
}

test('an image gets the size, and stays of its kind', async () => {
  for (const kind of ['png', 'jpeg', 'gif'] as const) {
    const image = await halves(40, 20, kind);
    assert.is(await formOf(await images.call('resize', [image, 10n, 10n])), `${kind} 10x10`);
    assert.is(await formOf(await images.call('resize', [image, 10, 0])), `${kind} 10x5`);
    assert.is(await formOf(await images.call('resize', [image, 0n, 40n])), `${kind} 80x40`);
    assert.is(await formOf(await images.call('resize', [image, 0n, 0n])), `${kind} 40x20`);
  }
});

test('pixels are three bytes each, transparent ones are black', async () => {
  const pixels = (await images.call('resize', [await halves(40, 20, 'png'), 4n, 1n, true])) as Uint8Array;
  assert.equal([pixels.length, ...pixels.subarray(0, 3), ...pixels.subarray(9)], [12, 200, 0, 0, 0, 200, 0]);
  const clear = { r: 255, g: 255, b: 255, alpha: 0 };
  const image = await sharp({ create: { width: 2, height: 2, channels: 4, background: clear } })
    .png()
    .toBuffer();
  assert.equal([...((await images.call('resize', [image, 1n, 1n, true])) as Uint8Array)], [0, 0, 0]);
  const grey = await sharp(Buffer.from([100]), { raw: { width: 1, height: 1, channels: 1 } })
    .png()
    .toBuffer();
  assert.equal([...((await images.call('resize', [grey, 1n, 1n, true])) as Uint8Array)], [100, 100, 100]);
  assert.is(await formOf(await images.call('resize', [grey, 2n, 2n, false])), 'png 2x2');
});

test('a thumbnail keeps the ratio, and is never larger', async () => {
  const image = await halves(40, 20, 'jpeg');
  assert.is(await formOf(await images.call('thumbnail', [image, 10n, 10n])), 'jpeg 10x5');
  assert.is(await formOf(await images.call('thumbnail', [image, 100n, 5n])), 'jpeg 10x5');
  assert.is(await formOf(await images.call('thumbnail', [image, 100n, 100n])), 'jpeg 40x20');
  assert.is(await formOf(await images.call('thumbnail', [await halves(400, 2, 'png'), 10n, 10n])), 'png 10x1');
});

test('what is wrong is refused by its place', async () => {
  const image = await halves(4, 4, 'png');
  assert.is(await refusal('resize', 'img.png', 1n, 1n), 'arg[0] is not a bytea, got img.png');
  assert.is(await refusal('resize', null, 1n, 1n), 'arg[0] is not a bytea, got <nil>');
  assert.is(await refusal('resize', image, '100', 1n), 'arg[1] is not a bigint, got 100');
  assert.is(await refusal('resize', image, 1n, -1n), 'arg[2] is not a bigint, got -1');
  assert.is(await refusal('resize', image, 1n, 1n, 1n), 'arg[3] is not a bool, got 1');
  const unknown = 'image decode error:image: unknown format';
  assert.is(await refusal('resize', new Uint8Array([1, 2]), 1n, 1n), unknown);
  assert.is(await refusal('thumbnail', new Uint8Array(), 1n, 1n), unknown);
  assert.is(await refusal('resize', await halves(4, 4, 'webp'), 1n, 1n), unknown);
  assert.is(await refusal('resize', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), 1n, 1n), unknown);
  const gif = await halves(4, 4, 'gif');
  assert.is(await refusal('thumbnail', gif, 1n, 1n), 'gif image type is not currently supported');
  assert.match(await refusal('resize', image, 20_000n, 1n), /20000 x 1 is too large/);
  assert.match(await refusal('resize', image, 10_000n, 10_000n), /too large/);
});

test('a small file that claims to be huge is not unpacked, a cut one is an error', async () => {
  const image = Buffer.from(await halves(4, 4, 'png'));
  image.writeUInt32BE(60_000, 16);
  image.writeUInt32BE(60_000, 20);
  assert.match(await refusal('resize', image, 1n, 1n), /unknown format|more than \d+ pixels/);
  const whole = await halves(200, 200, 'jpeg');
  assert.match(await refusal('resize', whole.subarray(0, whole.length / 2), 10n, 10n), /^image decode error:/);
});

test.run();
