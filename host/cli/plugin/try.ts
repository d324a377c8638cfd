/** `haumea plugin test`: a rule over the rows of a file, with the engine that servers have, without a server. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { ruleOptionSpec } from '../../base/config/config-spec.js';
import { HaumeaError, reasonOf } from '../../base/errors.js';
import { parse } from '../../base/fields/field.js';
import { type Level, LineLogger } from '../../base/log/log.js';
import { defineRule } from '../../meta/definitions/rule-definition.js';
import { createEngine } from '../../run/engine.js';
import { parseCreate } from '../../sql/parser.js';
import { defineSource } from '../../sql/source-def.js';
import { type Call, UsageError } from '../client/command.js';
import { functionsOf } from './code.js';
import { CodecTrial } from './codec.js';
import { columnsOf, exactJson } from './exact-json.js';
import { tryProgram } from './program.js';
import { type Project, projectOf, readOf } from './project.js';

/** The stream with the rows, and the rule over it. */
const stream = 'input';
const pollMs = 10;

export async function tryPlugin(call: Call): Promise<number> {
  const project = projectOf(call);
  const { test } = project;
  if (project.portable !== undefined) {
    throw new UsageError('a program is tried on a server: haumea plugin push');
  }
  const ofProgram = await tryProgram(project, call);
  if (ofProgram !== undefined) {
    call.io.out(ofProgram.map((line) => `${line}\n`).join(''));
    const expected = join(project.folder, test.expected);
    return existsSync(expected) ? compared(ofProgram, readText(expected), test.expected, call) : 0;
  }
  const readsMessages = test.messages !== '';
  const sql = call.flag('sql') ?? (test.sql || (readsMessages ? `SELECT * FROM ${stream}` : ''));
  if (sql === '') throw new UsageError('there is no statement: plugin.json has none in test.sql, --sql gives one');
  const given = call.flag('rows');
  const input =
    given === undefined
      ? readOf(project, readsMessages ? test.messages : test.rows).toString()
      : readText(resolve(given));
  const folder = mkdtempSync(join(tmpdir(), 'haumea-plugin-'));
  let codec: CodecTrial | undefined;
  try {
    if (readsMessages) codec = await CodecTrial.open(project, folder, call);
    const { rows, failed } = codec?.decode(input) ?? { rows: input, failed: 0 };
    const functions = new Map(functionsOf(project, folder).map((one) => [one.name.toLowerCase(), one]));
    const columns = columnsFor(project, rows, call);
    const { lines, failure } = await run(sql, columns, rows, folder, call, (name) => {
      const found = functions.get(name.toLowerCase());
      return found && { owner: found.owner, run: found };
    });
    call.io.out(lines.map((line) => `${line}\n`).join(''));
    if (failure !== '') {
      call.io.err(`haumea: ${failure}\n`);
      return 1;
    }
    const expected = join(project.folder, test.expected);
    if (failed > 0) return 1;
    const isOwn = given === undefined && call.flag('sql') === undefined;
    if (!isOwn) return 0;
    const code = existsSync(expected) ? compared(lines, readText(expected), test.expected, call) : 0;
    return code === 0 && codec !== undefined ? codec.encode(lines) : code;
  } catch (error) {
    if (!(error instanceof HaumeaError)) throw error;
    call.io.err(`haumea: ${reasonOf(error)}\n`);
    return 1;
  } finally {
    codec?.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

type Brought = NonNullable<Parameters<typeof createEngine>[0]['catalog']['brought']>;

/** Columns that the stream declares: those of the project, or where whole numbers would not be exact without. */
function columnsFor({ test }: Project, rows: string, call: Call): string {
  if (test.columns !== '') return test.columns;
  const found = columnsOf(rows.split('\n').filter((line) => line.trim() !== ''));
  if (found === undefined) {
    call.io.err(
      'haumea: whole numbers beyond 2^53 are read as the nearest float, since rows hold values of several types in ' +
        'one place; test.columns of plugin.json declares columns\n',
    );
  }
  return found ?? '';
}

/** Runs the statement over the rows; resolves with a line for each row that came out, an error is a text. */
async function run(
  sql: string,
  columns: string,
  rows: string,
  folder: string,
  call: Call,
  brought: Brought,
): Promise<{ lines: string[]; failure: string }> {
  writeFileSync(join(folder, 'in'), rows.endsWith('\n') ? rows : `${rows}\n`);
  const out = join(folder, 'out');
  const options = 'TYPE="file", DATASOURCE="in", FORMAT="json", CONF_KEY="rows"';
  const create = `CREATE STREAM ${stream} (${columns}) WITH (${options})`;
  const definition = defineSource(parseCreate(create));
  const engine = createEngine({
    catalog: {
      source: (name) => (name === stream ? definition : undefined),
      confKey: (_source, key) => (key === 'rows' ? { path: folder, fileType: 'lines' } : undefined),
      connection: () => undefined,
      brought,
    },
    log: new GuestLog(call),
  });
  const stopped = () => new Promise<void>((end) => setTimeout(end, pollMs));
  let isOver = false;
  const release = call.io.onInterrupt(() => {
    isOver = true;
  });
  try {
    const actions = [{ file: { path: out, fileType: 'lines', sendSingle: true } }];
    engine.define(
      defineRule({ id: 'plugin_test', sql, actions, options: { sendError: true } }, parse(ruleOptionSpec, {})),
    );
    engine.start('plugin_test');
    while (!isOver && engine.state('plugin_test')?.startsWith('stopped') !== true) await stopped();
    const failure = isOver
      ? 'interrupted'
      : engine.state('plugin_test') === 'stopped'
        ? ''
        : (await engine.status('plugin_test')).message;
    const lines = existsSync(out) ? readFileSync(out, 'utf8').split('\n').slice(0, -1) : [];
    return { lines, failure };
  } finally {
    release();
    await engine.close(1000);
  }
}

function compared(lines: readonly string[], text: string, file: string, call: Call): number {
  const expected = text.split('\n').filter((line) => line.trim() !== '');
  const wrong = Array.from({ length: Math.max(lines.length, expected.length) }, (_, i) => i).find(
    (i) => !isSame(lines[i], expected[i]),
  );
  if (wrong === undefined) {
    call.io.err(`${lines.length} rows as in ${file}\n`);
    return 0;
  }
  const [is, should] = [lines[wrong], expected[wrong]];
  call.io.err(`haumea: row ${wrong + 1} is ${is ?? 'missing'}, ${file} has ${should ?? 'no more'}\n`);
  return 1;
}

function isSame(one: string | undefined, other: string | undefined): boolean {
  if (one === undefined || other === undefined || one === other) return one === other;
  try {
    return isDeepStrictEqual(exactJson(one), exactJson(other));
  } catch {
    return false;
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new UsageError(`can't read ${path}: ${reasonOf(error)}`);
  }
}

/** Shows what the guest says, and what goes wrong. */
class GuestLog extends LineLogger {
  constructor(private readonly call: Call) {
    super();
  }

  protected override line(level: Level, message: string): void {
    const ofGuest = /^(wasm plugin|javascript function) \S+: /.test(message);
    if (ofGuest || level === 'error') this.call.io.err(`${message}\n`);
  }
}
