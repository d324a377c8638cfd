/** Rules in one piece and in parts, on streams of lines of files, in an engine with two data planes. */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import type { Engine, RuleOptions } from '../../../host/model/engine.js';
import { withParallelRules } from '../../../host/run/parallel/parallel-engine.js';
import { Division } from '../../../host/run/planes/placement/division.js';
import { parseCreate } from '../../../host/sql/parser.js';
import { defineSource, type StreamDefinition } from '../../../host/sql/source-def.js';
import { eventually, temporaryFolder } from '../harness.js';
import { openEngine, ruleOf } from './engine-harness.js';

/** The statement of a stream of a file with its name. */
export function streamOf(name: string, fields = '', more = ''): string {
  return `CREATE STREAM ${name} (${fields})
     WITH (TYPE="file", DATASOURCE="${name}", CONF_KEY="${name}", SHARED="true", TIMESTAMP="ts"${more})`;
}

export class Divided {
  readonly folder = temporaryFolder();
  readonly #opened = openEngine({ division: new Division(2), folders: { data: temporaryFolder() } });
  readonly #sources = new Map<string, StreamDefinition>();
  readonly engine: Engine = withParallelRules(this.#opened.engine, (name) => this.#sources.get(name));

  /** Defines a stream or table; `props` are its configuration key. */
  define(sql: string, props: Record<string, unknown> = {}): void {
    const created = defineSource(parseCreate(sql));
    this.#opened.stream(sql, props);
    this.#sources.set(created.name, created);
  }

  /** A stream of a file's lines, to which more may be added. */
  stream(name: string, fields = '', more = ''): void {
    writeFileSync(join(this.folder, name), '');
    this.define(streamOf(name, fields, more), { path: this.folder, fileType: 'lines', follow: true });
  }

  /** The stream ends behind its last line. */
  end(name: string): void {
    this.#opened.stream(streamOf(name), { path: this.folder, fileType: 'lines' });
  }

  add(name: string, rows: readonly object[]): void {
    appendFileSync(join(this.folder, name), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  }

  /** Starts a rule that writes lines; it runs then. */
  async run(id: string, sql: string, options: Partial<RuleOptions>): Promise<void> {
    const { engine } = this;
    const path = join(this.folder, id);
    engine.define(ruleOf(id, sql, [['file', { path, fileType: 'lines', sendSingle: true }]], options));
    engine.start(id);
    await eventually(`run of ${id}`, async () => {
      if (engine.state(id) === 'stopped by error') throw new Error((await engine.status(id)).message);
      return engine.state(id) !== 'starting';
    });
  }

  /**
   * Runs each statement as one and in parts, on the same rows in the same order: `{s}` is a stream s of each rule
   * alone, as s_whole0.
   */
  async runAll(all: Record<string, string>, options: Partial<RuleOptions>): Promise<void> {
    for (const [i, sql] of Object.values(all).entries()) {
      for (const id of [`whole${i}`, `divided${i}`]) {
        const own = sql.replace(/\{(\w+)\}/g, (_all, name) => `${name}_${id}`);
        await this.run(id, own, id.startsWith('d') ? { ...options, parallelism: 2 + (i % 2) } : options);
      }
    }
  }

  /** Lines in the order in which they were written. */
  linesOf(id: string): string[] {
    const path = join(this.folder, id);
    const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
    return lines.slice(0, -1);
  }

  refused(sql: string, reason: RegExp, options: Partial<RuleOptions> = {}): void {
    assert.throws(() => this.engine.define(ruleOf('r', sql, [['nop', {}]], { parallelism: 2, ...options })), reason);
  }
}

/** Tells what is missing and what is too much. */
export function same(divided: readonly string[], whole: readonly string[], what: string): void {
  const counts = new Map<string, number>();
  for (const line of whole) counts.set(line, (counts.get(line) ?? 0) - 1);
  for (const line of divided) counts.set(line, (counts.get(line) ?? 0) + 1);
  const others = [...counts].filter(([, count]) => count !== 0);
  assert.equal(others, [], what);
}
