/** Reports of `haumea bench` and `haumea bench soak`, as files in the folder `reports` of the data. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { serverErrors } from '../errors/server.js';

/** A longer file is none of these reports. */
const maxBytes = 16 << 20;
const maxFiles = 1000;
/** Most samples that an answer has; of more, those at equal distances. */
const maxSamples = 600;
const ending = '.json';
/** Samples of a report stand beside it, one a line. */
const samplesEnding = '-samples.jsonl';

export interface ReportItem {
  /** Path below the folder without the ending, `soak` or `nightly/soak`. */
  readonly name: string;
  readonly kind: 'bench' | 'soak' | 'other';
  /** When it was written, epoch ms. */
  readonly at: number;
  readonly bytes: number;
}

export interface Report extends ReportItem {
  /** What the file has. */
  readonly report: Readonly<Record<string, unknown>>;
  /** Figures over the time of the run, where they were kept. */
  readonly samples: readonly Readonly<Record<string, unknown>>[];
}

export class ReportService {
  constructor(private readonly folder: string) {}

  /** The reports, the newest first. What can't be read as one is left out. */
  async list(): Promise<ReportItem[]> {
    const found = await Promise.all((await this.#names()).map((name) => this.#read(name)));
    return found
      .flatMap((one) => (one === undefined ? [] : [one.item]))
      .sort((one, other) => other.at - one.at || (one.name < other.name ? -1 : 1));
  }

  async get(name: string): Promise<Report> {
    // A name that is listed leads nowhere else.
    const found = (await this.#names()).includes(name) ? await this.#read(name) : undefined;
    if (found === undefined) throw serverErrors.reportMissing(name);
    return { ...found.item, report: found.report, samples: await this.#samples(name) };
  }

  async #names(): Promise<string[]> {
    const entries = await readdir(this.folder, { withFileTypes: true }).catch(() => []);
    const names = await Promise.all(
      entries.map(async (entry) => {
        if (entry.isFile()) return [entry.name];
        if (!entry.isDirectory()) return [];
        const inner = await readdir(join(this.folder, entry.name), { withFileTypes: true }).catch(() => []);
        return inner.filter((one) => one.isFile()).map((one) => `${entry.name}/${one.name}`);
      }),
    );
    return names
      .flat()
      .filter((name) => name.endsWith(ending))
      .slice(0, maxFiles)
      .map((name) => name.slice(0, -ending.length));
  }

  async #read(name: string): Promise<{ item: ReportItem; report: Report['report'] } | undefined> {
    const path = join(this.folder, `${name}${ending}`);
    try {
      const { size, mtimeMs } = await stat(path);
      if (size > maxBytes) return undefined;
      const report = JSON.parse(await readFile(path, 'utf8')) as unknown;
      if (typeof report !== 'object' || report === null || Array.isArray(report)) return undefined;
      const item = { name, kind: kindOf(report as Report['report']), at: Math.round(mtimeMs), bytes: size };
      return { item, report: report as Report['report'] };
    } catch {
      // It is being written, or is gone.
      return undefined;
    }
  }

  async #samples(name: string): Promise<Report['samples']> {
    const path = join(this.folder, `${name}${samplesEnding}`);
    const text = await readFile(path, 'utf8').catch(() => '');
    const lines = text.split('\n').filter((line) => line !== '');
    const step = Math.max(1, lines.length / maxSamples);
    const count = Math.min(lines.length, maxSamples);
    return Array.from({ length: count }, (_, i) => lines[Math.floor(i * step)]!).flatMap((line) => {
      try {
        return [JSON.parse(line) as Report['samples'][number]];
      } catch {
        // The last line of a run that was killed.
        return [];
      }
    });
  }
}

function kindOf({ results, result }: Report['report']): ReportItem['kind'] {
  if (Array.isArray(results)) return 'bench';
  const { judged } = (result ?? {}) as { readonly judged?: unknown };
  return Array.isArray(judged) ? 'soak' : 'other';
}
