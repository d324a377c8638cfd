/** From a camera to a folder: images of a video go through a rule to files, and ffmpeg ends with the rule. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { imageReason } from '../../../host/connectors/image/format.js';
import { openHttp } from '../../support/connectors/http-server.js';
import { eventually, startServer, type TestServer } from '../../support/harness.js';
import { makeVideo, needsFfmpeg } from '../../support/servers/ffmpeg.js';

if (!needsFfmpeg('videos of a server')) process.exit(0);

let server: TestServer;

test.before(async () => {
  server = await startServer();
  makeVideo(join(server.data, 'cam.mp4'), 2);
});
test.after(async () => void (await server.stop()));

async function rule(id: string, props: object, sink: object, select = 'SELECT self AS image'): Promise<void> {
  const key = await server.request('PUT', `/metadata/sources/video/confKeys/${id}`, props);
  assert.is(key.status, 200, key.text);
  const sql = `CREATE STREAM ${id} () WITH (TYPE="video", FORMAT="binary", CONF_KEY="${id}")`;
  const stream = await server.request('POST', '/streams', { sql });
  assert.is(stream.status, 201, stream.text);
  const actions = [sink];
  const made = await server.request('POST', '/rules', { id, sql: `${select} FROM ${id}`, actions });
  assert.is(made.status, 201, made.text);
}

test('images of a video become files, as many as wanted', async () => {
  await rule('cam', { url: 'cam.mp4', interval: 100 }, { image: { path: 'images', maxCount: 7 } });
  const folder = join(server.data, 'images');
  const status = async () => (await server.request('GET', '/rules/cam/status')).json;
  await eventually('more images than are kept', async () => (await status()).sink_image_0_0_records_out_total > 15);
  await server.request('POST', '/rules/cam/stop');
  const names = readdirSync(folder).filter((name) => name.endsWith('.jpeg'));
  assert.is(names.length, 7);
  for (const name of names) {
    assert.match(name, /^image\d/);
    assert.is(imageReason(readFileSync(join(folder, name)), 'jpeg'), undefined);
  }
  const programs = readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && commandOf(pid).includes(server.data));
  assert.equal(
    programs.filter((pid) => commandOf(pid).startsWith('ffmpeg')),
    [],
  );
});

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

test('a video that is not there is told, and asked for again', async () => {
  const http = await openHttp();
  http.answer = (response) => {
    response.statusCode = 404;
    response.end();
  };
  await rule('gone', { url: `${http.url.replace('//', '//me:secret@')}/x.mp4` }, { nop: {} });
  const text = await eventually('the reason', async () => {
    const found = (await server.request('GET', '/rules/gone/status')).text;
    return http.received.length > 1 && /404/.test(found) ? found : undefined;
  });
  assert.not.match(text, /secret/);
  await server.request('DELETE', '/rules/gone');
  await http.close();
});

test('a playlist from a server does not lead to files of the machine', async () => {
  const http = await openHttp();
  const list = `#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\nfile://${server.data}/cam.mp4\n#EXT-X-ENDLIST\n`;
  http.answer = (response) => response.end(list);
  await rule('trap', { url: `${http.url}/x.m3u8` }, { nop: {} });
  await eventually('two attempts', () => http.received.length > 1);
  const { json } = await server.request('GET', '/rules/trap/status');
  assert.is(json.source_trap_0_records_out_total, 0);
  await server.request('DELETE', '/rules/trap');
  await http.close();
});

test('paths and options that are not allowed are refused', async () => {
  const key = (props: object) => server.request('PUT', '/metadata/sources/video/confKeys/no', props);
  const refused = await key({ url: 'rtsp://h/1', inputArgs: { f: 'lavfi' } });
  assert.is(refused.status, 400);
  assert.match(refused.text, /format lavfi/);
  await key({ url: '/etc/passwd' });
  const sql = 'CREATE STREAM no () WITH (TYPE="video", FORMAT="binary", CONF_KEY="no")';
  await server.request('POST', '/streams', { sql });
  const actions = [{ nop: {} }];
  const answer = await server.request('POST', '/rules', { id: 'no', sql: 'SELECT self FROM no', actions });
  assert.is(answer.status, 400, answer.text);
  assert.match(answer.text, /access is denied/);
});

test.run();
