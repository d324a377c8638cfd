/**
 * Images of a video in, and images of a folder into another. The time of ffmpeg counts for neither side: both are
 * bounded by it.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeImage, makeVideo, needsFfmpeg } from '../../../../test/support/servers/ffmpeg.js';
import type { Line } from '../../line.js';

const missing = () => (needsFfmpeg('the bench of images') ? undefined : 'ffmpeg is not installed');
const endOfJpeg = Buffer.of(0xff, 0xd9);
const videoSeconds = 40;
const images = 3000;

const select = (stream: string) => `SELECT * FROM ${stream}`;
/** Begin of a JPEG in base64. */
const isJpeg = ({ self }: Readonly<Record<string, unknown>>) => typeof self === 'string' && self.startsWith('/9j/');

export const lines: readonly Line[] = [
  {
    name: 'video in',
    connectors: ['video'],
    // Ten in a second.
    rows: videoSeconds * 10,
    isEndless: true,
    select,
    isRight: isJpeg,
    missing,
    open: async (folder) => {
      const path = join(folder, 'video.mp4');
      makeVideo(path, videoSeconds);
      const source = { type: 'video', dataSource: '', props: { url: path }, format: 'binary' };
      return { address: path, source, close: async () => {} };
    },
    plain: async ({ address, rows, ready }) => {
      void ready();
      const form = ['-f', 'image2pipe', '-c:v', 'mjpeg', '-q:v', '2', '-pix_fmt', 'yuvj420p', 'pipe:1'];
      const args = ['-nostdin', '-loglevel', 'error', '-i', address, '-an', ...form];
      const child = spawn('ffmpeg', args, { stdio: ['ignore', 'pipe', 'inherit'] });
      let rest = Buffer.alloc(0);
      let count = 0;
      for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
        rest = Buffer.concat([rest, chunk]);
        for (let end = rest.indexOf(endOfJpeg); end >= 0; end = rest.indexOf(endOfJpeg)) {
          JSON.stringify({ self: rest.subarray(0, end + 2).toString('base64') });
          rest = rest.subarray(end + 2);
          count++;
        }
      }
      if (count !== rows) throw new Error(`${count} images of ${rows}`);
    },
  },
  {
    name: 'image out',
    connectors: ['image'],
    rows: images,
    select,
    missing,
    open: async (folder) => {
      const [from, to] = [join(folder, 'images'), join(folder, 'written')];
      mkdirSync(from);
      const image = makeImage('mjpeg');
      for (let i = 0; i < images; i++) writeFileSync(join(from, `${i}.jpg`), image);
      return {
        address: folder,
        source: { type: 'file', dataSource: from, props: { fileType: 'raw' }, format: 'binary' },
        sink: { type: 'image', props: { path: to, imageFormat: 'jpeg', maxCount: 0 } },
        begin: () => {
          rmSync(to, { recursive: true, force: true });
        },
        arrived: () => (existsSync(to) ? readdirSync(to).length : 0),
        check: () => {
          for (const name of readdirSync(to)) {
            if (!readFileSync(join(to, name)).equals(image)) throw new Error(`${name} is not the image`);
          }
        },
        close: async () => {},
      };
    },
    plain: async ({ address, ready }) => {
      void ready();
      mkdirSync(join(address, 'written'));
      for (const name of await readdir(join(address, 'images'))) {
        await writeFile(join(address, 'written', name), await readFile(join(address, 'images', name)));
      }
    },
  },
];
