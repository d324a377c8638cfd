/** Rows through a rule of a server, from a file to a file. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { eventually, type TestServer } from '../harness.js';

export class RowsThrough {
  /** Id of the last rule and name of its stream. */
  last = '';
  #count = 0;

  constructor(private readonly server: TestServer) {}

  /**
   * What the statement over stream `s` makes of the rows, a message each; an error is its text. The rule ends with its
   * input.
   */
  async results(select: string, rows: readonly object[], options: object = {}): Promise<unknown[]> {
    const { server } = this;
    const name = `s${++this.#count}`;
    this.last = name;
    const folder = join(server.data, 'rows');
    mkdirSync(folder, { recursive: true });
    const [source, sink] = [join(folder, `${name}.in`), join(folder, `${name}.out`)];
    writeFileSync(source, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    const key = await server.request('PUT', '/metadata/sources/file/confKeys/lines', { fileType: 'lines' });
    assert.is(key.status, 200, key.text);
    const sql = `CREATE STREAM ${name} () WITH (TYPE="file", DATASOURCE="${source}", FORMAT="json", CONF_KEY="lines")`;
    assert.is((await server.request('POST', '/streams', { sql })).status, 201);
    const made = await server.request('POST', '/rules', {
      id: name,
      sql: select.replace(/ FROM s\b/, ` FROM ${name}`),
      actions: [{ file: { path: sink, fileType: 'lines', sendSingle: true } }],
      options: { sendError: true, ...options },
    });
    assert.is(made.status, 201, made.text);
    await eventually('the end of the rule', async () => {
      const { status } = (await server.request('GET', `/rules/${name}/status`)).json;
      return /^stopped/i.test(status);
    });
    if (!existsSync(sink)) return [];
    return readFileSync(sink, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => (line.startsWith('{') ? (JSON.parse(line) as unknown) : line));
  }
}
