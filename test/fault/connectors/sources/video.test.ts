/** Faults of a camera, and of the program ffmpeg that reads it. */

import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Site } from '../../../support/connectors/faults/site.js';
import { type SourceSide, sourceFaults } from '../../../support/connectors/faults/sources.js';
import { eventually, freePort } from '../../../support/harness.js';
import { makeImage, needsFfmpeg } from '../../../support/servers/ffmpeg.js';

/** Pause between two images, ms. */
const pauseMs = 20;

/** A camera that sends image after image to who connects. */
async function openCamera(): Promise<SourceSide> {
  const port = await freePort();
  const image = makeImage('mjpeg');
  const sockets = new Set<Socket>();
  let isAwake = true;
  let server: Server | undefined;
  const clock = setInterval(() => {
    if (isAwake) for (const socket of sockets) socket.write(image);
  }, pauseMs);
  const side: SourceSide = {
    dataSource: '',
    format: 'binary',
    props: { url: `tcp://127.0.0.1:${port}`, inputArgs: { f: 'mjpeg', probesize: 32, analyzeduration: 0 } },
    start: async () => {
      server = createServer((socket) => {
        sockets.add(socket);
        socket.on('error', () => {}).resume();
        socket.on('close', () => sockets.delete(socket));
      });
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    },
    kill: async () => {
      if (server === undefined) return;
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
      server = undefined;
    },
    pause: () => {
      isAwake = false;
    },
    resume: () => {
      isAwake = true;
    },
    close: async () => {
      clearInterval(clock);
      await side.kill();
    },
    send: async () => {},
  };
  await side.start();
  return side;
}

/** Processes of the program that the server has started. */
function programsOf(parent: number): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => {
      try {
        const [, name, owner] = /\((.*)\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
        return name === 'ffmpeg' && Number(owner) === parent;
      } catch {
        return false;
      }
    });
}

if (needsFfmpeg('faults of cameras')) {
  const images = 'images have no ids: the tests below count them';
  sourceFaults(test, 'video', openCamera, {
    lacks: {
      ...{ ids: images, absence: images, kill: images, keeps: images, slow: images },
      broken: 'ffmpeg passes over what is no image',
      large: 'images have the size of the video',
      tls: 'ffmpeg speaks it',
      refusal: 'a camera refuses ffmpeg, which says so',
    },
  });

  test('video source: a camera that is absent, ends and comes back, and a program that is killed', async () => {
    const [site, camera] = [await Site.open(), await openCamera()];
    const count = async () => Number(await site.figure(id, 'source', 'records_in_total'));
    const more = async () => {
      const before = await count();
      await eventually('more images', async () => (await count()) > before + 5);
    };
    const told = (reason: RegExp) =>
      eventually(`the reason ${reason}`, async () => {
        return reason.test(String(await site.figure(id, 'source', 'connection_last_disconnected_message')));
      });
    await camera.kill();
    const stream = await site.stream('video', '', camera.props, 'binary');
    const id = await site.rule(stream, { nop: {} });
    await told(/ffmpeg: .*Connection refused/);
    assert.is(await count(), 0);
    await camera.start();
    await more();
    await camera.kill();
    await eventually('the end of the connection', async () => !(await site.isConnected(id, 'source')));
    await camera.start();
    await more();
    const [program] = programsOf(site.server.child.pid!);
    process.kill(program!, 'SIGKILL');
    await told(/ffmpeg: it has ended with a signal/);
    await more();
    await site.delete(id);
    await eventually('no program', () => programsOf(site.server.child.pid!).length === 0);
    await site.server.stop();
    await camera.close();
  });

  test('video source: no program outlives an engine that is killed', async () => {
    const [site, camera] = [await Site.open(), await openCamera()];
    const id = await site.rule(await site.stream('video', '', camera.props, 'binary'), { nop: {} });
    await eventually('images', async () => Number(await site.figure(id, 'source', 'records_in_total')) > 5);
    const [program] = programsOf(site.server.child.pid!);
    await site.server.stop('SIGKILL');
    await eventually('the end of the program', () => !readdirSync('/proc').includes(String(program)));
    await camera.close();
  });
}

test.run();
