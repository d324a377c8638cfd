/** A rule beside those that do their worst: it has to go on as if they were not there. */
import * as assert from 'uvu/assert';
import { eventually, type TestServer } from '../harness.js';

export class Neighbour {
  readonly #firstStart: number;

  private constructor(
    private readonly server: TestServer,
    firstStart: number,
  ) {
    this.#firstStart = firstStart;
  }

  /** Makes the rule, whose stream brings a row each 5 ms. */
  static async start(server: TestServer): Promise<Neighbour> {
    const key = { data: [{ v: 1 }], interval: '5ms', loop: true };
    await server.request('PUT', '/metadata/sources/simulator/confKeys/fast', key);
    const sql = 'CREATE STREAM clock () WITH (TYPE="simulator", CONF_KEY="fast")';
    await server.request('POST', '/streams', { sql });
    const made = { id: 'neighbour', sql: 'SELECT * FROM clock', actions: [{ nop: {} }] };
    assert.is((await server.request('POST', '/rules', made)).status, 201);
    const { json } = await server.request('GET', '/rules/neighbour/status');
    return new Neighbour(server, json.lastStartTimestamp);
  }

  /** Resolves when it has got more rows; fails when it does not run, or was started again. */
  async goesOn(): Promise<void> {
    const before = await this.#rows();
    await eventually('rows of the neighbour', async () => (await this.#rows()) > before);
    const { json } = await this.server.request('GET', '/rules/neighbour/status');
    assert.is(json.lastStartTimestamp, this.#firstStart, 'it runs since the beginning');
  }

  async #rows(): Promise<number> {
    const { json } = await this.server.request('GET', '/rules/neighbour/status');
    assert.equal([json.status, json.lastStartTimestamp > 0], ['Running', true]);
    return json.sink_nop_0_0_records_in_total;
  }
}
