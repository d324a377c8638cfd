/**
 * Faults that every source must live through, against a real other side: it is absent, goes away, hangs, refuses us;
 * messages do not decode; rules share its connection; the engine is killed. A connector's test describes its other side
 * and calls `sourceFaults`.
 */
import { join } from 'node:path';
import type { Test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, temporaryFolder } from '../../harness.js';
import { Lines } from '../lines.js';
import { missing, type OtherSide, type Refusal, type Row, Site } from './site.js';

export interface SourceSide extends OtherSide {
  readonly dataSource: string;
  readonly props: Row;
  /** Sends messages; resolves when they are there. */
  send(messages: readonly (string | Buffer)[]): Promise<void>;
  readonly refusal?: Refusal;
  /** What we have not acknowledged comes again: nothing is lost with `qos` 1. */
  readonly keeps: boolean;
  /** The connector makes the messages itself, and each of them decodes. */
  readonly isTable?: boolean;
}

/** Adds the faults of a source. */
export function sourceFaults(test: Test, type: string, open: () => Promise<SourceSide>): void {
  let site: Site;
  let side: SourceSide;
  let next = 0;
  const fresh = (count: number) => {
    next += count;
    return next - count;
  };
  const messages = (from: number, count: number) => Array.from({ length: count }, (_, i) => `{"id":${from + i}}`);

  test.before(async () => {
    side = await open();
    site = await Site.open();
  });
  test.after(async () => {
    side?.resume();
    await site?.server.stop();
    await side?.close();
  });

  /** A rule from the other side to a file; `ids` are those in the file. */
  async function reading(at: Site, options: Row = {}, props: Row = {}) {
    const lines = new Lines();
    const stream = await at.stream(type, side.dataSource, { ...side.props, ...props });
    const id = await at.rule(stream, { file: { path: lines.path, fileType: 'lines', sendSingle: true } }, options);
    return { id, stream, ids: () => lines.ids() };
  }
  const connected = (at: Site, id: string) => eventually('a connection', () => at.isConnected(id, 'source'));
  const has = (ids: () => readonly number[], from: number, count: number) =>
    eventually(`${count} rows`, () => missing(ids(), from, count).length === 0);

  test(`${type} source: one that is absent at the start is read when it is there`, async () => {
    await side.kill();
    const { id, ids } = await reading(site);
    await eventually('a failure to connect', async () => {
      return String(await site.figure(id, 'source', 'connection_last_disconnected_message')) !== '';
    });
    await side.start();
    await connected(site, id);
    const from = fresh(50);
    await side.send(messages(from, 50));
    await has(ids, from, 50);
    await site.delete(id);
  });

  test(`${type} source: it goes on when the other side was killed and is back`, async () => {
    const { id, ids } = await reading(site);
    await connected(site, id);
    const before = fresh(200);
    await side.send(messages(before, 200));
    await has(ids, before, 200);
    await side.kill();
    await eventually('the end of the connection', async () => !(await site.isConnected(id, 'source')));
    await side.start();
    await connected(site, id);
    const after = fresh(200);
    await side.send(messages(after, 200));
    await has(ids, after, 200);
    await site.delete(id);
  });

  test(`${type} source: messages that do not decode, and empty ones, are counted and named`, async () => {
    if (side.isTable) return;
    const { id, ids } = await reading(site);
    await connected(site, id);
    const from = fresh(3);
    const [a, b, c] = messages(from, 3) as [string, string, string];
    await side.send([a, '{"id":', b, '', c]);
    await has(ids, from, 3);
    const failures = Number(await site.figure(id, 'source', 'exceptions_total'));
    assert.ok(failures >= 1 && failures <= 2, `${failures} failures were counted`);
    await site.delete(id);
  });

  test(`${type} source: one that hangs holds neither other rules nor the end of its own`, async () => {
    const { id } = await reading(site);
    await connected(site, id);
    side.pause();
    await site.worksBeside();
    await site.delete(id);
    const absent = await reading(site);
    await site.worksBeside();
    await site.delete(absent.id);
    side.resume();
  });

  test(`${type} source: rules that share a connection end each on its own`, async () => {
    const first = await reading(site);
    await connected(site, first.id);
    const path = join(temporaryFolder(), 'second.out');
    const second = await site.rule(first.stream, { file: { path, fileType: 'lines', sendSingle: true } });
    await connected(site, second);
    await site.delete(second);
    const from = fresh(50);
    await side.send(messages(from, 50));
    await has(first.ids, from, 50);
    await site.delete(first.id);
  });

  test(`${type} source: a wrong password is named, and shown nowhere`, async () => {
    if (side.refusal === undefined) return assert.is(side.refusal, undefined);
    const { props, reason, secret } = side.refusal;
    const { id } = await reading(site, {}, props);
    await eventually('the reason', async () => reason.test(JSON.stringify(await site.status(id))));
    await site.hides(secret, id);
    await site.delete(id);
    return undefined;
  });

  test(`${type} source: with qos 1 nothing is lost when engine and other side are killed`, async () => {
    if (!side.keeps) return assert.not.ok(side.keeps);
    const data = temporaryFolder();
    let own = await Site.open(data);
    const { id, ids } = await reading(own, { qos: 1, checkpointInterval: '200ms' });
    await connected(own, id);
    const from = fresh(3000);
    await side.send(messages(from, 1000));
    await own.server.stop('SIGKILL');
    await side.send(messages(from + 1000, 500));
    own = await Site.open(data);
    await side.send(messages(from + 1500, 500));
    await side.kill();
    await side.start();
    await side.send(messages(from + 2000, 1000));
    await has(ids, from, 3000);
    await own.server.stop();
    return undefined;
  });
}
