/** Copies of the figures in files, one each minute. */
import { createWriteStream } from 'node:fs';
import { readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { makeFolder } from '../../base/files/folder.js';
import { serverErrors } from '../errors/server.js';
import type { MetricsDocument } from './metrics-document.js';

const hourMs = 3_600_000;
const copyName = /^metrics\.(\d{13})\.gz$/;

/** Writes a copy, and removes those older than `retainedMs`; 0 keeps all. */
export async function keepCopy(folder: string, document: MetricsDocument, retainedMs: number): Promise<void> {
  const at = Date.now();
  await makeFolder(folder);
  // Under its name when it is whole.
  const half = join(folder, 'metrics.gz.new');
  await pipeline(Readable.from(document.pieces()), createGzip(), createWriteStream(half));
  await rename(half, join(folder, `metrics.${at}.gz`));
  for (const copy of await list(folder)) {
    if (retainedMs > 0 && at - copy.at > retainedMs) await rm(join(folder, copy.name), { force: true });
  }
}

/** Copies between two times (seconds), by default of the last hour; `copying` is the one under way. */
export async function copiesOf(
  folder: string,
  startTime: string | undefined,
  endTime: string | undefined,
  copying: Promise<void>,
): Promise<Buffer> {
  const from = startTime === undefined ? Date.now() - hourMs : secondsOf('startTime', startTime);
  // Without an end the copy under way is among them.
  const to = endTime === undefined ? Number.POSITIVE_INFINITY : secondsOf('endTime', endTime);
  await copying;
  const wanted = (await list(folder)).filter(({ at }) => at >= from && at <= to);
  if (wanted.length === 0) throw serverErrors.noCopiesThen();
  // Concatenated gzip files are one gzip file.
  return Buffer.concat(await Promise.all(wanted.map(({ name }) => readFile(join(folder, name)))));
}

async function list(folder: string): Promise<{ name: string; at: number }[]> {
  const names = await readdir(folder).catch(() => []);
  return names
    .filter((name) => copyName.test(name))
    .sort()
    .map((name) => ({ name, at: Number(copyName.exec(name)?.[1]) }));
}

function secondsOf(name: string, text: string): number {
  if (!/^\d{1,12}$/.test(text)) {
    throw serverErrors.notSeconds(name, JSON.stringify(text.slice(0, 40)));
  }
  return Number(text) * 1000;
}
