/** Rules over messages of a codec: lines of a file in, lines of a file out. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { withManifest } from '../../../host/plugins/wasm/exports/embed.js';
import { eventually, type TestServer } from '../harness.js';

export class CodecRules {
  readonly folder: string;
  /** Id of the last rule and name of its stream. */
  last = '';
  #count = 0;

  private constructor(private readonly server: TestServer) {
    this.folder = join(server.data, 'rows');
    mkdirSync(this.folder, { recursive: true });
  }

  static async of(server: TestServer): Promise<CodecRules> {
    const rules = new CodecRules(server);
    await rules.done('PUT', '/metadata/sources/file/confKeys/lines', { fileType: 'lines', path: rules.folder });
    return rules;
  }

  async done(method: string, path: string, body?: object) {
    const answer = await this.server.request(method, path, body);
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
    return answer;
  }

  async upload(name: string, module: Uint8Array, codecs: object[], { method = 'POST', ...more }: Upload = {}) {
    const bytecode = Buffer.from(withManifest(module, JSON.stringify({ abi: 1, codecs }))).toString('base64');
    const path = method === 'POST' ? '/plugins/wasm' : `/plugins/wasm/${name}`;
    return this.done(method, path, { name, bytecode, ...more });
  }

  /** What a rule over a stream of lines in a format of their own gives, a line each. */
  async lines(
    codec: string,
    input: readonly (string | Buffer)[],
    { select = 'SELECT * FROM s', columns = '', sink = {}, options = {} } = {},
  ): Promise<string[]> {
    const name = `lines${++this.#count}`;
    this.last = name;
    const { folder } = this;
    writeFileSync(join(folder, name), Buffer.concat(input.flatMap((line) => [Buffer.from(line), Buffer.from('\n')])));
    const key = 'TYPE="file", CONF_KEY="lines", FORMAT="custom"';
    await this.done('POST', '/streams', {
      sql:
        `CREATE STREAM ${name} (${columns}) WITH (${key}, DATASOURCE="${name}", SCHEMAID="${codec}", ` +
        `STRICT_VALIDATION="${columns === '' ? 'false' : 'true'}")`,
    });
    const path = join(folder, `${name}.out`);
    const actions = [{ file: { path, sendSingle: true, ...sink } }];
    const sql = select.replace(/ FROM s\b/, ` FROM ${name}`);
    await this.done('POST', '/rules', { id: name, sql, actions, options: { sendError: true, ...options } });
    await eventually('the end of the rule', async () =>
      /^stopped/i.test((await this.server.request('GET', `/rules/${name}/status`)).json.status),
    );
    return existsSync(path) ? readFileSync(path, 'latin1').split('\n').slice(0, -1) : [];
  }
}

/** More of the request, and its method. */
interface Upload {
  readonly method?: 'POST' | 'PUT';
  readonly isolate?: boolean;
  readonly limits?: object;
}

/** Messages of the codec `turn` of test/guests/codecs.c, and their text. */
export const turned = (text: string) => Buffer.from(Buffer.from(text, 'latin1').map((byte) => byte ^ 0x80));
export const back = (line: string) => turned(line).toString('latin1');
